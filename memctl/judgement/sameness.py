"""Whether two texts say the same, so that one of them can go: the one notion of it in memctl.

They do where nothing is lost with either: the same words up to articles, forms of "be", punctuation, spelling of
numbers and times, and synonyms of a lexicon, in the same order or with one phrase moved. A negation, a modal, a
quantifier, a preposition, a conjunction, a number, a name or the form of a word always counts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache

from memctl.core import times as times_of
from memctl.core.text.language import has_chinese
from memctl.core.text.sentences import sentences
from memctl.judgement import lexicon
from memctl.judgement.segmentation import says_when
from memctl.judgement.wording import CONJUNCTION, LONGEST, PREPOSITION, QUANTITY, WORD, Sentence, Word, read

_READ = 4_096


@lru_cache(_READ)
def said(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text, as they are compared."""
    return tuple(read(sentence) for sentence in sentences(text))


def rough(text: str) -> frozenset[str]:
    """Equal for texts that can say the same, and quickly known: the words that no rule could put in another way."""
    words = re.findall("[a-z]{3,}", text.lower())
    return frozenset(stem for word in words if (stem := lexicon.stem(word)) not in _variable())


@cache
def _variable() -> frozenset[str]:
    """Stems of the words that have synonyms, irregular forms, or a place in a rule."""
    listed = {lexicon.stem(word) for word in lexicon.synonyms()}
    forms = (word for form in ("past", "plural") for pair in lexicon.irregular(form).items() for word in pair)
    ruled = re.findall("[a-z]{3,}", f"{lexicon.text('en.toml')}{lexicon.text('units.toml')}".replace("\\b", " "))
    times = (*times_of.MONTHS, *times_of.WEEKDAYS, *(month[:3] for month in times_of.MONTHS))
    return frozenset(listed | {lexicon.stem(word) for word in (*forms, *ruled, *times, *_CLOCK, *_SHORT)})


_CLOCK = "clock half quarter past noon midnight morning afternoon evening night thousand million".split()
_SHORT = "don doesn didn isn aren wasn weren hasn haven hadn won wouldn can couldn shan shouldn mustn needn ain".split()


def key(sentence: Sentence) -> tuple[tuple[str, str], ...]:
    """Equal for all sentences that can say the same: its words in no order, and whether it asks."""
    if len(sentence.text) > LONGEST or not sentence.words:
        return ((sentence.text, ""),)
    asks = (("?", ""),) if sentence.text.rstrip("\"'”’)）」』 ").endswith(("?", "？", "؟")) else ()
    return (*asks, *sorted(_forms(plainly(sentence.words))))


def plainly(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words of a sentence in its plainest construction: what somebody does, and a room's walls."""
    return _owned(_active(words))


def _active(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """ "The list was made by Ruth" as "Ruth made the list"; how it was done keeps its place at the end."""
    by = next((at for at, word in enumerate(words) if word.key == "by"), 0)
    verb = words[by - 1] if by > 1 else None
    if verb is None or verb.mark != "ed" or by + 1 >= len(words):
        return words
    was = words[by - 2] if words[by - 2].stem == "be" else None
    done_to = words[: by - 1 - (was is not None)]
    end = next((at for at in range(by + 1, len(words)) if words[at].kind == PREPOSITION), len(words))
    if not done_to or any(word.kind in (PREPOSITION, CONJUNCTION) for word in done_to):
        return words
    return (*words[by + 1 : end], replace(verb, mark="ed" if was else "s"), *done_to, *words[end:])


def _owned(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """ "The walls of the study" as "the study's walls"."""
    for at in range(1, len(words) - 1):
        if words[at].key == "of" and words[at - 1].kind == words[at + 1].kind == WORD:
            return (*words[: at - 1], replace(words[at + 1], mark="'s"), words[at - 1], *words[at + 2 :])
    return words


def same(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences say the same."""
    if key(one) != key(other):
        return False
    mine, theirs = plainly(one.words), plainly(other.words)
    return _forms(mine) == _forms(theirs) or (len(mine) == len(theirs) and _moved(mine, theirs))


def covers(one: str, other: str) -> bool:
    """Whether a text says all that another says: each of its sentences."""
    mine: dict[object, list[Sentence]] = defaultdict(list)
    for sentence in said(one):
        mine[key(sentence)].append(sentence)
    return all(any(same(each, theirs) for each in mine.get(key(theirs), ())[:_ALIKE]) for theirs in said(other))


_ALIKE = 8
"""Sentences of the same words in other orders that are compared with one."""


def joined(texts: Sequence[str]) -> list[list[int]]:
    """The texts by position, each with the later ones that it covers; every text is in one group."""
    sorts = [rough(text) for text in texts]
    counts = Counter(sorts)
    groups: list[list[int]] = []
    holding: dict[object, list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        keys = {key(sentence) for sentence in said(text)} if counts[sorts[at]] > 1 else set()
        near = min((holding[each] for each in keys), key=len, default=[])
        group = next((n for n in near[-_ALIKE:] if covers(texts[groups[n][0]], text)), None)
        if group is not None:
            groups[group].append(at)
            continue
        for each in keys:
            holding[each].append(len(groups))
        groups.append([at])
    return groups


def _moved(one: tuple[Word, ...], other: tuple[Word, ...]) -> bool:
    """Whether moving one phrase makes the words of one sentence those of the other.

    A phrase that may move begins with a preposition or holds a time; two parts of a list may change places.
    """
    left, right = _forms(one), _forms(other)
    begin = next(at for at, (a, b) in enumerate(zip(left, right, strict=True)) if a != b)
    end = len(left) - next(at for at, (a, b) in enumerate(zip(reversed(left), reversed(right), strict=True)) if a != b)
    inner, wanted = left[begin:end], right[begin:end]
    for at in range(1, len(inner)):
        if inner[at:] + inner[:at] == wanted:
            return _may_move(one[begin : begin + at]) or _may_move(one[begin + at : end])
    return _listed(one[begin:end], wanted)


def _forms(words: tuple[Word, ...]) -> list[tuple[str, str]]:
    return [(word.key, word.mark) for word in words]


def _may_move(words: tuple[Word, ...]) -> bool:
    if words[0].kind in (PREPOSITION, CONJUNCTION) and (len(words) > 1 or not has_chinese(words[0].text)):
        return True
    if has_chinese(words[0].text):
        return all(word.kind == QUANTITY or says_when(word.text) for word in words)
    return any(word.kind == QUANTITY for word in words)


def _listed(words: tuple[Word, ...], wanted: list[tuple[str, str]]) -> bool:
    """Whether the words are two parts joined by "and" or "or" that changed places."""
    for at, word in enumerate(words):
        if word.key in ("and", "or", "和", "或") and 0 < at < len(words) - 1:
            return _forms((*words[at + 1 :], word, *words[:at])) == wanted
    return False
