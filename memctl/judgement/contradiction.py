"""Whether two sentences exclude each other: about one thing at one time, and different in one point that allows no two.

The words of both are matched. What is left on both sides is the difference: a negation, words that exclude each other,
two amounts of one unit, or two values of something of which there is one. Anything else that differs, above all in the
subject, makes them sentences about two things.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memctl.judgement import lexicon
from memctl.judgement.quantities import VERSION, Quantity
from memctl.judgement.wording import (
    MODAL,
    NAME,
    NEGATION,
    PREPOSITION,
    QUANTIFIER,
    QUANTITY,
    WORD,
    Sentence,
    Word,
)

POLARITY, VALUE = "polarity", "value"

COST = {NAME: 3, QUANTITY: 3, WORD: 1, QUANTIFIER: 1, MODAL: 1}
"""How much a word that only one of the sentences has tells them apart."""


@dataclass(frozen=True)
class Clash:
    """In what two sentences exclude each other.

    Args:
        kind: `polarity` or `value`.
        one: the words of the first that the `other` ones exclude.
        cost: how much else differs.
    """

    kind: str
    one: tuple[Word, ...]
    other: tuple[Word, ...]
    shared: tuple[Word, ...]
    cost: int


def clash(one: Sentence, other: Sentence) -> Clash | None:
    """In what two sentences exclude each other; None where they may both be true."""
    if one.language != other.language:
        return None
    shared, left, right = _matched(one.words, other.words)
    if not any(word.kind in (WORD, NAME) for word in shared) or _about_two(left, right):
        return None
    if _conditional(one) != _conditional(other):
        return None
    opposed = one.denied != other.denied
    if _converse(one, other, left, right):
        return None
    for found in (_opposite(left, right), _amounts(left, right), _slot(left, right, shared, one, other)):
        if found and opposed:
            return None
        if found:
            cost = max(_cost(left, found[0]), _cost(right, found[1]))
            return _within(Clash(VALUE, found[0], found[1], shared, cost))
    if opposed:
        return _denial(one, other, left, right, shared)
    return None


def _within(found: Clash) -> Clash | None:
    content = [word for word in found.shared if word.kind in (WORD, NAME, QUANTITY)]
    return found if found.cost <= min(2, len(content) - 1) else None


_COMPARED = (WORD, NAME, QUANTITY, QUANTIFIER, MODAL)


def _matched(one: Sequence[Word], other: Sequence[Word]) -> tuple[tuple[Word, ...], list[Word], list[Word]]:
    """The words that both have, and those of each that the other has not."""
    left = [word for word in one if word.kind in _COMPARED]
    right = [word for word in other if word.kind in _COMPARED]
    shared = []
    for alike in (lambda a, b: a.key == b.key, _akin):
        for word in list(left):
            twin = next((each for each in right if alike(word, each)), None)
            if twin is not None:
                left.remove(word)
                right.remove(twin)
                shared.append(word)
    return tuple(shared), left, right


def _akin(one: Word, other: Word) -> bool:
    """Whether two words are of one family: rent, rented, rental; not two names or opposites."""
    if one.kind == QUANTITY or other.kind == QUANTITY or other.stem in lexicon.opposites().get(one.stem, ()):
        return False
    length = min(len(one.stem), len(other.stem))
    return length >= 4 and one.stem.isascii() and one.stem[:length] == other.stem[:length] and one.kind == other.kind


def _conditional(sentence: Sentence) -> bool:
    listed = lexicon.words(sentence.language, "conditional")
    return any(word.text.lower() in listed for word in sentence.words)


def _about_two(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether the sentences are about two persons or things."""
    apart = [{word.stem for word in words if _tells_apart(word)} for words in (left, right)]
    if any(apart):
        return True
    subjects = [[word for word in words if word.subject and word.kind in (WORD, NAME)] for words in (left, right)]
    return all(subjects)


def _tells_apart(word: Word) -> bool:
    return word.stem in lexicon.stems("en", "relatives") or word.stem in lexicon.words("zh", "relatives")


def _converse(one: Sentence, other: Sentence, left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether a comparison is turned around: "older than Ann", and Ann is "younger than" …"""
    compared = [any(word.key == "than" for word in each.words) for each in (one, other)]
    names = [[word.key for word in each.words if word.kind in (WORD, NAME)] for each in (one, other)]
    return all(compared) and bool(left and right) and names[0][0] == names[1][-1] and names[0][-1] == names[1][0]


_Pair = tuple[tuple[Word, ...], tuple[Word, ...]]


def _opposite(left: Sequence[Word], right: Sequence[Word]) -> _Pair | None:
    for word in left:
        excluded = lexicon.opposites().get(word.stem, frozenset()) | lexicon.exclusive().get(word.stem, frozenset())
        for other in right:
            if other.stem in excluded and not (word.subject and other.subject):
                return (word,), (other,)
    return None


def _amounts(left: Sequence[Word], right: Sequence[Word]) -> _Pair | None:
    for word in left:
        for other in right:
            if word.quantity and other.quantity and _type(word.quantity) == _type(other.quantity):
                return (word,), (other,)
    return None


def _type(quantity: Quantity) -> str:
    return VERSION if quantity.type.startswith(VERSION) else quantity.type


def _slot(
    left: Sequence[Word], right: Sequence[Word], shared: Sequence[Word], one: Sentence, other: Sentence
) -> _Pair | None:
    """Two values of something of which there is one."""
    named = {word.stem for word in shared} & lexicon.stems(one.language, "attributes")
    single = {word.text.lower() for word in shared} & lexicon.words(one.language, "single")
    a, b = (tuple(word for word in words if word.kind in (WORD, NAME, QUANTITY)) for words in (left, right))
    if not (named or single) or not (0 < len(a) <= 3 and 0 < len(b) <= 3) or _verbs(a) or _verbs(b):
        return None
    return (a, b) if _preposition(one, a[0]) == _preposition(other, b[0]) else None


def _verbs(words: Iterable[Word]) -> bool:
    return any(word.kind == WORD and word.stem in lexicon.verbs() for word in words)


def _preposition(sentence: Sentence, word: Word) -> str:
    """The preposition before a word."""
    at = sentence.words.index(word)
    before = [each for each in sentence.words[max(0, at - 1) : at] if each.kind == PREPOSITION]
    return before[0].key if before else ""


def _cost(words: Iterable[Word], without: Sequence[Word]) -> int:
    return sum(COST[word.kind] for word in words if word not in without and not _says_little(word))


def _says_little(word: Word) -> bool:
    return any(word.stem in lexicon.stems(language, name) for language in ("en", "zh") for name in ("weak", "light"))


def _past(sentence: Sentence) -> bool:
    """Whether a sentence tells of the past, as far as the form of its first verb says."""
    verb = next((word for word in sentence.words if not word.subject and word.kind == WORD), None)
    return verb is not None and verb.mark == "ed" and verb.text.lower() not in lexicon.words("en", "single")


def _denial(
    one: Sentence, other: Sentence, left: Sequence[Word], right: Sequence[Word], shared: tuple[Word, ...]
) -> Clash | None:
    """What one sentence denies, the other claims, be it in more detail."""
    no, yes = (left, right) if one.denied else (right, left)
    if _cost(no, ()) or _past(one) != _past(other):
        return None
    marks = tuple(word for word in (one if one.denied else other).words if word.kind == NEGATION)
    found = Clash(POLARITY, marks if one.denied else (), () if one.denied else marks, shared, _cost(yes, ()))
    return found if found.cost <= 3 else None
