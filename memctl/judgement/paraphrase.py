"""Whether two sentences say the same in other words: word by word, each near its partner, and nothing else differs.

What must be equal is compared first: negation, modals, quantities, names, tense, limits. The content words that are
left must be pairs of near words, in the same order, but for a few constructions that change it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, groupby

from memctl.judgement import lexicon
from memctl.judgement.amounts import is_length
from memctl.judgement.framing import Frame, amount, frame, person, persons_agree
from memctl.judgement.nearness import has_near, is_adverb, near
from memctl.judgement.quantities import BARE
from memctl.judgement.segmentation import says_when
from memctl.judgement.word_class import is_chinese, is_verb_form
from memctl.judgement.wording import CONJUNCTION, LONGEST, NAME, PRONOUN, QUANTITY, TIMES, WORD, Sentence, Word

MOST = 24
"""Content words of a sentence: a longer one is compared strictly."""

SHORT, BEGINNING = 5, 4
"""A longer word may be made of two, and begins like the first of them."""


def alike(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences of one language say the same, in words that are near each other."""
    if one.language != other.language or max(len(one.text), len(other.text)) > LONGEST:
        return False
    a, b = frame(one.text), frame(other.text)
    if a.hard != b.hard or not _at_one_time(a, b) or max(len(a.words), len(b.words)) > MOST or not persons_agree(a, b):
        return False
    if has_one_alone(a, b) or has_one_alone(b, a):
        return False
    pairs, left, right = paired(a, b)
    if not pairs or not (says_nothing(a, left, b) and says_nothing(b, right, a)):
        return False
    if not all(_of_one_owner(a.owners[m], b.owners[n]) for m, n in pairs):
        return False
    if not (_add_nothing(a, left, b, right) and in_order(a, b, pairs)):
        return False
    return not (_worded_alike(a, b, pairs) and _differ_on_purpose(a, b, pairs, left, right))


def _worded_alike(one: Frame, other: Frame, pairs: Pairs) -> bool:
    """Whether what two sentences share is word for word the same, in one order."""
    return _same_order(pairs) and all(_forms(one.words[a]) == _forms(other.words[b]) for a, b in pairs)


def _differ_on_purpose(one: Frame, other: Frame, pairs: Pairs, left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether sentences that are worded alike differ in a small word: is and has, in and on, call Mike and call me
    Mike."""
    alone = [*(one.words[at] for at in left), *(other.words[at] for at in right)]
    if any(word.plain in ("me", "us") for word in alone):
        return True
    before = [{one.before[a], other.before[b]} for a, b in pairs if one.words[a].kind == WORD]
    if any(each == {"in", "on"} for each in before):
        return True
    has, other_has = (_HAS.search(each.sentence.text) is not None for each in (one, other))
    return has != other_has and _COPULA.search((other if has else one).sentence.text) is not None


_COPULA = re.compile(r"\b(?:is|are|am|was|were)\b|['’](?:s|m|re) ")
_HAS = re.compile(r"\b(?:has|have|had) (?!(?:not |never |just |already )?(?:been|got|to|\w+ed|\w+en)\b)")


def _forms(word: Word) -> tuple[str, str]:
    return word.key, word.mark


def _of_one_owner(one: str, other: str) -> bool:
    """Whether two things may be of the same person, so far as it is said: his dog may be Tom's."""
    if one == other or "" in (one, other):
        return True
    return {one, other}.isdisjoint(("user", "you")) and not {one, other}.isdisjoint(("he", "she", "they", "it"))


def _at_one_time(one: Frame, other: Frame) -> bool:
    """Whether the tenses agree: "it is written in Go" may follow from "we wrote it in Go"."""
    tenses = {one.past, other.past}
    done = "done" in tenses and ("past" not in tenses or one.passive != other.passive)
    return len(tenses) == 1 or "open" in tenses or done


def blocks(sentence: Sentence) -> frozenset[str]:
    """Sentences that are alike share one of these."""
    framed = frame(sentence.text)
    hard = " ".join(sorted(framed.hard.elements()))
    words = (amount(word.quantity) if word.quantity else word.stem for word in framed.words if word.kind != PRONOUN)
    return frozenset(f"{hard}\1{word}" for word in words)


# Partners


def has_one_alone(one: Frame, other: Frame) -> bool:
    """Whether a word certainly has no partner and tells something: most sentences have one, and to look is cheap."""
    keys = {word.key for word in other.words}
    others = (*other.words, *other.light)
    return any(
        word.key not in keys and not _may_stand_alone(word) and not may_have_partner(word, others) for word in one.words
    )


def _may_stand_alone(word: Word) -> bool:
    """Whether `says_nothing` may let it pass."""
    return is_generic(word) or word.key == "they" or word.plain in _LASTS


def may_have_partner(word: Word, others: Sequence[Word]) -> bool:
    """Whether another word is near this one, or may be a part of it, or it of that: a sailboat, a sailing boat."""
    for each in others:  # noqa: SIM110 - asked a million times; any() takes half as long again
        if _may_be_partners(word, each):
            return True
    return False


@lru_cache(65_536)
def _may_be_partners(one: Word, other: Word) -> bool:
    text, each = one.plain, other.plain
    if (is_chinese(one) or has_near(text, one.mark)) and near(one, other):
        return True
    return _may_be_part(text, each) or _may_be_part(each, text)


def _may_be_part(part: str, whole: str) -> bool:
    return len(whole) > SHORT and (whole.startswith(part[:BEGINNING]) or whole.endswith(part))


Pairs = list[tuple[int, int]]


def paired(one: Frame, other: Frame, *, in_number: bool = True) -> tuple[Pairs, list[int], list[int]]:
    """The positions of words that are near each other, and those that only one has.

    Args:
        in_number: whether one thing and several are two; they are one where both speak of all or each.
    """
    left, right, pairs = list(range(len(one.words))), list(range(len(other.words))), list[tuple[int, int]]()
    of_each = all(any(word.stem in _ALL for word in each.sentence.words) for each in (one, other))
    in_number = in_number and not of_each
    for relation in (_equal, near, _of_one_amount, _alike_in_number):
        for at in list(left):
            for_all = relation is not _alike_in_number or not in_number
            twin = next(
                (
                    n
                    for n in right
                    if relation(one.words[at], other.words[n])
                    and (for_all or _modifies(one, at) or _modifies(other, n))
                ),
                None,
            )
            if twin is not None:
                left.remove(at)
                right.remove(twin)
                pairs.append((at, twin))
    _compounds(one, other, left, right, pairs)
    _compounds(other, one, right, left, pairs, turned=True)
    return sorted(pairs), left, right


def _equal(one: Word, other: Word) -> bool:
    if one.key != other.key:
        return False
    return {one.mark, other.mark} != {"", "s"} or is_verb_form(one) or is_verb_form(other)


def _of_one_amount(one: Word, other: Word) -> bool:
    """Seven people are seven members."""
    if one.quantity is None or other.quantity is None or not one.quantity.type.startswith(BARE):
        return False
    return amount(one.quantity) == amount(other.quantity)


_ALL = frozenset(map(lexicon.stem, "all every each".split()))


def _alike_in_number(one: Word, other: Word) -> bool:
    """All commits are each commit."""
    return one.key == other.key and {one.mark, other.mark} == {"", "s"}


def _modifies(side: Frame, at: int) -> bool:
    """Whether a noun stands before one that only names what an amount is of: it has no number, as in sprint length."""
    after = side.words[at + 1 : at + 2]
    return bool(after) and not side.words[at].mark and is_generic(after[0]) and not side.before[at + 1]


def _compounds(
    one: Frame, other: Frame, left: list[int], right: list[int], pairs: Pairs, *, turned: bool = False
) -> None:
    """One word that is two words in the other: a sailboat, a sailing boat."""
    written = {n: other.words[n].plain for n in right}
    for at in list(left):
        word = one.words[at].plain
        for n in right if len(word) > SHORT else ():
            if n + 1 in right and word.startswith(written[n][:BEGINNING]) and word.endswith(written[n + 1]):
                left.remove(at)
                right[:] = [m for m in right if m not in (n, n + 1)]
                pairs.append((n, at) if turned else (at, n))
                break


def says_nothing(side: Frame, alone: Sequence[int], other: Frame) -> bool:
    """Whether the words that only one sentence has add nothing: nouns for what a number is, or light verbs."""
    words = [side.words[at] for at in alone if not _lasts(side, at)]
    measured = any(word.quantity or any(map(str.isdigit, word.text)) for word in side.words)
    return all(
        (is_generic(word) and (measured or not (word.kind == WORD and word.text.isascii())))
        or (word.key == "they" and other.passive)
        or any(near(word, light) for light in other.light)
        for word in words
    )


def _add_nothing(one: Frame, left: Sequence[int], other: Frame, right: Sequence[int]) -> bool:
    """Whether not both sentences have a word that may be left out: makes and takes, the price and the weight.

    A verb, as in "takes a walk", is left out only beside another: "has a dog" is not "takes a dog".
    """
    small = _small_alone(one, other), _small_alone(other, one)
    words = [
        [at for at in alone if side.words[at].kind == WORD and not _lasts(side, at)]
        for side, alone in ((one, left), (other, right))
    ]
    if all(small) or all(words):
        return False
    sides = zip(small, (other, one), strict=True)
    return all(any(map(is_verb_form, side.words)) or not any(map(is_verb_form, alone)) for alone, side in sides)


def _small_alone(side: Frame, other: Frame) -> list[Word]:
    """The words that say little, but something, and have no partner in another sentence."""
    empty = lexicon.words("en", "empty") | lexicon.words("zh", "empty")
    others = (*other.light, *other.words)
    return [
        word
        for word in side.light
        if word.plain not in empty and not any(word.stem == each.stem or near(word, each) for each in others)
    ]


def _lasts(side: Frame, at: int) -> bool:
    """Whether a word is the verb of a length of time: it lasts two years, its length is two years."""
    after = side.words[at + 1 : at + 2]
    return bool(after) and is_length(after[0]) and side.words[at].plain in _LASTS


_LASTS = frozenset("last lasts lasted".split())


def is_generic(word: Word) -> bool:
    if word.kind != WORD:
        return word.key in ("user", "you")
    return word.plain in lexicon.words("en", "generic") or word.text in lexicon.words("zh", "generic")


# Order


def in_order(one: Frame, other: Frame, pairs: Pairs) -> bool:
    if any(word.key in ("than", "比", "over") for word in (*one.sentence.words, *other.sentence.words)):
        named = [[word.key for word in each.words if word.kind != PRONOUN] for each in (one, other)]
        return _same_order(pairs) and named[0] == named[1]
    if not _governed_alike(one, other, pairs) or (_has_clauses(one) and not _same_order(pairs)):
        return False
    numbers = sum(word.kind == QUANTITY for word in one.words)
    moved = one.sentence.language == "zh" and "open" in (one.past, other.past)
    verbs = 0 if moved else sum(is_verb_form(word) for word in one.words)
    fixed = [
        (a, b)
        for a, b in pairs
        if (numbers > 1 or one.words[a].kind != QUANTITY) and (verbs > 1 or not _acts(one.words[a], other.words[b]))
    ]
    free = _moving(one, other, pairs)
    fixed = [pair for pair in fixed if pair not in free]
    turned = [(p, q) for p, q in combinations(fixed, 2) if (p[0] < q[0]) != (p[1] < q[1])]
    if one.passive != other.passive and not _voices_agree(one, other, turned):
        return False
    return all(_may_turn(one, other, p, q) for p, q in turned)


def _moving(one: Frame, other: Frame, pairs: Pairs) -> set[tuple[int, int]]:
    """Pairs in phrases that may stand anywhere: the only time, or what is behind the only "in", in both sentences."""
    free = set[tuple[int, int]]()
    times = sum(is_time for is_time, _ in groupby(map(_is_time, one.words)))
    for phrase in _phrases(pairs):
        a, b = phrase[0]
        placed = one.before[a] == other.before[b] != "" and _is_placed_once(one, a)
        if placed or (times == 1 and all(_is_time(one.words[at]) for at, _ in phrase)):
            free.update(phrase)
    return free


def _is_placed_once(side: Frame, at: int) -> bool:
    """Whether a preposition stands before one phrase alone, and is not "of", whose noun belongs to the noun before."""
    return side.before[at] != "of" and sum(word.key == side.before[at] for word in side.sentence.words) == 1


def _phrases(pairs: Pairs) -> list[Pairs]:
    """Pairs of words that stand side by side in both sentences."""
    phrases: list[Pairs] = []
    for pair in pairs:
        if phrases and (pair[0] - 1, pair[1] - 1) == phrases[-1][-1]:
            phrases[-1].append(pair)
        else:
            phrases.append([pair])
    return phrases


def _is_time(word: Word) -> bool:
    if word.quantity is not None:
        return word.quantity.type in TIMES
    return says_when(word.text) or word.plain in lexicon.words("en", "frequencies") | lexicon.words("en", "then")


def _has_clauses(side: Frame) -> bool:
    """Whether one clause tells when or why another is so: their words do not change places."""
    loose = lexicon.words("en", "loose_conjunctions")
    return any(
        word.kind == CONJUNCTION and word.text.isascii() and word.key not in loose for word in side.sentence.words
    )


def _acts(word: Word, partner: Word) -> bool:
    return NAME not in (word.kind, partner.kind) and (is_verb_form(word) or is_verb_form(partner))


def _same_order(pairs: Pairs) -> bool:
    return [b for _, b in pairs] == sorted(b for _, b in pairs)


_ALIKE_PREPOSITIONS = (frozenset("in at on".split()), frozenset("of for to".split()), frozenset("在 于 到".split()))


def _governed_alike(one: Frame, other: Frame, pairs: Pairs) -> bool:
    """Whether prepositions before the same word say the same: sold to Tom, sold by Tom."""
    for a, b in pairs:
        mine, theirs = one.before[a], other.before[b]
        if is_length(one.words[a]) and {mine, theirs} - {"", "for"} and mine != theirs:
            return False  # lasts two days, is in two days
        if mine and theirs and mine != theirs and not any({mine, theirs} <= group for group in _ALIKE_PREPOSITIONS):
            return False
        if (
            one.words[a].mark != other.words[b].mark
            and "'s" in (one.words[a].mark, other.words[b].mark)
            and not (mine or theirs)
            and not _does(one, other, a + 1, b + 1, pairs)
            and not _HAS_OR_OF.search((one if other.words[b].mark == "'s" else other).sentence.text)
        ):
            return False
        if bool(mine) != bool(theirs) and {mine, theirs} & {"to", "for"} and _after_motion(one, other, a, b):
            return False
    return True


def _does(one: Frame, other: Frame, a: int, b: int, pairs: Pairs) -> bool:
    """Whether what somebody owns is what he does in the other: Sven's arrival, Sven arrived."""
    return (a, b) in pairs and is_verb_form(one.words[a]) != is_verb_form(other.words[b])


_HAS_OR_OF = re.compile(r"\b(?:has|have|had|owns?|of|belongs?|years old|married)\b|['’]ve\b", re.IGNORECASE)
"""What says who has something, where another sentence has an apostrophe."""


def _after_motion(one: Frame, other: Frame, a: int, b: int) -> bool:
    """Whether a word follows a verb that "for" or "to" turns around: left Paris, left for Paris."""
    words = [one.words[a - 1]] if a else []
    words += [other.words[b - 1]] if b else []
    return any(word.stem in _TURNED_BY_TO for word in words)


_TURNED_BY_TO = frozenset(map(lexicon.stem, "leave leaves left depart departs throw shout".split()))


def _voices_agree(one: Frame, other: Frame, turned: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> bool:
    """Whether, where one is passive, what it is about is not also what acts in the other."""
    passive, active = (one, other) if one.passive else (other, one)
    if any("by" in each.before for each in (one, other)):
        return bool(turned)
    subject = next((word for word in passive.words if not is_verb_form(word)), None)
    first = next((word for word in active.words if not is_verb_form(word)), None)
    acts = any(word.subject and person(word) for word in active.sentence.words)
    return acts or subject is None or first is None or not (_equal(subject, first) and first.subject)


def _may_turn(one: Frame, other: Frame, p: tuple[int, int], q: tuple[int, int]) -> bool:
    """Whether a construction explains that two words stand in another order."""
    if any(word.kind == QUANTITY for word in (one.words[p[0]], one.words[q[0]])):
        return False
    if one.passive != other.passive:
        by = any("by" in (one.before[at], other.before[n]) for at, n in (p, q))
        gives = _gives(one, other) and any({one.before[a], other.before[b]} == {"to", ""} for a, b in (p, q))
        return by or gives or one.sentence.language == "zh" or not any("by" in each.before for each in (one, other))
    if one.sentence.language == "zh":
        return _may_turn_in_chinese(one, other, p, q)
    return any(turns(one, other, p, q) for turns in (_is_compound, _is_dative, _is_quality, _is_mutual))


_MUTUAL = frozenset("married engaged related".split())


def _is_mutual(one: Frame, other: Frame, p: tuple[int, int], q: tuple[int, int]) -> bool:
    """Ivo is married to Dana, Dana is married to Ivo: two, and nothing else."""
    sides = ((one, (p[0], q[0])), (other, (p[1], q[1])))
    return all(
        len(side.words) == 3
        and side.words[1].plain in _MUTUAL
        and [side.before[at] for at in sorted(places)] == ["", "to"]
        for side, places in sides
    )


def _is_quality(one: Frame, other: Frame, p: tuple[int, int], q: tuple[int, int]) -> bool:
    """The car is blue, a blue car: an adjective beside its noun; speaks fluent Farsi, speaks Farsi fluently."""
    qualities = [
        one.words[a].plain in lexicon.adjectives() or is_adverb(one.words[a].plain, other.words[b].plain)
        for a, b in (p, q)
    ]
    return qualities[0] != qualities[1] and abs(p[0] - q[0]) == abs(p[1] - q[1]) == 1


def _is_compound(one: Frame, other: Frame, p: tuple[int, int], q: tuple[int, int]) -> bool:
    """The ferry to Hydra, the Hydra ferry; the roof of the barn, the barn's roof."""
    for frame_, places in ((one, (p[0], q[0])), (other, (p[1], q[1]))):
        first, second = sorted(places)
        rest = other if frame_ is one else one
        there = sorted((p[1], q[1]) if frame_ is one else (p[0], q[0]))
        if (
            second - first <= 2
            and not any(frame_.before[first + 1 : second + 1])
            and rest.before[there[1]] in ("of", "for", "to", "in", "at", "on")
        ):
            return True
    return False


def _is_dative(one: Frame, other: Frame, p: tuple[int, int], q: tuple[int, int]) -> bool:
    """Gave the museum stamps, gave stamps to the museum."""
    acts = any(one.words[a].subject or other.words[b].subject for a, b in (p, q))
    return _gives(one, other) and not acts and any({one.before[a], other.before[b]} == {"to", ""} for a, b in (p, q))


def _gives(one: Frame, other: Frame) -> bool:
    return any(word.stem in lexicon.stems("en", "giving") for word in (*one.words, *other.words))


def _may_turn_in_chinese(one: Frame, other: Frame, p: tuple[int, int], q: tuple[int, int]) -> bool:
    """What is done may stand before or behind the verb; who and what, or two deeds, keep their places."""
    return is_verb_form(one.words[p[0]]) != is_verb_form(one.words[q[0]]) and not _put_two(one, other)


def _put_two(one: Frame, other: Frame) -> bool:
    """Whether 把 has another object in each."""
    put = [
        {word.key for word, before in zip(each.words, each.before, strict=True) if before == "把"}
        for each in (one, other)
    ]
    return bool(put[0] and put[1] and put[0] != put[1])
