"""Pairs of facts that cannot both be true, as far as their words tell. Rules only; nothing is decided here.

Two statements contradict each other where they agree in whom and what they are about and differ in one thing: a
quantity, the value of something of which there is one, or yes and no. Whatever else differs makes them two facts, not
a contradiction: precision comes first, because a person reads every pair.

Statements meet only if they share a telling word (a block), so the work grows with the number of memories.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from heapq import nsmallest
from itertools import combinations, islice
from math import ceil

from memctl.conflicts import lexicon
from memctl.conflicts.relations import Relation, contrary, relations
from memctl.conflicts.statements import FACT, PLAN, Statement, statements
from memctl.core import kinds
from memctl.core.models import ACTIVE, CANDIDATE, Memory
from memctl.judgement.quantities import Value

VALUE, POLARITY, CANDIDATE_KIND, KEY = KINDS = ("value", "polarity", "candidate", "key")

SAME_FRAME = 0.6
"""Share of the words of the shorter statement that must be in the other for their quantities to be compared."""

BLOCK = 40
"""Statements that share a word are compared while there are at most so many; beyond, the word tells nothing."""

MOST_COMMON = 8
"""How many common words of a statement are joined by two."""

RAREST = 4
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


def find(memories: Iterable[Memory], now: datetime, names: Iterable[str] = ()) -> list[Contradiction]:
    """All contradictions: waiting candidates first, then by score.

    Args:
        names: what the one whose memories these are is called; a name that most memories begin with is found alone.
    """
    known = [memory for memory in memories if memory.expires_at is None or memory.expires_at > now]
    best: dict[frozenset[str], Contradiction] = {}
    for found in (*_waiting(known), *_keyed(known), *_free(known, names)):
        pair = frozenset(found.ids)
        if len(pair) == 2 and (pair not in best or _surer(found) > _surer(best[pair])):
            best[pair] = found
    return sorted(best.values(), key=lambda f: (f.kind != CANDIDATE_KIND, -f.score, f.ids))


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


def _keyed(memories: Sequence[Memory]) -> Iterator[Contradiction]:
    """Two active values of one key, which only an edit by hand can bring about."""
    groups = defaultdict(list)
    for memory in memories:
        if memory.key and memory.status == ACTIVE:
            groups[memory.category, memory.key].append(memory)
    for group in groups.values():
        for one, other in combinations(group[-BLOCK:], 2):
            if one.value != other.value and not settled(one, other) and _at_one_time(one, other):
                yield _pair(one, other, KEY, 1.0, _values(one, other))


# Free text


def _free(memories: Sequence[Memory], names: Iterable[str]) -> Iterator[Contradiction]:
    facts = [m for m in memories if kinds.kind(m.kind).contradicts and m.status == ACTIVE and not m.superseded_by]
    known = aliases(facts, names)
    said = [s for at, memory in enumerate(facts) for s in statements(at, memory.content, known)]
    for one, other, kind, score, evidence in (
        *_opposed(said),
        *_happened(said, facts),
        *_quantified(said),
        *_related(said, known),
    ):
        a, b = facts[one], facts[other]
        if a.content != b.content and not settled(a, b) and _at_one_time(a, b):
            yield _pair(a, b, kind, score, evidence if age_order(a) <= age_order(b) else _turned(evidence))


_Finding = tuple[int, int, str, float, tuple[str, ...]]


def _turned(evidence: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ≠ ".join(reversed(line.split(" ≠ "))) for line in evidence)


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


def _at_one_time(one: Memory, other: Memory) -> bool:
    """Whether there may be a moment at which both hold."""
    ended = (one.valid_to and other.valid_from and one.valid_to <= other.valid_from) or (
        other.valid_to and one.valid_from and other.valid_to <= one.valid_from
    )
    return not ended


# Yes and no


def _opposed(said: Sequence[Statement]) -> Iterator[_Finding]:
    """Each denied statement meets the affirmed ones that hold its rarest word."""
    usable = [s for s in said if s.mood == FACT and s.whole and s.core - lexicon.EVALUATIONS]
    affirmed, denied = [s for s in usable if s.sign > 0], [s for s in usable if s.sign < 0]
    holding = _blocks(affirmed, lambda s: s.core)
    for no in denied:
        yes = _rarest(holding, no.core)
        for other in yes:
            if score := _denies(no, other):
                both = _shown(no.core & other.core, other)
                marks = tuple(" ".join(s.marks) or "—" for s in (no, other))
                evidence = (f"same: {both}", f"{no.text} ≠ {other.text}" if marks[0] == marks[1] else " ≠ ".join(marks))
                yield no.source, other.source, POLARITY, score, evidence


def _denies(no: Statement, yes: Statement) -> float:
    """How surely one statement denies the other, in [0, 1].

    What holds under a limit ("not after noon") is denied only by what holds under the same limit; what never holds is
    denied by what holds under any.
    """
    if no.source == yes.source or not no.limits <= yes.limits:
        return 0.0
    if bool(no.dimensions) != bool(yes.dimensions) or (no.dimensions and not no.dimensions & yes.dimensions):
        return 0.0
    if no.core != yes.core and not _narrower(yes, no):
        return 0.0
    return 0.9 - 0.1 * (no.limits != yes.limits) - 0.15 * (no.core != yes.core)


def _narrower(yes: Statement, no: Statement) -> bool:
    """Whether a statement speaks of one kind of what the other speaks of: fluent Spanish, Spanish."""
    extra = yes.core - no.core
    if not no.core < yes.core or len(extra) != 1 or extra & yes.names:
        return False
    word = next(iter(extra))
    if word not in yes.words or not word.isascii() or yes.words[-1] not in no.core:
        return False
    at = yes.words.index(word)
    return at > 0 and at + 1 < len(yes.words) and yes.words[at + 1] in no.core


def _happened(said: Sequence[Statement], facts: Sequence[Memory]) -> Iterator[_Finding]:
    """What is said never to have happened, against what was told before to have happened."""
    affirmed = [s for s in said if not s.asked and s.mood != PLAN and s.sign > 0]
    holding = _blocks(affirmed, lambda s: s.words)
    for no in said:
        if no.sign > 0 or no.asked or not lexicon.NEVER_YET.search(no.text):
            continue
        for yes in _rarest(holding, frozenset(no.words)):
            earlier = age_order(facts[yes.source]) < age_order(facts[no.source])
            if earlier and _covers(yes, no):
                evidence = (f"same: {_shown(no.core & set(yes.words), no)}", f"never ≠ {yes.text}")
                yield no.source, yes.source, POLARITY, 0.7, evidence


def _covers(yes: Statement, no: Statement) -> bool:
    """Whether what happened is all that is denied: its words, and one of the words that limit it."""
    told = set(yes.words)
    enough = len(no.core) >= 2 if no.core and min(no.core).isascii() else len(no.core) >= 3
    return enough and no.core <= told and (not no.limits or bool(no.limits & told))


# Quantities


def _quantified(said: Sequence[Statement]) -> Iterator[_Finding]:
    """Each statement with a quantity meets those that share one of its rarest words.

    Two statements of one frame share `SAME_FRAME` of the shorter one's words, so they share one of its rarest others.
    """
    usable = [s for s in said if s.mood in (FACT, PLAN) and s.quantities and s.words]
    blocks = _blocks(usable, _slots)
    for one in usable:
        near = {id(other): other for key in _telling(one, blocks) for other in blocks[key]}
        for other in near.values():
            if one.source != other.source and _alike(one, other):
                yield from _compared(one, other)


def _slots(statement: Statement) -> Iterator[str]:
    """Words with what kind of quantity they stand beside."""
    return (f"{group}\0{term}" for group in statement.groups for term in statement.terms)


def _telling(statement: Statement, blocks: Mapping[str, Sequence[Statement]]) -> list[str]:
    keys = _keys(set(_slots(statement)), blocks)
    enough = min(RAREST, len(keys) - ceil(SAME_FRAME * len(keys)) + 1)
    return nsmallest(enough, keys, key=lambda key: len(blocks[key]))


def _compared(one: Statement, other: Statement) -> Iterator[_Finding]:
    if one.mood != other.mood or one.sign != other.sign:
        return
    differing = list(islice(_differing(one, other), 2))
    if len(differing) != 1:
        return
    group, score = differing[0], _frame(one, other)
    if not score or not _exclusive(one, other, group, score):
        return
    texts = (" ".join(_ordered(s, group)) for s in (one, other))
    evidence = (f"same: {_shown(one.terms & other.terms, one)}", " ≠ ".join(texts))
    yield one.source, other.source, VALUE, 0.4 + 0.5 * score, evidence


def _differing(one: Statement, other: Statement) -> Iterator[str]:
    return (group for group in one.groups if group in other.groups and differ(one, other, group))


def _ordered(statement: Statement, group: str) -> list[str]:
    return [quantity.text for quantity in statement.quantities if quantity.group == group]


def differ(one: Statement, other: Statement, group: str) -> bool:
    """Whether two statements give no value of some type of quantity alike."""
    left, right = one.groups[group], other.groups[group]
    return any(kind in right and _apart(kind, values, right[kind]) for kind, values in left.items())


def _apart(kind: str, one: frozenset[Value], other: frozenset[Value]) -> bool:
    """Whether no value is the same as far as both say; of a date, the year may be missing."""
    if kind != "date":
        return one.isdisjoint(other)
    return not any(all(not a or not b or a == b for a, b in zip(x, y, strict=True)) for x in one for y in other)


def _alike(one: Statement, other: Statement) -> bool:
    return len(one.terms & other.terms) >= SAME_FRAME * min(len(one.terms), len(other.terms))


def _frame(one: Statement, other: Statement) -> float:
    """How much two statements share beside their quantities; 0 where something else tells them apart."""
    left, right = one.terms, other.terms
    shared = left & right
    if len(shared) < 2 and left != right:
        return 0.0
    if (one.names ^ other.names) and (one.names - set(other.words) or other.names - set(one.words)):
        return 0.0
    return 0.0 if _substituted(one.words, other.words) else len(shared) / len(left | right)


def _substituted(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a word is in the place of another between shared ones: "staging server", "production server"."""
    moves = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return any(move == "replace" for move, *_ in moves)


def _exclusive(one: Statement, other: Statement, group: str, score: float) -> bool:
    """Whether there can be only one value."""
    if group in ("time", "date"):
        text = f"{one.sentence} {other.sentence}".lower()
        return any(_holds(text, word) for word in lexicon.EVENTS | lexicon.THINGS_OF_ONE)
    if group == "number of ":
        return one.terms == other.terms
    return True


def _holds(text: str, word: str) -> bool:
    return bool(re.search(rf"\b{word}s?\b", text)) if word.isascii() else word in text


# Things of which there is one


def _related(said: Sequence[Statement], known: frozenset[str]) -> Iterator[_Finding]:
    groups: dict[tuple[str, frozenset[str]], list[tuple[Statement, Relation]]] = defaultdict(list)
    for statement in said:
        for relation in relations(statement, known):
            groups[relation.name, relation.owner].append((statement, relation))
    for group in groups.values():
        for (one, a), (other, b) in combinations(group[-BLOCK:], 2):
            if one.source != other.source and one.mood == other.mood and contrary(a, b):
                owner = " ".join(sorted(a.owner)) or "(user)"
                yield one.source, other.source, VALUE, 0.9, (f"same: {owner} {a.shown}", f"{a.text} ≠ {b.text}")


# Blocks


def _blocks(said: Sequence[Statement], words: Callable[[Statement], Iterable[str]]) -> dict[str, list[Statement]]:
    """Statements by word; a word too many share is joined with the next, and left out where that does not help."""
    single = _grouped((word, s) for s in said for word in set(words(s)))
    small = {word: group for word, group in single.items() if len(group) <= BLOCK}
    common = {word for word, group in single.items() if len(group) > BLOCK}
    double = _grouped(
        (f"{a}\1{b}", s) for s in said for a, b in combinations(sorted(common.intersection(words(s)))[:MOST_COMMON], 2)
    )
    return small | {word: group for word, group in double.items() if len(group) <= BLOCK}


def _grouped(pairs: Iterable[tuple[str, Statement]]) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = defaultdict(list)
    for word, statement in pairs:
        found[word].append(statement)
    return found


def _rarest(holding: Mapping[str, Sequence[Statement]], words: frozenset[str]) -> Sequence[Statement]:
    return min((holding[key] for key in _keys(words, holding)), key=len, default=[])


def _keys(words: Iterable[str], blocks: Mapping[str, Sequence[Statement]]) -> list[str]:
    """The blocks of some words, alone and by two."""
    wanted = sorted(words)
    single = [word for word in wanted if word in blocks]
    common = [word for word in wanted if word not in blocks][:MOST_COMMON]
    return single + [key for a, b in combinations(common, 2) if (key := f"{a}\1{b}") in blocks]


def _shown(words: Iterable[str], one: Statement) -> str:
    """Shared words and quantities as a statement writes them; Chinese characters in a row."""
    shared = set(words)
    chinese = "".join(term for term in shared if not term.isascii())
    listed = [word for word in one.words if word in shared or (not word.isascii() and word in chinese)]
    listed += sorted(shared & one.shown.keys() - set(one.words))
    written = list(dict.fromkeys(one.shown.get(word, word) for word in listed))
    joint = "" if sum(not word.isascii() for word in written) * 2 > len(written) else ", "
    return joint.join(written) or ", ".join(sorted(shared))
