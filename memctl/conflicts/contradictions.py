"""Pairs of facts that cannot both be true, as far as their words tell. Rules only; nothing is decided here.

`memctl.judgement` says whether two claims exclude each other. Claims meet only if they share a telling word (a block),
so the work grows with the number of memories.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from itertools import combinations

from memctl.core import kinds
from memctl.core.models import ACTIVE, CANDIDATE, Memory
from memctl.core.text.language import has_chinese
from memctl.judgement import lexicon
from memctl.judgement.alignment import POLARITY, VALUE, Clash
from memctl.judgement.claims import claims
from memctl.judgement.contradiction import clash
from memctl.judgement.looking import Bits, Looking, Points, masks, meeting, points
from memctl.judgement.relations import counted_noun
from memctl.judgement.subject import person
from memctl.judgement.wording import NAME, WORD, Sentence

CANDIDATE_KIND, KEY = "candidate", "key"
KINDS = (VALUE, POLARITY, CANDIDATE_KIND, KEY)

BLOCK = 40
"""Statements that share a word are compared while there are at most so many; beyond, the word tells nothing."""

MOST_COMMON = 8
"""How many common words of a statement are joined by two."""

RAREST = 3
"""At how many of its rarest words a statement with a quantity looks for others."""

COMPATIBLE = "compatible_with"
"""Name in `metadata` of the list of ids a person said are true beside this one."""


@dataclass(frozen=True)
class Contradiction:
    """Two memories of which one may be wrong, the older first.

    Args:
        kind: `value` (one thing with two values), `polarity` (yes and no), `candidate` (an extracted fact that waits to
            be confirmed), `key` (two active facts with one key).
        score: in [0, 1]; how much the two have in common.
        evidence: what they agree in and where they differ.
    """

    first: Memory
    second: Memory
    kind: str
    score: float
    evidence: tuple[str, ...]

    @property
    def ids(self) -> tuple[str, str]:
        return self.first.memory_id, self.second.memory_id


_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|i'm|i've)\b|[我俺咱]", re.IGNORECASE)


def shared(memories: Iterable[Memory], names: Sequence[str]) -> list[Memory]:
    """Of the memories of several users the facts about what they share: nothing that one says of himself.

    Args:
        names: what the users are called.
    """
    own = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE)
    return [
        memory
        for memory in memories
        if memory.kind == kinds.FACT
        and not _FIRST_PERSON.search(memory.content)
        and not own.match(memory.content.strip())
    ]


def may_conflict(memory: Memory) -> bool:
    """Whether a memory says something that another may contradict, or names one; a large store has many others."""
    return bool(_is_fact(memory) or memory.key or memory.conflicts_with)


def find(memories: Iterable[Memory], now: datetime, names: Iterable[str] = ()) -> list[Contradiction]:
    """All contradictions: waiting candidates first, then by score.

    Args:
        names: what the one whose memories these are is called; a name that most memories begin with is found alone.
    """
    known = _living(memories, now)
    best: dict[frozenset[str], Contradiction] = {}
    for found in (*_waiting(known), *keyed(known, now), *_free(known, names)):
        pair = frozenset(found.ids)
        if len(pair) == 2 and (pair not in best or _surer(found) > _surer(best[pair])):
            best[pair] = found
    return sorted(best.values(), key=lambda f: (f.kind != CANDIDATE_KIND, -f.score, f.ids))


def in_texts(memories: Iterable[Memory]) -> list[Contradiction]:
    """Contradictions in what memories say, whatever their kind."""
    return list(_compared(list(memories), ()))


def _surer(found: Contradiction) -> tuple[float, str, tuple[str, ...]]:
    """What makes one finding about a pair better than another, so that the order of the memories says nothing."""
    return found.score, found.kind, found.evidence


def _pair(one: Memory, other: Memory, kind: str, score: float, evidence: Sequence[str]) -> Contradiction:
    first, second = sorted((one, other), key=age_order)
    return Contradiction(first, second, kind, round(score, 3), tuple(evidence))


def age_order(memory: Memory) -> tuple[float, str]:
    """The older first; what has no date is oldest."""
    return (memory.when.timestamp() if memory.when else float("-inf"), memory.memory_id)


# Facts with a key


def _waiting(memories: Sequence[Memory]) -> Iterator[Contradiction]:
    """What says of itself that it is in conflict."""
    by_id = {memory.memory_id: memory for memory in memories if memory.status in (ACTIVE, CANDIDATE)}
    for memory in by_id.values():
        for other in filter(None, map(by_id.get, memory.conflicts_with)):
            if not settled(memory, other):
                yield _pair(memory, other, CANDIDATE_KIND, 1.0, _values(memory, other))


def _values(*pair: Memory) -> tuple[str, ...]:
    """Evidence of two facts with a key, in the order of their age."""
    one, other = sorted(pair, key=age_order)
    if one.key and one.key == other.key:
        return (f"same key: {one.key}", f"{one.value} ≠ {other.value}")
    return ("one names the other in conflicts_with",)


def keyed(memories: Iterable[Memory], now: datetime) -> Iterator[Contradiction]:
    """Two active values of one key, which an edit by hand or a merge can bring about."""
    groups = defaultdict(list)
    for memory in _living(memories, now):
        if memory.key and memory.status == ACTIVE:
            groups[memory.category, memory.key].append(memory)
    for group in groups.values():
        for one, other in combinations(group[-BLOCK:], 2):
            if one.value != other.value and not settled(one, other) and at_one_time(one, other):
                yield _pair(one, other, KEY, 1.0, _values(one, other))


# Free text


@dataclass(frozen=True, slots=True)
class _Said:
    """A claim of a memory, and the words by which it meets others, in order."""

    memory: Memory
    points: Points
    keys: tuple[str, ...]


def _free(memories: Sequence[Memory], names: Iterable[str]) -> Iterator[Contradiction]:
    return _compared(list(filter(_is_fact, memories)), names)


def facts(memories: Iterable[Memory], now: datetime) -> list[Memory]:
    """The memories of which two can contradict each other."""
    return list(filter(_is_fact, _living(memories, now)))


def _living(memories: Iterable[Memory], now: datetime) -> list[Memory]:
    return [memory for memory in memories if memory.expires_at is None or memory.expires_at > now]


def _is_fact(memory: Memory) -> bool:
    return kinds.kind(memory.kind).contradicts and memory.status == ACTIVE and not memory.superseded_by


def _compared(facts: Sequence[Memory], names: Iterable[str]) -> Iterator[Contradiction]:
    return _clashing(_near(_met_by_words(_claims(facts, aliases(facts, names)))))


def of_one(memory: Memory, others: Iterable[Memory], names: Iterable[str]) -> Iterator[Contradiction]:
    """What one memory contradicts of some others, which are compared with it alone."""
    facts = list(filter(_is_fact, others)) if _is_fact(memory) else []
    known = aliases([memory, *facts], names)
    own = _said(_claims([memory], known))
    bits = [masks(one.points.sentence) for one in own]
    rest = _said((whose, claim) for whose, claim in _claims(facts, known) if _meets_one(masks(claim), bits))
    looking = [(one, Looking(one.points)) for one in own]
    pairs = ((one, other) for one, look in looking for other in rest if look.may_clash(other.points))
    return _clashing(map(_older_first, pairs))


def _meets_one(claim: Bits, others: Iterable[Bits]) -> bool:
    return any(claim[0] & other[1] or other[0] & claim[1] for other in others)


def _claims(memories: Iterable[Memory], known: frozenset[str]) -> Iterator[tuple[Memory, Sentence]]:
    return ((memory, claim) for memory in memories for claim in claims(memory.content, known))


def _said(claimed: Iterable[tuple[Memory, Sentence]]) -> list[_Said]:
    return [_Said(memory, points(claim), ()) for memory, claim in claimed]


def _met_by_words(claimed: Iterable[tuple[Memory, Sentence]]) -> list[_Said]:
    return [_Said(memory, points(claim), tuple(sorted(_content(claim)))) for memory, claim in claimed]


def _clashing(pairs: Iterable[tuple[_Said, _Said]]) -> Iterator[Contradiction]:
    for one, other in pairs:
        if one.memory.content == other.memory.content:
            continue
        found = clash(one.points.sentence, other.points.sentence)
        if found and not settled(one.memory, other.memory) and at_one_time(one.memory, other.memory):
            yield _pair(one.memory, other.memory, found.kind, _score(found), _evidence(found))


def _older_first(pair: tuple[_Said, _Said]) -> tuple[_Said, _Said]:
    one, other = pair
    return pair if age_order(one.memory) <= age_order(other.memory) else (other, one)


def _content(claim: Sentence) -> frozenset[str]:
    words = [word for word in claim.words if word.kind in (WORD, NAME)]
    named = [*(word.stem for word in words), *filter(None, map(counted_noun, claim.words))]
    kinds_of = (kind for name in named for kind in lexicon.kinds().get(name, ()))
    own = meeting(claim) if claim.language == "zh" else frozenset((*named, *(word.key for word in words)))
    keys = own.union(kinds_of)
    return keys | _opposed(word.stem for word in words) | _measured(claim) if person(claim) else keys


def _measured(claim: Sentence) -> frozenset[str]:
    """Keys for what is an amount of: "I am 1.78 m" and "I'm 1.83 m" share no word."""
    return frozenset(f"\0{word.quantity.type}" for word in claim.words if word.quantity)


def _opposed(stems: Iterable[str]) -> frozenset[str]:
    """One key for two words that exclude each other: "I am married" and "I am single" share no other."""
    return frozenset("\0".join(sorted((stem, other))) for stem in stems for other in lexicon.excluded(stem))


def opposites(text: str) -> list[str]:
    """Terms of what contradicts a text although it shares no word with it: of "I am single", what "married" gives."""
    short = (claim for claim in claims(text) if person(claim))
    return sorted({other for claim in short for word in claim.words for other in lexicon.excluded(word.stem)})


def _score(found: Clash) -> float:
    return 0.9 - 0.15 * found.cost


def _evidence(found: Clash) -> tuple[str, ...]:
    """What the two agree in, and where they differ."""
    chinese = any(has_chinese(word.text) for word in found.shared)
    same = ("" if chinese else ", ").join(word.text for word in found.shared)
    one, other = (
        ("" if chinese else " ").join(word.text for word in words) or "—" for words in (found.one, found.other)
    )
    return (*((f"same: {same}",) if same else ()), f"{one} ≠ {other}")


def aliases(memories: Sequence[Memory], names: Iterable[str]) -> frozenset[str]:
    """The given names, and the one that at least a fifth of the memories begin with."""
    heads: Counter[str] = Counter()
    for memory in memories:
        if match := re.match(r"([A-Z][a-z]+)\b|([\u4e00-\u9fff]{2})", memory.content):
            heads[match[0].lower()] += 1
    often = {head for head, n in heads.items() if n >= 5 and n * 5 >= len(memories) and head not in _NO_NAMES}
    return frozenset(name.lower() for name in names if name) | often


_NO_NAMES = frozenset("the a an in on at she he it they we my her his no when for our this that if there".split())


def settled(one: Memory, other: Memory) -> bool:
    """Whether a person, or the records themselves, say how the two stand to each other."""
    for memory, rival in ((one, other), (other, one)):
        noted = memory.metadata.get(COMPATIBLE)
        if isinstance(noted, list | tuple) and rival.memory_id in noted:
            return True
        if rival.memory_id in (*memory.supersedes, *memory.sources, memory.superseded_by):
            return True
    return False


def at_one_time(one: Memory, other: Memory) -> bool:
    """Whether there may be a moment at which both hold."""
    ended = (one.valid_to and other.valid_from and one.valid_to <= other.valid_from) or (
        other.valid_to and one.valid_from and other.valid_to <= one.valid_from
    )
    return not ended


# Blocks


def _near(said: Sequence[_Said]) -> Iterator[tuple[_Said, _Said]]:
    """Claims that share one of their rarest words, each pair once, the older memory's first."""
    blocks = _blocks(said)
    rarest: list[list[str]] = []
    subjects, words = zip(*(masks(each.points.sentence) for each in said), strict=True) if said else ((), ())
    for number, one in enumerate(said):
        keys = _keys(one.keys, blocks)
        rarest.append(nsmallest(RAREST, keys, key=lambda key: (len(blocks[key]), key)))
        subject, mine = subjects[number], words[number]
        places = (at for key in rarest[number] for at in blocks[key])
        near = [at for at in places if subjects[at] & mine or subject & words[at]]
        own, look = frozenset(keys), Looking(one.points)
        for at in dict.fromkeys(near):
            if at < number and not own.isdisjoint(rarest[at]):
                continue  # they have met
            other = said[at]
            if one.memory is not other.memory and look.may_clash(other.points):
                yield _older_first((one, other))


def _blocks(said: Sequence[_Said]) -> dict[str, list[int]]:
    """Places of claims by word; a word too many share is joined with the next, and left out if that does not help."""
    counts = Counter(word for each in said for word in each.keys)
    single = _grouped((word, at) for at, each in enumerate(said) for word in each.keys if 1 < counts[word] <= BLOCK)
    common = {word for word, count in counts.items() if count > BLOCK}
    double = _grouped(
        (f"{a}\1{b}", at)
        for at, each in enumerate(said)
        for a, b in combinations([word for word in each.keys if word in common][:MOST_COMMON], 2)
    )
    return {key: group for key, group in (single | double).items() if 1 < len(group) <= BLOCK}


def _grouped(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for word, at in pairs:
        found[word].append(at)
    return found


def _keys(words: Sequence[str], blocks: Mapping[str, Sequence[int]]) -> list[str]:
    """The blocks of some words, alone and by two."""
    single = [word for word in words if word in blocks]
    common = [word for word in words if word not in blocks][:MOST_COMMON]
    return single + [key for a, b in combinations(common, 2) if (key := f"{a}\1{b}") in blocks]
