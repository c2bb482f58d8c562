"""Whether two claims exclude each other: about one thing at one time, and different in one point that allows no two.

The words of both are matched. What is left on both sides is the difference: a negation, words that exclude each other,
two amounts of one unit, or two values of something of which there is one. Anything else that differs, above all in the
subject, makes them claims about two things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from memctl.judgement import lexicon, subject
from memctl.judgement.alignment import POLARITY, VALUE, Clash, Pair, Slots, Words, matched
from memctl.judgement.amounts import MOMENTS, amounts, is_length, type_of
from memctl.judgement.nearness import near
from memctl.judgement.quantities import VERSION
from memctl.judgement.relations import excludes, is_listed_class, one_of_a_class
from memctl.judgement.reworded import reworded
from memctl.judgement.segmentation import class_of
from memctl.judgement.values import acts, values
from memctl.judgement.word_class import (
    among,
    cost,
    is_chinese,
    is_chinese_time,
    is_english_time,
    is_time,
    is_verb_or_light,
    says_little,
)
from memctl.judgement.wording import (
    FILLER,
    NAME,
    PREPOSITION,
    QUANTIFIER,
    QUANTITY,
    WORD,
    Sentence,
    Word,
    denies,
)

DETAIL = 4
"""How much more a claim may say than what denies it."""


def clash(one: Sentence, other: Sentence) -> Clash | None:
    """In what two claims exclude each other; None where they may both be true.

    Args:
        other: the later of the two: what had never happened may have happened since.
    """
    if one.language != other.language:
        return None
    pair = matched(one, other)
    if slots := _only_and_all(pair):
        return Clash(VALUE, *slots, pair.shared)
    if not (_about_one(pair) or reworded(pair)) or _apart(pair):
        return None
    for search in (_turned, _opposite, amounts, values):
        slots = None if search is not amounts and _on_two_days(pair) else search(pair)
        if slots and _little_else(pair, slots):
            return (
                None
                if pair.opposed(slots)
                else Clash(VALUE, *slots, pair.shared, max(sum(map(cost, rest)) for rest in _rests(pair, slots)))
            )
    return (_denial(pair) if pair.opposed() else None) or reworded(pair)


def _apart(pair: Pair) -> bool:
    """Whether they tell of two subjects or times, or one of them claims nothing certain."""
    return subject.apart(pair) or _at_two_times(pair) or _uncertain(pair) or _swapped(pair)


def _about_one(pair: Pair) -> bool:
    """Whether both have something in common: a word that tells, or the person who is their subject."""
    if any(word.kind in (WORD, NAME) and not says_little(word) for word in pair.shared):
        return True
    persons = {subject.person(pair.one), subject.person(pair.other)}
    return len(persons) == 1 and persons != {""}


def _uncertain(pair: Pair) -> bool:
    """Whether one of them tells of some, or only one of them of what holds under a condition."""
    if pair.flagged("partial") > 0 or pair.flagged("conditional") == 1:
        return True
    possibly = _POSSIBLY | ({"may"} if subject.is_thing(pair.one) and subject.is_thing(pair.other) else set())
    return all(any(word.plain in possibly for word in each.words) for each in (pair.one, pair.other))


_POSSIBLY = frozenset("might could perhaps maybe possibly 可能 也许 大概 或许".split())


def _at_two_times(pair: Pair) -> bool:
    if pair.flagged("past") == 1 or pair.flagged("then") == 1:
        return True
    times = [[word for word in side if is_chinese_time(word)] for side in (pair.left, pair.right)]
    if any(near(a, b) for a in times[0] for b in times[1]):
        return False
    return all(times) and not any(excludes(a, b) for a in times[0] for b in times[1] if not (a.subject and b.subject))


def _on_two_days(pair: Pair) -> bool:
    """Whether each names another moment: what differs beside it holds at that time."""
    moments = [{w.key for w in side if w.quantity and w.quantity.type in MOMENTS} for side in (pair.left, pair.right)]
    return all(moments)


# Only some, and all


def _only_and_all(pair: Pair) -> Slots | None:
    """What only some do, and others do as well: "only admins may …", "every member may …"."""
    if pair.flagged("only") != 1 or pair.flagged("all") != 1 or pair.opposed() or not _about_one(pair):
        return None
    for limited, slots in ((pair.one, (pair.left, pair.right)), (pair.other, (pair.right, pair.left))):
        limits = any(word.subject and "only" in _flags_of(word) for word in limited.words)
        own, all_of = (tuple(word for word in side if word.subject and cost(word)) for side in slots)
        rest = [word for side in slots for word in side if not word.subject and cost(word)]
        if limits and "only" in limited.flags and own and not rest:
            return (own, all_of) if limited is pair.one else (all_of, own)
    return None


def _flags_of(word: Word) -> frozenset[str]:
    return replace(_NOTHING, words=(word,), language="zh" if is_chinese(word) else "en").flags


_NOTHING = Sentence("", "en", ())


# How much else differs


def _rests(pair: Pair, slots: Slots) -> list[list[Word]]:
    """What only one claim has beside what excludes each other, and beside the phrase that this stands in."""
    phrases = [
        list(slot) if slot[0].quantity else _phrase(sentence, slot)
        for (sentence, _), slot in zip(pair.sides, slots, strict=True)
    ]
    whole = all(
        any(word in phrase and word not in slot for word in side)
        for (_, side), slot, phrase in zip(pair.sides, slots, phrases, strict=True)
    )
    taken = (
        phrases
        if whole
        else [[*slot, *_amount(sentence, slot)] for (sentence, _), slot in zip(pair.sides, slots, strict=True)]
    )
    return [[w for w in side if w not in slot and cost(w)] for (_, side), slot in zip(pair.sides, taken, strict=True)]


def _phrase(sentence: Sentence, slot: Words) -> list[Word]:
    """A slot with the names around it: all of "a diesel Octavia" stands for "diesel"."""
    at = sentence.words.index(slot[0])
    before = takewhile(_is_in_phrase, reversed(sentence.words[:at]))
    return [*before, slot[0], *takewhile(_is_in_phrase, sentence.words[at + 1 :])]


def _amount(sentence: Sentence, slot: Words) -> list[Word]:
    """The amount behind a verb: costs 3 euros."""
    at = sentence.words.index(slot[0])
    return [
        word for word in sentence.words[at + 1 : at + 2] if word.quantity and word.kind == QUANTITY and slot[0].mark
    ]


def _is_in_phrase(word: Word) -> bool:
    """Whether a word is a part of a name, its version, or a character of a Chinese compound: `墨绿色`."""
    if word.subject:
        return False
    if is_chinese(word):
        return word.kind == WORD and len(word.text) == 1 and class_of(word.text) != "v"
    return word.kind == NAME or (word.quantity is not None and type_of(word.quantity) == VERSION)


def _little_else(pair: Pair, slots: Slots) -> bool:
    """Whether little enough differs beside what excludes each other."""
    rests = _rests(pair, slots)
    apart = [(a, b) for a in rests[0] for b in rests[1] if excludes(a, b)]
    if apart and not all(_beside(pair, slots, a, b) for a, b in apart):
        return False
    rests = [[w for w in rest if not any(w in both for both in apart)] for rest in rests]
    costs = [sum(map(cost, rest)) for rest in rests]
    if min(costs) == 0:
        costs = [sum(1 if is_english_time(word) else cost(word) for word in rest) for rest in rests]
    held = sum(word.kind in (WORD, NAME, QUANTITY) for word in pair.shared)
    if min(costs) and (pair.one.language == "zh" or slots[0][0].stem in _ALLOWS or _things(pair, rests, held, slots)):
        return False
    return max(costs) <= min(3, max(1 if min(costs) or not held else 2, held - 1)) and not (
        max(costs) and pair.flagged("conditional")
    )


def _beside(pair: Pair, slots: Slots, one: Word, other: Word) -> bool:
    """Whether two words that exclude each other belong to what was found: dark green, bright red."""
    return all(
        abs(sentence.words.index(word) - sentence.words.index(slot[0])) == 1 and not slot[0].quantity
        for (sentence, _), slot, word in zip(pair.sides, slots, (one, other), strict=True)
    )


def _things(pair: Pair, rests: Sequence[list[Word]], held: int, slots: Slots) -> bool:
    """Whether both name something else, or measure something else: 2 m high, 40 m long."""
    if slots[0][0].quantity and all(any(map(_is_quality, rest)) for rest in rests):
        return True
    sides = zip((pair.one, pair.other), rests, strict=True)
    things = all(any(_is_thing(word) or _is_placed(sentence, word) for word in rest) for sentence, rest in sides)
    return things and (held <= 2 or not slots[0][0].quantity)


def _is_quality(word: Word) -> bool:
    return word.plain in lexicon.adjectives()


_ALLOWS = frozenset(map(lexicon.stem, "can may must forbidden allowed required".split()))
"""What these say is of what is done; where that differs, both may be so."""


def _is_thing(word: Word) -> bool:
    return word.kind in (WORD, NAME) and not is_verb_or_light(word)


# Comparisons and names that change their places


def _turned(pair: Pair) -> Slots | None:
    """A comparison or a preference with its two sides changed: `甲比乙大` and `乙比甲大`."""
    one, other = pair.one.words, pair.other.words
    if pair.left or pair.right or sorted(word.key for word in one) != sorted(word.key for word in other):
        return None
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a.key != b.key]
    if len(changed) != 2 or not any(word.stem in COMPARES for word in one):
        return None
    return tuple(a for a, _ in changed), tuple(b for _, b in changed)


COMPARES = frozenset(
    map(lexicon.stem, "than over prefer report manage supervise mentor outrank 比 带 领导 指导 管理 管".split())
)


def _swapped(pair: Pair) -> bool:
    """Whether two names change their parts while something else differs, too: Ann lent Bo 5, Bo lent Ann 9."""
    if not (pair.left and pair.right):
        return False
    one, other = (_compared_or_named(sentence, pair) for sentence in (pair.one, pair.other))
    return min(len(one), len(other)) > 1 and one != other and (one[0], one[-1]) == (other[-1], other[0])


def _compared_or_named(sentence: Sentence, pair: Pair) -> list[str]:
    known = {word.key for word in pair.shared}
    keys = [word.key for word in sentence.words]
    if "比" in keys[1:-1]:
        at = keys.index("比")
        return [keys[at - 1], keys[at + 1]]
    than = "than" in keys
    words = [w for w in sentence.words if (w.key in known and w.kind in (WORD, NAME)) or w.key == "user"]
    return [word.key for word in words if than or word.text[0].isupper() or word.key == "user"]


# Opposites


def _opposite(pair: Pair) -> Slots | None:
    if turned := _opposite_prepositions(pair):
        return turned
    for word in pair.left:
        for other in pair.right:
            if (
                not (word.subject and other.subject)
                and excludes(word, other)
                and _holds_of_subject(pair, word, other)
                and not _of_two_deeds(pair, word, other)
            ):
                return (word,), (other,)
    return None


def _of_two_deeds(pair: Pair, word: Word, other: Word) -> bool:
    """Whether the two say how somebody does different things: sleeps well, sings badly."""
    if not all(each.plain == "well" or each.plain.endswith("ly") for each in (word, other)):
        return False
    places = ((pair.one.words, word, pair.left), (pair.other.words, other, pair.right))
    before = [(words[max(0, words.index(each) - 1)], rest) for words, each, rest in places]
    return all(each in rest and _acts(each) for each, rest in before) and not excludes(before[0][0], before[1][0])


def _opposite_prepositions(pair: Pair) -> Slots | None:
    """Prepositions that exclude each other before the same word: before breakfast, after breakfast."""
    one, other = (_governed(sentence) for sentence in (pair.one, pair.other))
    pairs = ((one[key], other[key]) for key in one.keys() & other.keys())
    return next((((a,), (b,)) for a, b in pairs if b.stem in lexicon.excluded(a.stem)), None)


def _governed(sentence: Sentence) -> dict[str, Word]:
    """The words behind a preposition, each with that."""
    words = sentence.words
    return {word.key: before for before, word in pairwise(words) if before.kind == PREPOSITION}


def _holds_of_subject(pair: Pair, word: Word, other: Word) -> bool:
    """Whether the two are said of the subject: a person may like red and like white, but a thing is red or white."""
    if not one_of_a_class(word, other) or pair.flagged("only"):
        return True
    return (word.text.islower() or is_listed_class(word, other)) and not acts(pair)


# Denials

_EVER = frozenset("never 从没 从未 从来没 从来没有 从来不 未曾".split())
"""Denies every time so far: what happened once contradicts it."""


def _denial(pair: Pair) -> Clash | None:
    """What one sentence denies, the other claims, be it in more detail."""
    denying, claiming = (pair.one, pair.other) if pair.one.denied else (pair.other, pair.one)
    no, yes = (pair.left, pair.right) if pair.one.denied else (pair.right, pair.left)
    in_parts = tuple(word for word in no if _in_parts(word, claiming))
    without = any(word.key == "without" for word in denying.words)
    some = "all" in claiming.flags
    if not some and _not_all(denying):
        return None
    if any(_begins_compound(claiming, word, pair) for word in yes):
        return None
    placed = [word for word in no if not cost(word) and _is_placed(denying, word)]
    if placed:
        return None
    no = tuple(w for w in no if not (denies(w) or w in in_parts or is_length(w) or (without and _acts(w))))
    no = tuple(w for w in no if not (some and w.quantity))
    if any(word.key in subject.NOBODY for word in denying.words):
        yes = tuple(word for word in yes if not word.subject)
    if not any(map(_acts, yes)) and any(word.key in ("has", "have", "有") for word in claiming.words):
        no = tuple(word for word in no if not _acts(word))
    parts = {part for word in in_parts for part in word.text}
    yes = tuple(w for w in yes if w.kind != QUANTIFIER and not is_time(w) and w.text not in parts)
    spent = sum(map(cost, yes))
    if sum(map(cost, no)) or spent > DETAIL or (any(map(_acts, yes)) and any(map(_acts, no))):
        return None
    if (
        any(word.stem in lexicon.stems("en", "wishes") for word in yes)
        or not _says_enough(pair, in_parts, spent)
        or _before(pair, denying, claiming)
    ):
        return None
    marks = tuple(word for word in denying.words if denies(word))
    if any(_may_still(mark, word) for mark in marks for word in yes):
        return None
    denial = Clash(POLARITY, marks, (), pair.shared, spent)
    return denial if pair.one.denied else replace(denial, one=(), other=marks)


def _begins_compound(sentence: Sentence, word: Word, pair: Pair) -> bool:
    """Whether a word of both only tells of what kind this one is: who has a car loan may have no car."""
    at = sentence.words.index(word)
    before = sentence.words[at - 1] if at else word
    if (
        word.kind != WORD
        or is_chinese(word)
        or is_verb_or_light(word)
        or word.mark in ("ed", "ing")
        or before.subject
        or is_verb_or_light(before)
    ):
        return False
    says_how = word.plain.endswith("ly") or among(word, "en", "frequencies") or word.plain in lexicon.adjectives()
    return not says_how and before in pair.shared and f"{before.text} {word.text}" in sentence.text


def _may_still(mark: Word, word: Word) -> bool:
    """Whether who quits or declines something may do this with it: test it, dislike it; hardly: use it, drink it."""
    if not (is_chinese(mark) and is_verb_or_light(mark) and is_chinese(word) and is_verb_or_light(word)):
        return False
    uses = len(word.text) == 1 or any(among(word, "zh", name) for name in ("frequencies", "light"))
    return not uses or "接受" in lexicon.excluded(mark.stem)


def _not_all(sentence: Sentence) -> bool:
    """Whether only all of something is denied, which leaves some."""
    return any(denies(a) and b.key in _ALL for a, b in pairwise(w for w in sentence.words if w.kind != FILLER))


_ALL = frozenset("all every each everyone everybody everything always both 所有 全部 都 全 每 每个 总是 总".split())


def _is_placed(sentence: Sentence, word: Word) -> bool:
    """Whether a word stands behind a preposition: at work."""
    at = sentence.words.index(word)
    return not is_chinese(word) and at > 0 and sentence.words[at - 1].kind == PREPOSITION


def _acts(word: Word) -> bool:
    return not is_chinese(word) and is_verb_or_light(word) and cost(word) > 0


def _in_parts(word: Word, sentence: Sentence) -> bool:
    """Whether a clause has the verb and the object of a Chinese word apart: `开车` in `开货车`."""
    if len(word.text) != 2 or not is_chinese(word) or class_of(word.text[0]) != "v":
        return False
    texts = [each.text for each in sentence.words]
    return word.text[0] in texts and any(text.endswith(word.text[1]) for text in texts)


_PARTICLES = frozenset("down out off right back over away last same".split())


def _says_enough(pair: Pair, in_parts: Words, more: int) -> bool:
    """Whether the sentences share so much that they are about one thing: a verb of one character says little."""
    shared = [
        word for word in (*pair.shared, *in_parts) if word.kind in (WORD, NAME, QUANTITY) and not says_little(word)
    ]
    weight = sum(
        0.5 if is_chinese(word) and class_of(word.stem) == "v" and len(word.stem) == 1 else 1.0 for word in shared
    )
    persons = {subject.person(pair.one), subject.person(pair.other)}
    weight += len(persons) == 1 and persons != {""}
    tells = any(is_chinese(word) or (len(word.text) > 2 and word.plain not in _PARTICLES) for word in shared)
    return tells and weight >= (1.5 if more else 1)


def _before(pair: Pair, denying: Sentence, claiming: Sentence) -> bool:
    """Whether what is claimed was once, and what is denied is now."""
    if pair.one.language == "zh":
        once = any(word.text == "过" for word in claiming.words)
        return once and not any(word.text in ("过", "从没", "从未", "没", "没有") for word in denying.words)
    ever = any(word.text.lower() in _EVER for word in denying.words)
    past = _past(pair.one), _past(pair.other)
    until_now = re.search(r"\b(?:has|have|['’]ve)(?:n['’]t| not| never)\b(?! an?\b| any\b)", denying.text) is not None
    return past[0] != past[1] and not (ever or until_now)


def _past(sentence: Sentence) -> bool:
    """Whether a sentence tells of the past, as far as the form of its first verb says."""
    if re.match(r".{0,60}?\b(?:had|was|were)\b(?! better)", sentence.text):
        return True
    verb = next((word for word in sentence.words if not word.subject and word.kind == WORD), None)
    return verb is not None and verb.mark == "ed" and verb.text.lower() not in lexicon.words("en", "participles")
