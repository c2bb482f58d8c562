"""Whether two sentences exclude each other: about one thing at one time, and different in one point that allows no two.

The words of both are matched. What is left on both sides is the difference: a negation, words that exclude each other,
two amounts of one unit, or two values of something of which there is one. Anything else that differs, above all in the
subject, makes them sentences about two things.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf

from memctl.judgement import lexicon, subject
from memctl.judgement.chinese import chinese_clash, meeting
from memctl.judgement.difference import POLARITY, VALUE, Clash
from memctl.judgement.quantities import VERSION, Quantity
from memctl.judgement.wording import (
    FILLER,
    MODAL,
    NAME,
    NEGATION,
    PREPOSITION,
    QUANTIFIER,
    QUANTITY,
    TIMES,
    WORD,
    Sentence,
    Word,
)

COST = {NAME: 3, QUANTITY: 3, WORD: 1, QUANTIFIER: 1, MODAL: 1}
"""How much a word that only one of the sentences has tells them apart; words of other kinds are not compared."""

DETAIL = 3
"""How much more a claim may say than what denies it."""

MOST_WORDS = 3
"""Words of a value."""


@dataclass(frozen=True)
class _Pair:
    """Two sentences, the words that both have, and those that only one has."""

    one: Sentence
    other: Sentence
    shared: tuple[Word, ...]
    left: tuple[Word, ...]
    right: tuple[Word, ...]

    @property
    def opposed(self) -> bool:
        return self.one.denied != self.other.denied


_Words = tuple[Word, ...]
_Difference = tuple[_Words, _Words]


def clash(one: Sentence, other: Sentence) -> Clash | None:
    """In what two sentences exclude each other; None where they may both be true.

    Args:
        other: the later of the two: what had never happened may have happened since.
    """
    if one.language != other.language:
        return None
    if one.language == "zh":
        return chinese_clash(one, other)
    if _conditional(one) != _conditional(other):
        return None
    pair = _matched(one, other)
    if not any(_is_content(word) for word in pair.shared) or _converse(pair):
        return None
    if subject.apart(one, pair.left, other, pair.right):
        return None
    if _swapped(pair):
        return None
    different = _turned(pair) or _values(pair) or _opposite(pair) or _amounts(pair)
    if pair.opposed:
        return None if different else _denial(pair)
    return _within(pair, *different) if different else None


def _is_content(word: Word) -> bool:
    return word.kind in (WORD, NAME)


def _conditional(sentence: Sentence) -> bool:
    listed = lexicon.words(sentence.language, "conditional")
    return any(word.text.lower() in listed for word in sentence.words)


def _within(pair: _Pair, one: _Words, other: _Words) -> Clash | None:
    """The clash, where little enough differs beside it."""
    rests = [[w for w in words if w not in slot] for words, slot in ((pair.left, one), (pair.right, other))]
    cost = max(map(_cost, rests))
    held = sum(word.kind in (WORD, NAME, QUANTITY) for word in pair.shared)
    if all(any(map(_is_thing, rest)) for rest in rests) and (held <= 2 or not one[0].quantity):
        return None
    if cost > min(3, max(1, held - 1)) or (cost and _conditional(pair.one)):
        return None
    return Clash(VALUE, one, other, pair.shared, cost)


def _is_thing(word: Word) -> bool:
    return _is_content(word) and not _verbs([word]) and not _says_little(word)


def _cost(words: Iterable[Word]) -> int:
    return sum(COST[word.kind] for word in words if not _says_little(word))


def _says_little(word: Word) -> bool:
    return any(word.stem in lexicon.stems(language, name) for language in ("en", "zh") for name in ("weak", "light"))


def _verbs(words: Iterable[Word]) -> bool:
    light = lexicon.stems("en", "light")
    return any(word.kind == WORD and (word.plain in lexicon.verbs() or word.stem in light) for word in words)


# Looking first


@dataclass(frozen=True)
class Points:
    """What a sentence could clash with: a look at two of these is much cheaper than comparing the sentences."""

    sentence: Sentence
    keys: frozenset[str]
    stems: frozenset[str]
    excluded: frozenset[str]
    single: frozenset[str]
    amounts: frozenset[str]
    placed: bool
    compares: bool


def points(sentence: Sentence) -> Points:
    """What a sentence could clash with."""
    words = [word for word in sentence.words if word.kind in COST]
    stems = meeting(sentence) if sentence.language == "zh" else frozenset(word.stem for word in words)
    excluded = [lexicon.opposites().get(s, frozenset()) | lexicon.exclusive().get(s, frozenset()) for s in stems]
    attributes = lexicon.words(sentence.language, "attributes")
    single = {word.plain for word in words if word.plain in attributes} | (
        {lexicon.stem(_verb(sentence))} if _verb(sentence) in _single(sentence.language) else set()
    )
    return Points(
        sentence,
        frozenset(word.key for word in words if word.kind != QUANTITY),
        stems,
        frozenset().union(*excluded),
        frozenset(single),
        frozenset(_type(word.quantity) for word in words if word.quantity),
        _placed(sentence),
        any(word.stem in _COMPARES for word in words),
    )


@cache
def _single(language: str) -> frozenset[str]:
    return lexicon.words(language, "single") | lexicon.words(language, "participles")


def may_clash(one: Points, other: Points) -> bool:
    """Whether comparing two sentences can find anything."""
    if one.sentence.language == "zh":
        return bool(one.stems & other.stems) or bool(one.excluded & other.stems)
    if one.sentence.denied != other.sentence.denied:
        no, yes = (one, other) if one.sentence.denied else (other, one)
        return len(no.keys - yes.keys) <= 2
    if one.amounts & other.amounts or one.excluded & other.stems or one.single & other.single:
        return True
    return (one.placed and other.placed) or (one.compares and other.compares)


# Matching


def _matched(one: Sentence, other: Sentence) -> _Pair:
    left, right = ([word for word in each.words if word.kind in COST] for each in (one, other))
    shared: list[Word] = []
    for alike in (_alike, _akin, *([_of_kind] if one.denied else []), *([_has_kind] if other.denied else [])):
        for word in list(left):
            twin = next((each for each in right if alike(word, each)), None)
            if twin is not None:
                left.remove(word)
                right.remove(twin)
                shared.append(word)
    held = tuple(word for word in one.words if any(word is each for each in shared))
    return _Pair(one, other, held, tuple(left), tuple(right))


def _alike(one: Word, other: Word) -> bool:
    return one.key == other.key or (one.stem == other.stem and one.kind == other.kind)


def _akin(one: Word, other: Word) -> bool:
    """Whether two words are of one family: rent, rented, rental."""
    if QUANTITY in (one.kind, other.kind) or one.kind != other.kind:
        return False
    if not one.stem.isascii() or other.stem in lexicon.opposites().get(one.stem, ()):
        return False
    group = lexicon.alike().get(one.stem, -1)
    if group >= 0 and group == lexicon.alike().get(other.stem):
        return True
    length = min(len(one.stem), len(other.stem))
    return length >= 4 and one.stem[:length] == other.stem[:length]


def _of_kind(kind: Word, word: Word) -> bool:
    """Whether who denies a kind of things denies this one."""
    return kind.stem in lexicon.kinds().get(word.stem, ())


def _has_kind(word: Word, kind: Word) -> bool:
    return _of_kind(kind, word)


# Differences

_COMPARES = frozenset("than over prefer report".split())


def _converse(pair: _Pair) -> bool:
    """Whether a comparison is turned around: "older than Ann", and Ann is "younger than" …"""
    names = [[word.key for word in each.words if _is_content(word)] for each in (pair.one, pair.other)]
    compared = all(any(word.key == "than" for word in each.words) for each in (pair.one, pair.other))
    differ = bool(pair.left and pair.right)
    return compared and differ and (names[0][0], names[0][-1]) == (names[1][-1], names[1][0])


def _swapped(pair: _Pair) -> bool:
    """Whether two names change their parts while something else differs, too: Ann lent Bo 5, Bo lent Ann 9."""
    one, other = _names(pair.one, pair.shared), _names(pair.other, pair.shared)
    changed = len(one) > 1 and one != other and (one[0], one[-1]) == (other[-1], other[0])
    return changed and bool(pair.left and pair.right)


def _names(sentence: Sentence, shared: Sequence[Word]) -> list[str]:
    known = {word.key for word in shared}
    return [word.key for word in sentence.words if word.key in known and _is_content(word) and word.text[0].isupper()]


def _turned(pair: _Pair) -> _Difference | None:
    """A comparison or a preference with its two sides changed."""
    one, other = pair.one.words, pair.other.words
    if pair.left or pair.right or sorted(w.key for w in one) != sorted(w.key for w in other):
        return None
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a.key != b.key]
    if len(changed) != 2 or not any(word.stem in _COMPARES for word in one):
        return None
    return tuple(a for a, _ in changed), tuple(b for _, b in changed)


def _opposite(pair: _Pair) -> _Difference | None:
    for word in pair.left:
        excluded = lexicon.opposites().get(word.stem, frozenset()) | lexicon.exclusive().get(word.stem, frozenset())
        for other in pair.right:
            if other.stem in excluded and not (word.subject and other.subject):
                return (word,), (other,)
    return None


def _amounts(pair: _Pair) -> _Difference | None:
    """Amounts of one kind; another time makes two events of what can happen twice."""
    held = [
        (word, other)
        for word in pair.left
        for other in pair.right
        if word.quantity and other.quantity and _differ(word.quantity, other.quantity)
    ]
    held = [(word, other) for word, other in held if not _overlap(pair, word, other)]
    times = [_is_time(word) for word, _ in held]
    if any(times) and _events_apart(pair):
        return None
    if not held or (any(times) and not (all(times) and _has_one_time(pair.shared))):
        return None
    return tuple(one for one, _ in held), tuple(other for _, other in held)


_FROM = frozenset("over at_least above".split())
_UP_TO = frozenset("under at_most below".split())


def _overlap(pair: _Pair, word: Word, other: Word) -> bool:
    """Whether one amount bounds what the other may be: 20 pages, and more than ten."""
    one, two = _range(pair.one, word), _range(pair.other, other)
    return one[0] <= two[1] and two[0] <= one[1]


def _range(sentence: Sentence, word: Word) -> tuple[float, float]:
    """From where to where an amount reaches; a time, which is compared as such, nowhere."""
    value = word.quantity.value[-1] if word.quantity else None
    if _is_time(word) or not isinstance(value, float):
        return inf, -inf
    at = sentence.words.index(word)
    before = sentence.words[at - 1].key if at else ""
    return (-inf if before in _UP_TO else value), (inf if before in _FROM else value)


def _events_apart(pair: _Pair) -> bool:
    """Whether the sentences tell of two things that happened."""
    return all(any(word.mark == "ed" for word in words) for words in (pair.left, pair.right))


def _differ(one: Quantity, other: Quantity) -> bool:
    return _type(one) == _type(other) and one.value != other.value


def _type(quantity: Quantity) -> str:
    return VERSION if quantity.type.startswith(VERSION) else quantity.type


def _is_time(word: Word) -> bool:
    return word.quantity is not None and word.quantity.type in TIMES


def _has_one_time(shared: Sequence[Word]) -> bool:
    """Whether something has one time: it is listed as such, or the subject is a thing and nobody's habit."""
    names = ("attributes", "single", "participles")
    listed = frozenset().union(*(lexicon.stems(language, name) for language in ("en", "zh") for name in names))
    return subject.is_thing(shared) or any(word.stem in listed for word in shared)


def _values(pair: _Pair) -> _Difference | None:
    """Two values of something of which there is one."""
    one, other = (tuple(filter(_can_be_value, words)) for words in (pair.left, pair.right))
    if all(any(map(_is_time, words)) for words in (pair.left, pair.right)):
        return None
    if not one or not other or len(one) + len(other) > 2 * MOST_WORDS or _verbs((*one, *other)):
        return None
    if _preposition(pair.one, one[0]) != _preposition(pair.other, other[0]):
        return None
    if _names_more(pair.one, one) or _names_more(pair.other, other):
        return None
    in_place = _is_in(pair.one, one[0]) and _is_in(pair.other, other[0])
    return (one, other) if in_place or _allows_one(pair, one[0]) else None


def _allows_one(pair: _Pair, value: Word) -> bool:
    """Whether both sentences give something that there is one of."""
    language = pair.one.language
    verb = _verb(pair.one)
    if verb and lexicon.stem(verb) == lexicon.stem(_verb(pair.other)):
        at = pair.one.words.index(value)
        passive = at > 1 and pair.one.words[at - 2].plain == verb and _preposition(pair.one, value)
        if verb in lexicon.words(language, "single") or (passive and verb in lexicon.words(language, "participles")):
            return True
    subjects = {word.plain for each in (pair.one, pair.other) for word in each.words if word.subject}
    listed = subjects & lexicon.words(language, "attributes")
    return all(listed & {word.plain for word in each.words} for each in (pair.one, pair.other))


def _verb(sentence: Sentence) -> str:
    """The first word behind the subject that is no auxiliary, as written."""
    return next((w.plain for w in _predicate(sentence) if w.kind == WORD and w.stem not in ("be", "have")), "")


def _can_be_value(word: Word) -> bool:
    if word.kind == WORD:
        return word.stem not in lexicon.adjectives()
    return word.kind == NAME or (word.kind == QUANTITY and not _is_time(word))


def _names_more(sentence: Sentence, words: _Words) -> bool:
    """Whether some of the words that stand apart from the first ones are a name or an amount."""
    begin = sentence.words.index(words[0])
    row = set(sentence.words[begin : begin + len(words)])
    return any(word.kind != WORD for word in words if word not in row)


def _preposition(sentence: Sentence, word: Word) -> str:
    """The preposition before a word."""
    at = sentence.words.index(word)
    return sentence.words[at - 1].key if at and sentence.words[at - 1].kind == PREPOSITION else ""


_PLACES = frozenset("in at on under behind beside near inside 在".split())


def _is_in(sentence: Sentence, word: Word) -> bool:
    """Whether a sentence says of its subject only that it is in a place that the word names."""
    return _placed(sentence) and word in _predicate(sentence)[1:2]


def _placed(sentence: Sentence) -> bool:
    said = _predicate(sentence)
    return 1 < len(said) <= MOST_WORDS + 1 and said[0].key in _PLACES


def _predicate(sentence: Sentence) -> list[Word]:
    return [word for word in sentence.words if not word.subject and word.kind != FILLER]


# Denials

_EVER = frozenset("never 从没 从未 从来没 从来没有 从来不 未曾".split())
"""Denies every time so far: what happened once contradicts it."""


def _denial(pair: _Pair) -> Clash | None:
    """What one sentence denies, the other claims, be it in more detail."""
    denying = pair.one if pair.one.denied else pair.other
    no, yes = (pair.left, pair.right) if pair.one.denied else (pair.right, pair.left)
    ever = any(word.text.lower() in _EVER for word in denying.words)
    past = _past(pair.one), _past(pair.other)
    if _cost(no) or (_verbs(yes) and _verbs(no)) or (past[0] != past[1] and not ever):
        return None
    if ever and pair.one.denied and past[1]:
        return None
    cost = _cost(word for word in yes if word.kind != QUANTIFIER and not _is_time(word))
    marks = tuple(word for word in denying.words if word.kind == NEGATION)
    if cost > DETAIL:
        return None
    found = Clash(POLARITY, marks, (), pair.shared, cost)
    return found if pair.one.denied else replace(found, one=(), other=marks)


def _past(sentence: Sentence) -> bool:
    """Whether a sentence tells of the past, as far as the form of its first verb says."""
    verb = next((word for word in sentence.words if not word.subject and word.kind == WORD), None)
    return verb is not None and verb.mark == "ed" and verb.text.lower() not in lexicon.words("en", "participles")
