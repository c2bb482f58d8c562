"""Pairs of facts that cannot both be true, as far as their words tell. Rules only; nothing is decided here.

`memctl.judgement` says whether two claims exclude each other. Claims meet only if they share a telling word (a block),
so the work grows with the number of memories.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from memctl.core import kinds
from memctl.core.models import ACTIVE, CANDIDATE, Memory
from memctl.core.text.language import has_chinese
from memctl.core.text.terms import terms
from memctl.extraction.correcting import endings_in, is_ended
from memctl.extraction.endings import Ending
from memctl.judgement import lexicon
from memctl.judgement.alignment import POLARITY, VALUE, Clash
from memctl.judgement.claims import claims
from memctl.judgement.contradiction import clash
from memctl.judgement.looking import Bits, Looking, masks, meeting, points
from memctl.judgement.relations import counted_noun
from memctl.judgement.subject import person
from memctl.judgement.wording import NAME, WORD, Sentence

CANDIDATE_KIND, KEY = "candidate", "key"
KINDS = (VALUE, POLARITY, CANDIDATE_KIND, KEY)

BLOCK = 40
"""Statements that share a word are compared while there are at most so many; beyond, the word tells nothing."""

MOST_COMMON = 8
"""How many common words of a statement are joined by two."""

LOOKS = 50_000
"""While there are at most so many looks at two statements that share a word, all of these are compared."""

RAREST = 3
"""At how many of its rarest words, or pairs of common words, a statement looks for others where there are more."""

ENDED = 0.75
"""The score of a memory that says that what the other says has ended."""

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


Get = Callable[[str], Memory | None]
"""Reads a memory by its id."""


@dataclass(frozen=True)
class Search:
    """What a search for contradictions found, and how complete it is.

    Args:
        searched: how many memories were compared.
        partly: of how many of these only some pairs were, because many others share their words or their key.
    """

    pairs: tuple[Contradiction, ...]
    searched: int
    partly: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person is told of pairs that were not compared."""
        which = f"{self.partly:,} of {self.searched:,} facts"
        rest = "were compared only with some of those that share their words; contradictions may be missing"
        return (f"{which} {rest}",) if self.partly else ()


def find(memories: Iterable[Memory], now: datetime, names: Iterable[str] = ()) -> list[Contradiction]:
    """All contradictions: waiting candidates first, then by score.

    Args:
        names: what the one whose memories these are is called; a name that most memories begin with is found alone.
    """
    known = list(memories)
    return list(find_among(known, now, names, _by_id(known).get).pairs)


def find_among(memories: Iterable[Memory], now: datetime, names: Iterable[str], get: Get) -> Search:
    """As `find`, of so many memories that they are not held: of most only the text is kept.

    Args:
        get: reads one of them again, or one that they name.
    """
    whole: list[Memory] = []
    texts: list[_Text] = []
    names = tuple(names)
    for memory in _living(memories, now):
        whole += [memory] if memory.key or memory.conflicts_with else []
        texts += [_text(memory)] if _is_fact(memory) else []
    best: dict[frozenset[str], Contradiction] = {}
    free, partly = _compared(texts, names, get)
    ended = _ended_among(texts, next(iter(names), ""), get)
    for found in (*_waiting(whole, now, get), *keyed(whole, now), *free, *ended):
        pair = frozenset(found.ids)
        if len(pair) == 2 and (pair not in best or _surer(found) > _surer(best[pair])):
            best[pair] = found
    ordered = sorted(best.values(), key=lambda f: (f.kind != CANDIDATE_KIND, -f.score, f.ids))
    partly |= {memory.memory_id for group in _of_one_key(whole) for memory in group[:-BLOCK]}
    searched = {text.memory_id for text in texts}.union(memory.memory_id for memory in whole)
    return Search(tuple(ordered), len(searched), len(partly))


def in_texts(memories: Iterable[Memory]) -> list[Contradiction]:
    """Contradictions in what memories say, whatever their kind."""
    known = list(memories)
    return list(_compared(list(map(_text, known)), (), _by_id(known).get)[0])


def _by_id(memories: Iterable[Memory]) -> dict[str, Memory]:
    return {memory.memory_id: memory for memory in memories}


def _surer(contradiction: Contradiction) -> tuple[float, str, tuple[str, ...]]:
    """What makes one finding about a pair better than another, so that the order of the memories says nothing."""
    return contradiction.score, contradiction.kind, contradiction.evidence


def _pair(one: Memory, other: Memory, kind: str, score: float, evidence: Sequence[str]) -> Contradiction:
    first, second = sorted((one, other), key=age_order)
    return Contradiction(first, second, kind, round(score, 3), tuple(evidence))


def age_order(memory: Memory) -> tuple[float, str]:
    """The older first; what has no date is oldest."""
    return (memory.when.timestamp() if memory.when else float("-inf"), memory.memory_id)


# Facts with a key


def _waiting(memories: Iterable[Memory], now: datetime, get: Get) -> Iterator[Contradiction]:
    """What says of itself that it is in conflict."""
    for memory in filter(_is_open, memories):
        others = _living(filter(None, map(get, memory.conflicts_with)), now)
        for other in filter(_is_open, others):
            if not settled(memory, other):
                yield _pair(memory, other, CANDIDATE_KIND, 1.0, _values(memory, other))


def _is_open(memory: Memory) -> bool:
    return memory.status in (ACTIVE, CANDIDATE)


def _values(*pair: Memory) -> tuple[str, ...]:
    """Evidence of two facts with a key, in the order of their age."""
    one, other = sorted(pair, key=age_order)
    if one.key and one.key == other.key:
        return (f"same key: {one.key}", f"{one.value} ≠ {other.value}")
    return ("one names the other in conflicts_with",)


def keyed(memories: Iterable[Memory], now: datetime) -> Iterator[Contradiction]:
    """Two active values of one key, which an edit by hand or a merge can bring about."""
    for group in _of_one_key(_living(memories, now)):
        for one, other in combinations(group[-BLOCK:], 2):
            if one.value != other.value and not settled(one, other) and at_one_time(one, other):
                yield _pair(one, other, KEY, 1.0, _values(one, other))


def _of_one_key(memories: Iterable[Memory]) -> list[list[Memory]]:
    """The active memories of each key."""
    groups = defaultdict(list)
    for memory in memories:
        if memory.key and memory.status == ACTIVE:
            groups[memory.category, memory.key].append(memory)
    return list(groups.values())


# Free text


@dataclass(frozen=True, slots=True)
class _Text:
    """What is kept of a memory: a whole one takes ten times the room, and a large store has a hundred thousand."""

    memory_id: str
    content: str
    at: float

    @property
    def age_order(self) -> tuple[float, str]:
        return self.at, self.memory_id


def _text(memory: Memory) -> _Text:
    return _Text(memory.memory_id, memory.content, age_order(memory)[0])


@dataclass(frozen=True, slots=True)
class _Statement:
    """A claim of a memory."""

    of: _Text
    claim: Sentence


def facts(memories: Iterable[Memory], now: datetime) -> Iterator[Memory]:
    """The memories of which two can contradict each other."""
    return filter(_is_fact, _living(memories, now))


def _living(memories: Iterable[Memory], now: datetime) -> Iterator[Memory]:
    return (memory for memory in memories if memory.expires_at is None or memory.expires_at > now)


def _is_fact(memory: Memory) -> bool:
    return kinds.kind(memory.kind).contradicts and memory.status == ACTIVE and not memory.superseded_by


def _compared(texts: Sequence[_Text], names: Iterable[str], get: Get) -> tuple[Iterator[Contradiction], set[str]]:
    """What contradicts itself in some texts, and the ids of those of which only some pairs were compared."""
    known = aliases((text.content for text in texts), names)
    statements = [_Statement(text, claim) for text in texts for claim in claims(text.content, known)]
    blocks, left_out = _blocks([tuple(_content(each.claim)) for each in statements])
    partly = {statements[at].of.memory_id for at in left_out}
    statements, blocks = _meeting(statements, blocks)
    own = _blocks_of(len(statements), blocks)
    rarest = RAREST if sum(len(group) ** 2 for group in blocks) > LOOKS else len(blocks)
    partly |= {each.of.memory_id for each, numbers in zip(statements, own, strict=True) if len(numbers) > rarest}
    return _clashing(_near(statements, blocks, own, rarest), get), partly


def of_one(memory: Memory, others: Iterable[Memory], names: Iterable[str]) -> list[Memory]:
    """Those of some others that one memory contradicts; it is compared with them alone."""
    facts = list(filter(_is_fact, others)) if _is_fact(memory) else []
    names = tuple(names)
    known = aliases((each.content for each in (memory, *facts)), names)
    own = [(claim, masks(claim), Looking(points(claim))) for claim in claims(memory.content, known)]

    def excluded(other: Memory) -> bool:
        if other.content == memory.content or settled(memory, other) or not at_one_time(memory, other):
            return False
        later = age_order(memory) <= age_order(other)
        pairs = (
            (one, claim) if later else (claim, one)
            for claim, theirs in ((each, masks(each)) for each in claims(other.content, known))
            for one, bits, look in own
            if _share_a_subject(bits, theirs) and look.may_clash(points(claim))
        )
        return any(clash(*pair) for pair in pairs) or _ends(ended, memory, other, user)

    user = next(iter(names), "")
    ended = endings_in(memory.content, user)
    return list(filter(excluded, facts))


def _ends(ended: Sequence[Ending], later: Memory, earlier: Memory, user: str) -> bool:
    """Whether one memory says that what another says has ended: "we sold the Volvo", "we have a Volvo"."""
    return age_order(earlier) <= age_order(later) and any(is_ended(ending, earlier.content, user) for ending in ended)


def _ended_among(texts: Sequence[_Text], user: str, get: Get) -> Iterator[Contradiction]:
    """What some texts say has ended, of what others say; only those are compared that share a word of what ended."""
    ended = [
        (text, ending, frozenset(terms(ending.words))) for text in texts for ending in endings_in(text.content, user)
    ]
    wanted = frozenset(word for _, _, words in ended for word in words)
    near: dict[str, list[_Text]] = defaultdict(list)
    for text in texts if wanted else ():
        for word in wanted.intersection(terms(text.content)):
            near[word].append(text)
    for text, ending, words in ended:
        others = {id(other): other for word in words if len(near[word]) <= BLOCK for other in near[word]}
        for other in others.values():
            if other is not text and is_ended(ending, other.content, user):
                later, earlier = get(text.memory_id), get(other.memory_id)
                if later and earlier and _is_open_pair(earlier, later):
                    yield _pair(earlier, later, POLARITY, ENDED, (f"ended: {ending.thing or ending.verb}",))


def _is_open_pair(earlier: Memory, later: Memory) -> bool:
    return age_order(earlier) <= age_order(later) and not settled(earlier, later) and at_one_time(earlier, later)


def _share_a_subject(one: Bits, other: Bits) -> bool:
    """Whether a word of the subject of one is in the other, as far as the bits tell."""
    return bool(one[0] & other[1] or other[0] & one[1])


def _clashing(pairs: Iterable[tuple[_Statement, _Statement]], get: Get) -> Iterator[Contradiction]:
    for one, other in pairs:
        if one.of.content == other.of.content:
            continue
        difference = clash(one.claim, other.claim)
        if not difference:
            continue
        first, second = get(one.of.memory_id), get(other.of.memory_id)
        if first and second and not settled(first, second) and at_one_time(first, second):
            yield _pair(first, second, difference.kind, _score(difference), _evidence(difference))


def _older_first(pair: tuple[_Statement, _Statement]) -> tuple[_Statement, _Statement]:
    one, other = pair
    return pair if one.of.age_order <= other.of.age_order else (other, one)


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


def _score(difference: Clash) -> float:
    return 0.9 - 0.15 * difference.cost


def _evidence(difference: Clash) -> tuple[str, ...]:
    """What the two agree in, and where they differ."""
    chinese = any(has_chinese(word.text) for word in difference.shared)
    same = ("" if chinese else ", ").join(word.text for word in difference.shared)
    one, other = (
        ("" if chinese else " ").join(word.text for word in words) or "—"
        for words in (difference.one, difference.other)
    )
    return (*((f"same: {same}",) if same else ()), f"{one} ≠ {other}")


def aliases(texts: Iterable[str], names: Iterable[str]) -> frozenset[str]:
    """The given names, and the one that at least a fifth of the texts begin with."""
    heads = Counter(match[0].lower() if (match := _HEAD.match(text)) else "" for text in texts)
    often = {head for head, n in heads.items() if n >= 5 and n * 5 >= heads.total() and head not in _NO_NAMES}
    return frozenset(name.lower() for name in names if name) | often


_HEAD = re.compile(r"([A-Z][a-z]+)\b|([\u4e00-\u9fff]{2})")
_NO_NAMES = frozenset(
    ("", *"the a an in on at she he it they we my her his no when for our this that if there".split())
)


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


def _near(
    statements: Sequence[_Statement], blocks: Sequence[Sequence[int]], mine: Sequence[Sequence[int]], rarest: int
) -> Iterator[tuple[_Statement, _Statement]]:
    """Claims that share one of their rarest words, each pair once, the older memory's first.

    Args:
        mine: the numbers of the blocks of each claim, the rarest first.
    """
    bits = [masks(each.claim) for each in statements]
    for number, (one, own) in enumerate(zip(statements, mine, strict=True)):
        # A claim before this one that looks at all its words has met it already.
        places = dict.fromkeys(
            at for block in own[:rarest] for at in blocks[block] if at > number or len(mine[at]) > rarest
        )
        near = [at for at in places if _share_a_subject(bits[number], bits[at]) and one.of is not statements[at].of]
        look, shared = Looking(points(one.claim)) if near else None, frozenset(own)
        for at in near:
            met = at < number and not shared.isdisjoint(mine[at][:rarest])
            if look and not met and look.may_clash(points(statements[at].claim)):
                yield _older_first((one, statements[at]))


def _meeting(
    statements: Sequence[_Statement], blocks: Sequence[Sequence[int]]
) -> tuple[list[_Statement], list[list[int]]]:
    """The claims that are in a block, and their places in the blocks; of a large store, many are in none."""
    used = sorted({at for group in blocks for at in group})
    place = dict(zip(used, range(len(used)), strict=True))
    return [statements[at] for at in used], [[place[at] for at in group] for group in blocks]


def _blocks_of(count: int, blocks: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """For each of `count` claims the numbers of the blocks that it is in."""
    numbers: list[list[int]] = [[] for _ in range(count)]
    for number, group in enumerate(blocks):
        for at in group:
            numbers[at].append(number)
    return list(map(tuple, numbers))


def _blocks(words: Sequence[Sequence[str]]) -> tuple[list[list[int]], set[int]]:
    """Places of claims that share a word, the rarest word first; and of those that share two which too many share.

    A word too many share is joined with the next, and left out if that does not help.
    """
    counts = Counter(word for own in words for word in own)
    shared = sorted(word for word, count in counts.items() if count > 1)
    # A word is written as a multiple, and two words as a sum: a text for each pair would take much room.
    step = len(shared) + 1
    number = {word: step * at for at, word in enumerate(shared, 1)}
    blocks: dict[int, list[int]] = defaultdict(list)
    for at, own in enumerate(words):
        for word in own:
            if 1 < counts[word] <= BLOCK:
                blocks[number[word]].append(at)
        common = sorted(number[word] for word in own if counts[word] > BLOCK)[:MOST_COMMON]
        for a, b in combinations(common, 2):
            blocks[a + b // step].append(at)
    kept = ((len(group), key) for key, group in blocks.items() if 1 < len(group) <= BLOCK)
    left_out = {at for group in blocks.values() if len(group) > BLOCK for at in group}
    return [blocks[key] for _, key in sorted(kept)], left_out
