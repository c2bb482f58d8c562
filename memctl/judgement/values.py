"""Two values of something of which there is one: where somebody was born, what a server runs.

What stands before a value governs it, a verb, a preposition, a noun or the subject, and says whether there can be two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from sys import intern

from memctl.judgement import lexicon, subject
from memctl.judgement.alignment import Pair, Slots, Words
from memctl.judgement.quantities import VERSION
from memctl.judgement.relations import is_listed_class
from memctl.judgement.segmentation import class_of
from memctl.judgement.word_class import CONTENT, among, is_chinese, is_time, is_verb, says_little
from memctl.judgement.wording import (
    FILLER,
    MODAL,
    NAME,
    PREPOSITION,
    PRONOUN,
    QUANTIFIER,
    WORD,
    Sentence,
    Word,
)

MOST = 3
"""Words of a value."""

COPULA = "是"
"""Governs what is said of the subject itself."""

PLACES = frozenset("in at from on under behind beside near inside within 在 从 由 于 到 向 朝".split())


def values(pair: Pair) -> Slots | None:
    """Two values of something of which there is one."""
    a, b = _value(pair.one, pair.left), _value(pair.other, pair.right)
    if pair.one.language == "zh":
        a, b = a or _lone(pair.left, b), b or _lone(pair.right, a)
    if not (0 < len(a) <= MOST and 0 < len(b) <= MOST) or _mixed(a, b):
        return None
    one, other = _governor(pair.one, a[0]), _governor(pair.other, b[0])
    return (a, b) if one and one == other and _is_one(pair, a, b, one) else None


def acts(pair: Pair) -> bool:
    """Whether both tell of something that can be done with two things."""
    if pair.one.language == "zh":
        return any(not word.subject and (is_additive(word) or word.text == "会") for word in pair.shared)
    verb = next((word for word in pair.one.words if word.kind == WORD and not word.subject and word.stem != "be"), None)
    return verb is not None and is_additive(verb) and verb.plain not in lexicon.words("en", "participles")


def is_additive(word: Word) -> bool:
    if is_chinese(word):
        return word.kind == WORD and class_of(word.text) == "v" and not among(word, "zh", "single")
    return word.stem in lexicon.stems("en", "additive")


# Looking first


@dataclass(frozen=True, slots=True)
class Given:
    """What an English claim could give of something that there is one of.

    Args:
        values: the words that may be values, each behind what governs it.
        single: governors that take one value here; `ATTRIBUTE` if the subject is an attribute.
    """

    values: tuple[str, ...] = ()
    single: frozenset[str] = frozenset()


ATTRIBUTE = "\0attribute"


def given(sentence: Sentence) -> Given:
    """What a claim could give of something that there is one of; nothing for a Chinese one, which is not looked at."""
    if sentence.language == "zh":
        return _NOTHING
    words = list(_governed(sentence))
    single = {governor for governor, word in words if _may_be_single(sentence, word, governor)}
    head = _head(sentence)
    if head is not None and _is_listed(head, "attributes"):
        single.add(ATTRIBUTE)
    return Given(
        tuple({intern(f"{governor}\0{word.key}") for governor, word in words}), lexicon.interned(frozenset(single))
    )


_NOTHING = Given()


def may_differ(one: Given, other: Given) -> bool:
    """Whether `values` may find two values in two English claims, if neither says that there is one alone."""
    mine = {value.partition("\0")[0] for value in one.values if value not in other.values}
    differing = mine.intersection(value.partition("\0")[0] for value in other.values if value not in one.values)
    if ATTRIBUTE in one.single and ATTRIBUTE in other.single:
        return bool(differing)
    return not (differing.isdisjoint(one.single) and differing.isdisjoint(other.single))


def _governed(sentence: Sentence) -> Iterator[tuple[str, Word]]:
    """The words of an English claim that may begin a value, with what governs them."""
    before: list[Word] = []
    for word in sentence.words:
        if _may_begin_value(word):
            yield _last(before, word), word
        if not _passed_over(word):
            before.append(word)


def _may_begin_value(word: Word) -> bool:
    if word.subject or word.kind not in CONTENT or (word.quantity and not word.quantity.type.startswith(VERSION)):
        return False
    return not says_little(word)


def _may_be_single(sentence: Sentence, value: Word, governor: str) -> bool:
    if governor == COPULA:
        return len(_said_of_subject(sentence)) <= MOST
    if governor == "use":
        return subject.is_thing(sentence)
    return governor in _single() or (_is_preposition(governor) and _takes_one(sentence, value, governor))


# Values


def _value(sentence: Sentence, alone: Words) -> Words:
    """What may be a value of the words that one claim alone has: those up to the next verb."""
    possible = [word for word in alone if word.kind in CONTENT and not says_little(word) and not is_time(word)]
    row = tuple(takewhile(lambda word: not is_verb(word) or _is_placed(sentence, word), possible))
    return tuple(takewhile(lambda word: _adjacent(sentence, row[: row.index(word) + 1]), row))


def _lone(alone: Words, other: Words) -> Words:
    """The one word that a claim has alone, be it a verb: beside a noun it is one."""
    return alone if len(alone) == 1 and other else ()


def _is_placed(sentence: Sentence, word: Word) -> bool:
    """Whether a word stands behind a preposition, where even a verb is a noun or a name: `开封`."""
    at = sentence.words.index(word)
    before = sentence.words[at - 1] if at else word
    return (
        before.text in PLACES if is_chinese(word) else before.kind == PREPOSITION or (before.subject and not word.mark)
    )


def _mixed(a: Words, b: Words) -> bool:
    """Whether they are no values: words before the verb, or amounts."""
    return any(word.subject for word in (*a, *b)) or _counts(a) or _counts(b)


def _is_quality(words: Words) -> bool:
    """Whether a value is an adjective: a thing may have two of these."""
    return len(words) == 1 and words[0].text.islower() and words[0].plain in lexicon.adjectives()


def _counts(words: Iterable[Word]) -> bool:
    return any(word.quantity and not word.quantity.type.startswith(VERSION) for word in words)


def _adjacent(sentence: Sentence, words: Sequence[Word]) -> bool:
    begin, end = sentence.words.index(words[0]), sentence.words.index(words[-1])
    return all(word in words or word.kind in (FILLER, QUANTIFIER) for word in sentence.words[begin:end])


# What governs a value


def _governor(sentence: Sentence, value: Word) -> str:
    """What stands before a value: the stem of a verb, noun or preposition, or `COPULA`; empty where nothing does."""
    return _last([word for word in sentence.words[: sentence.words.index(value)] if not _passed_over(word)], value)


def _last(before: Sequence[Word], value: Word) -> str:
    """Of the words before a value the one that governs it."""
    if not before:
        return ""
    last = before[-1]
    if is_chinese(value) and any(word.text in ("由", "归") for word in before[-3:]):
        return "由"
    if value.kind == NAME and value.text[:1].isdigit() and last.kind == WORD and not last.subject and len(before) > 1:
        last = before[-2]
    if last.subject and not _is_listed(last, "single"):
        return COPULA
    return COPULA if last.stem in ("be", "为") else last.stem


def _passed_over(word: Word) -> bool:
    if word.kind in (MODAL, QUANTIFIER, FILLER) or (word.kind == PRONOUN and not word.subject):
        return True
    if is_chinese(word):
        return word.text in _SMALL or any(among(word, "zh", name) for name in ("weak", "adverbs"))
    return word.key == "only"


_SMALL = frozenset("这 那 个 位 名 只 条 家 了 着 过 的".split())


def _is_listed(word: Word, name: str) -> bool:
    return among(word, "zh" if is_chinese(word) else "en", name)


def _is_one(pair: Pair, a: Words, b: Words, governor: str) -> bool:
    """Whether both give something that there is one of."""
    if pair.flagged("only"):
        return True
    if may_hold(a, b) or (_is_preposition(governor) and a[0].text[0].isupper() != b[0].text[0].isupper()):
        return False
    if _gives_attribute(pair, a, b, governor):
        return governor != COPULA or not _is_of_person(pair) or (_are_names(a) and _are_names(b))
    if pair.one.language == "zh":
        return not (is_vague(a) or is_vague(b)) and _is_one_in_chinese(pair, a, b, governor)
    if _is_quality(a) or _is_quality(b) or a[0].text[0].isupper() != b[0].text[0].isupper():
        return False
    if governor == COPULA:
        return a[-1].kind == b[-1].kind and _is_one_thing(pair.one, a) and _is_one_thing(pair.other, b)
    if governor == "by":
        return False
    if governor == "use":
        return subject.is_thing(pair.one) and len(pair.shared) > MOST
    if governor in _single():
        return governor in lexicon.stems("en", "single") or not acts(pair)
    at_once = governor in PLACES and at_one_moment(pair)
    return _is_preposition(governor) and _takes_one(pair.one, a[0], governor, at_once=at_once)


@cache
def _single() -> frozenset[str]:
    """Stems of verbs and nouns that have one value."""
    return lexicon.stems("en", "single") | (lexicon.stems("en", "attributes") - lexicon.verbs())


def may_hold(a: Words, b: Words) -> bool:
    """Whether one value may lie in the other: a town and a country or province."""
    return (a[-1].plain in lexicon.regions()) != (b[-1].plain in lexicon.regions())


def _is_preposition(governor: str) -> bool:
    return governor in lexicon.stems("en", "prepositions")


def _takes_one(sentence: Sentence, value: Word, preposition: str, *, at_once: bool = False) -> bool:
    """Whether a verb with this preposition, or a preposition of place alone, has one value."""
    words = sentence.words[: sentence.words.index(value)]
    at = max((at for at, word in enumerate(words) if word.stem == preposition), default=-1)
    if at < 0:
        return False
    before = [word for word in words[:at] if not _passed_over(word) and word.stem != "be"]
    if not before or before[-1].subject:
        return preposition in PLACES
    verb = before[-1]
    if (
        verb.kind != WORD
        or _has_been(sentence, verb)
        or not (verb.mark in ("ed", "s") or verb.plain in lexicon.verbs())
    ):
        return False
    if _is_listed(verb, "single") or verb.plain in lexicon.words("en", "participles"):
        return True
    if verb.stem in lexicon.stems("en", "additive"):
        return False
    if re.search(
        rf"\b(?:is|are|was|were|be|been|being|get|gets)\s+(?:\w+ly\s+)?{re.escape(verb.text)}\b", sentence.text
    ):
        return True
    return at_once or (verb.mark != "ed" and subject.is_thing(sentence))


def _has_been(sentence: Sentence, verb: Word) -> bool:
    """Whether a verb tells of the past up to now, in which there may have been several."""
    at = sentence.words.index(verb)
    return at > 0 and sentence.words[at - 1].text.lower() in ("has", "have", "'ve") and verb.mark == "ed"


def at_one_moment(pair: Pair) -> bool:
    """Whether two claims name the same day or hour: then what they tell of is in one place."""
    return any(word.quantity is not None and word.quantity.type in ("clock", "date") for word in pair.shared)


def _gives_attribute(pair: Pair, a: Words, b: Words, governor: str) -> bool:
    """Whether both are about an attribute of which a thing has one: the last word of the subject names it."""
    heads = [head for head in map(_head, (pair.one, pair.other)) if head is not None]
    if len(heads) < 2 or not all(_is_listed(head, "attributes") for head in heads):
        return False
    if pair.one.language == "en" and any(map(_is_quality, (a, b))) and not _is_listed(heads[0], "graded"):
        return False
    if pair.one.language == "zh":
        return governor in (COPULA, "为", "叫", "在", "用") or _is_named(pair, governor)
    return True


def _is_of_person(pair: Pair) -> bool:
    """Whether the subject is a person, of whom much can be said."""
    head = _head(pair.one)
    return head is not None and (
        among(head, "zh", "relatives")
        or head.text[-1] in subject.PERSONS
        or head.stem in lexicon.persons() | lexicon.stems("en", "relatives")
    )


def _are_names(value: Words) -> bool:
    if is_chinese(value[0]):
        return all(word.kind == NAME or class_of(word.text) == "" for word in value)
    return all(word.kind == NAME or word.text[0].isupper() for word in value)


def _is_named(pair: Pair, governor: str) -> bool:
    return any(word.stem == governor and among(word, "zh", "attributes") for word in pair.shared)


def _head(sentence: Sentence) -> Word | None:
    """The noun that a subject ends in."""
    return next((word for word in reversed(sentence.words) if word.subject and word.kind == WORD), None)


def _said_of_subject(sentence: Sentence) -> list[Word]:
    return [w for w in sentence.words if not w.subject and w.stem != "be" and w.key not in _ADVERBS]


def _is_one_thing(sentence: Sentence, value: Words) -> bool:
    """Whether a sentence says what one definite thing is: "Ann's landlord is Mr Fox", "the mascot is an otter"."""
    subject_words = [word for word in sentence.words if word.subject]
    if not subject_words or any(word not in value for word in _said_of_subject(sentence)):
        return False
    noun = subject_words[-1]
    owned = any(word.mark == "'s" or word.key in _OWN for word in subject_words[:-1])
    if noun.kind != WORD or noun.mark == "s" or not noun.text.islower():
        return False
    if owned and noun.stem in lexicon.stems("en", "several"):
        return False
    if all(word.kind == NAME for word in value):
        return owned or _is_definite(sentence)
    return noun.stem not in lexicon.persons() | lexicon.stems("en", "relatives") and (owned or _is_definite(sentence))


_ADVERBS = frozenset("currently now already still always".split())
_OWN = frozenset("my our his her their".split())


def _is_definite(sentence: Sentence) -> bool:
    return sentence.text.lower().startswith(("the ", "this "))


# Chinese


_NAMED_ONE = re.compile("的(?:第[一二三]|首选|唯一|最[^，。的是]{1,4}|主要?)[^，。的是]{0,5}是")
"""`报的第一志愿是…`: the one thing there is."""


def is_vague(value: Words) -> bool:
    """Whether a value may be where another is: by the sea."""
    return value[-1].text.endswith(("边", "旁", "附近", "一带", "郊区", "乡下", "城里", "市区", "农村"))


def _is_one_in_chinese(pair: Pair, a: Words, b: Words, governor: str) -> bool:
    if governor in lexicon.words("zh", "single") or governor == "由":
        return True
    if governor == "用":
        makes = any(word.text in _MAKES for word in pair.shared) and subject.person(pair.one) == ""
        return makes or subject.is_thing(pair.one) or is_listed_class(a[-1], b[-1])
    if governor in PLACES:
        if all(_is_only_placed(sentence, value) for sentence, value in ((pair.one, a), (pair.other, b))):
            return True
        shared = {text for word in pair.shared for text in (word.stem, word.text)}
        return not shared.isdisjoint(lexicon.words("zh", "single")) or at_one_moment(pair)
    if governor == COPULA:
        return _is_one_sort(pair, a, b) or _owner_says_who(pair, a, b)
    if all(_NAMED_ONE.search(sentence.text) for sentence in (pair.one, pair.other)):
        return True
    cleft = sum("的是" in sentence.text for sentence in (pair.one, pair.other))
    return cleft == 2 or (cleft == 1 and len(a) == len(b) == 1)


_MAKES = frozenset("写 做 编 开发 实现 搭建 搭 写成".split())


def _is_only_placed(sentence: Sentence, value: Words) -> bool:
    """Whether a claim says of its subject only where it is."""
    predicate = [word for word in sentence.words if not word.subject and word not in value and word.kind != FILLER]
    return bool(predicate) and not any(is_verb(word) and word.text not in PLACES for word in predicate)


def _is_one_sort(pair: Pair, a: Words, b: Words) -> bool:
    """Whether something owned is two things of one sort: `我的键盘是机械键盘` and `是薄膜键盘`."""
    named = [word for word in pair.one.words if word.subject and word.kind in (WORD, NAME, PRONOUN)]
    if len(named) < 2 or any(among(word, "zh", name) for word in named for name in ("several", "relatives")):
        return False
    sorts = {_noun(pair.one, a)[-1], _noun(pair.other, b)[-1]}
    return len(sorts) == 1 and not sorts & set("人员师生者家的")


def _noun(sentence: Sentence, value: Sequence[Word]) -> str:
    """The noun that a value ends in."""
    behind = sentence.words[sentence.words.index(value[-1]) + 1 :]
    return next((word.text for word in behind if word.kind == WORD), value[-1].text)


def _owner_says_who(pair: Pair, a: Words, b: Words) -> bool:
    """Whether both name who or what the one thing is that somebody has: `她的直属领导是孙敏`."""
    if not all(re.search("的.*是", sentence.text) for sentence in (pair.one, pair.other)):
        return False
    named = [word for word in pair.one.words if word.subject and word.kind in (WORD, NAME, PRONOUN)]
    if len(named) < 2 or any(among(named[-1], "zh", name) for name in ("several", "relatives")):
        return False
    return all(word.kind == NAME or class_of(word.text) in ("", "p") for word in (*a, *b))
