"""Consolidation: near-duplicates become one, episodes on one target become knowledge, similar successes a strategy.

From the memories and `now` to a plan; whoever carries it out asks for ids and writes files. Sources are marked and
stay. What was made here is never made into more, and what was recalled is no evidence. A second run finds nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from memctl.files import codec
from memctl.index.text import likeness
from memctl.lifecycle import reflect
from memctl.lifecycle.consolidating import grouping
from memctl.lifecycle.recalled import holds_recalled
from memctl.lifecycle.reflect import Draft, Point
from memctl.models import ACTIVE, SUPERSEDED, Memory

DUPLICATES, KNOWLEDGE, SKILLS = PARTS = ("duplicates", "knowledge", "skills")

SOURCE = "consolidation"
"""`source` of the records made here."""

KNOWN_IN, SKILL_IN = "consolidated_into", "skill_in"
"""Names in the metadata of an episode: the record it was made a part of."""

TEXT_HASH = "text_hash"
"""Name in the metadata of a record made here: the hash of its content, by which a person's edit is known."""

SKILL_IMPORTANCE = 0.6
MOST_TAGS = 12
MOST_POINTS = 8
MOST_REFLECTED = 200
LONGEST = {"en": 320, "zh": 140}

_SKILL_LEAST = 0.6
"""Share of `Rules.skill_likeness` that is enough for two pieces of work with a tag or the subcategory in common."""

_FAILED = ("failure", "failed")
_OUTCOMES = {"success": "success", "partial": "partial", "failure": "failure", "failed": "failure"}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "about": "{topic}, {n} episodes from {first} to {last}{outcomes}: {points}",
        "undated": "{topic}, {n} episodes{outcomes}: {points}",
        "outcomes": " ({told})", "success": "{n} succeeded", "partial": "{n} partly", "failure": "{n} failed",
        "comma": ", ", "semicolon": "; ", "stop": ".",
        "skill": "{task}: {approach}", "approach": "{approach}",
        "steps": "Steps", "cautions": "Cautions", "counts": "Successes: {s}. Failures: {f}.",
    },
    "zh": {
        "about": "{topic}，{n} 次经历，{first} 至 {last}{outcomes}：{points}",
        "undated": "{topic}，{n} 次经历{outcomes}：{points}",
        "outcomes": "（{told}）", "success": "{n} 次成功", "partial": "{n} 次部分成功", "failure": "{n} 次失败",
        "comma": "，", "semicolon": "；", "stop": "。",
        "skill": "{task}：{approach}", "approach": "{approach}",
        "steps": "步骤", "cautions": "注意", "counts": "成功 {s} 次，失败 {f} 次。",
    },
}  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True)
class Rules:
    """The numbers of consolidation.

    Args:
        least: episodes that knowledge or a strategy needs, and new ones that it is made anew for.
        likeness: share of words two near-duplicates have in common.
        skill_likeness: share of telling words two pieces of similar work have in common.
    """

    least: int = 3
    likeness: float = 0.85
    skill_likeness: float = 0.5


@dataclass(frozen=True)
class Merge:
    """Near-duplicates that become one: the kept record and the superseded ones as they will be."""

    kept: Memory
    merged: tuple[Memory, ...]
    likeness: tuple[float, ...]


@dataclass(frozen=True)
class Made:
    """Knowledge, or a strategy, made from episodes.

    Args:
        part: `knowledge` or `skills`.
        record: as it will be; without an id where it is new.
        sources: all episodes it is made from; `fresh` are those among them that are marked now.
        draft: its reflection.
        refreshed: whether a record that was there is made anew.
        points: what it says, each with its sources.
        by: the language model that wrote it; empty where rules did.
    """

    part: str
    record: Memory
    sources: tuple[Memory, ...]
    fresh: tuple[Memory, ...]
    draft: Draft
    points: tuple[Point, ...]
    refreshed: bool
    by: str = ""

    @property
    def mark(self) -> str:
        """Name of the mark that its sources get."""
        return KNOWN_IN if self.part == KNOWLEDGE else SKILL_IN


@dataclass(frozen=True)
class Plan:
    """What consolidation would do.

    Args:
        alike: pairs that may say the same in other words, and are left as they are.
        recalled: ids of memories that hold text which memctl itself gave to a prompt; they are no evidence.
    """

    merges: tuple[Merge, ...] = ()
    made: tuple[Made, ...] = ()
    alike: tuple[grouping.Alike, ...] = ()
    recalled: tuple[str, ...] = ()

    @property
    def superseded(self) -> int:
        return sum(len(merge.merged) for merge in self.merges)


def plan(
    memories: Sequence[Memory],
    now: datetime,
    rules: Rules = Rules(),
    *,
    only: Iterable[str] = PARTS,
    same: Sequence[tuple[str, str]] = (),
    bodies: Mapping[str, str] | None = None,
    buried: frozenset[str] = frozenset(),
) -> Plan:
    """What there is to consolidate.

    Args:
        only: parts to look at.
        same: pairs of ids, kept and merged, that somebody judged to say the same.
        bodies: reflections of records by id, in which text may be found again.
        buried: ids of purged records; a mark that names one does not count.
    """
    recalled = _recalled(memories, bodies or {})
    left_out = frozenset(recalled)
    active = [m for m in memories if m.status == ACTIVE and m.memory_id not in left_out and not _expired(m, now)]
    merges: list[Merge] = []
    pairs: list[grouping.Alike] = []
    if DUPLICATES in only or same:
        sayings = [grouping.said(m) for m in active if mergeable(m)]
        merges = _merges(sayings, now, rules.likeness if DUPLICATES in only else None, same)
        changed = {m.memory_id: m for merge in merges for m in (merge.kept, *merge.merged)}
        active = [m for m in (changed.get(m.memory_id, m) for m in active) if m.status == ACTIVE]
        gone = {m.memory_id for merge in merges for m in merge.merged}
        pairs = grouping.alike([saying for saying in sayings if saying.memory.memory_id not in gone])
    everything = {m.memory_id: m for m in memories} | {m.memory_id: m for m in active}
    made = _knowledge(active, everything, now, rules, buried) if KNOWLEDGE in only else []
    made += _skills(active, everything, now, rules, buried) if SKILLS in only else []
    return Plan(tuple(merges), tuple(made), tuple(pairs), tuple(recalled))


def _expired(memory: Memory, now: datetime) -> bool:
    """Whether a memory only waits for the next write to be moved to the trash."""
    return memory.expires_at is not None and memory.expires_at <= now


# Recalled text


def _recalled(memories: Sequence[Memory], bodies: Mapping[str, str]) -> list[str]:
    """Active memories that hold a recalled block, or repeat a sentence of a summary that is older and not of them."""
    told: dict[str, list[Memory]] = {}
    for memory in memories:
        if memory.sources and memory.status == ACTIVE:
            for sentence in _sentences(memory, bodies.get(memory.memory_id, "")):
                told.setdefault(sentence, []).append(memory)
    return [
        m.memory_id
        for m in memories
        if m.status == ACTIVE
        and (holds_recalled(m.content) or any(_repeats(m, summary) for summary in told.get(_plain(m.content), ())))
    ]


def _repeats(memory: Memory, summary: Memory) -> bool:
    if memory.sources or memory.memory_id in summary.sources:
        return False
    return bool(memory.created_at and summary.created_at and memory.created_at > summary.created_at)


_SOURCES_NAMED = re.compile(r"\s*\([^()]*\bmem_[^()]*\)\s*$", re.MULTILINE)
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+\.|#+)\s+")
_SHORTEST_TELLING = 12


def _sentences(memory: Memory, body: str) -> set[str]:
    """What a summary says: its content, its key points, the lines of its reflection."""
    held = memory.metadata.get("key_points")
    lines = [memory.content, *(p for p in (held if isinstance(held, list) else []) if isinstance(p, str))]
    lines += [_LIST_MARK.sub("", line) for line in _SOURCES_NAMED.sub("", body).splitlines()]
    return {plain for plain in map(_plain, lines) if len(plain.encode()) >= _SHORTEST_TELLING}


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!。！ ")


# Near-duplicates


def mergeable(memory: Memory) -> bool:
    """Whether a memory can be one of several that say the same: no summary, nothing that is in dispute."""
    return not memory.sources and not memory.conflicts_with


def may_go(memory: Memory) -> bool:
    """Whether a memory may be superseded by another: never a pinned one, nor one with a reflection of its own."""
    return not memory.pinned and not memory.summary_md_ref


def _merges(
    sayings: Sequence[grouping.Saying], now: datetime, share: float | None, same: Sequence[tuple[str, str]]
) -> list[Merge]:
    """Near-duplicates that are found (none without `share`), and pairs that are known to say the same."""
    known = {saying.memory.memory_id: saying.memory for saying in sayings}
    found = grouping.near_duplicates(sayings, share, may_go) if share is not None else []
    groups = {kept.memory_id: (kept, near) for kept, near in found}
    gone = {one.memory.memory_id for _, near in found for one in near}
    for kept_id, going_id in same:
        kept, going = known.get(kept_id), known.get(going_id)
        if kept is None or going is None or kept is going or not may_go(going):
            continue
        if {kept_id, going_id} & gone or going_id in groups:
            continue
        shared = likeness(grouping.telling(kept.content), grouping.telling(going.content))
        groups.setdefault(kept_id, (kept, []))[1].append(grouping.Near(going, shared))
        gone.add(going_id)
    return [merged(kept, near, now) for kept, near in groups.values()]


def merged(kept: Memory, near: Sequence[grouping.Near], now: datetime) -> Merge:
    """One memory out of several that say the same.

    Mentions and uses are added up, tags united, confidence and importance are the highest, reward is the mean weighted
    by mentions; metadata the kept one lacks is taken over. The others keep their text and point to the kept one.
    """
    others = [n.memory for n in near]
    all_of = [kept, *others]
    mentions = sum(m.mentions for m in all_of)
    weight = mentions or len(all_of)
    told = replace(
        kept,
        mentions=mentions,
        tags=_unique(tag for m in all_of for tag in m.tags),
        access_count=sum(m.access_count for m in all_of),
        last_accessed_at=max((m.last_accessed_at for m in all_of if m.last_accessed_at), default=None),
        confidence=max(m.confidence for m in all_of),
        importance=max(m.importance for m in all_of),
        reward=_bounded(sum(m.reward * (m.mentions if mentions else 1) for m in all_of) / weight),
        supersedes=_unique((*kept.supersedes, *(m.memory_id for m in others))),
        metadata={name: value for m in reversed(all_of) for name, value in m.metadata.items()},
        updated_at=now,
    )
    gone = tuple(replace(m, status=SUPERSEDED, superseded_by=kept.memory_id, updated_at=now) for m in others)
    return Merge(told, gone, tuple(round(n.likeness, 4) for n in near))


def _bounded(value: float) -> float:
    return round(min(1.0, max(-1.0, value)), 4)


def _unique(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


# Knowledge


def target_of(memory: Memory) -> str:
    """What an episode was about, folded so that `CI` and `ci` are one; empty where it does not say."""
    target = memory.metadata.get("target")
    return _plain(target) if isinstance(target, str) else ""


def _knowledge(
    active: Sequence[Memory], everything: Mapping[str, Memory], now: datetime, rules: Rules, buried: frozenset[str]
) -> list[Made]:
    groups: dict[str, list[Memory]] = {}
    for memory in active:
        if memory.kind == "episode" and target_of(memory) and not _marked(memory, KNOWN_IN, buried):
            groups.setdefault(target_of(memory), []).append(memory)
    own = {target_of(m): m for m in _in_order(active) if m.kind == "knowledge" and own_text(m)}
    return [
        knowledge(own.get(target), _in_order(fresh), everything, now)
        for target, fresh in sorted(groups.items())
        if len(fresh) >= rules.least
    ]


def _marked(memory: Memory, name: str, buried: frozenset[str]) -> bool:
    mark = memory.metadata.get(name)
    return bool(mark) and mark not in buried


def own_text(memory: Memory) -> bool:
    """Whether a record was made here and its text was not changed since: only such a text is ever written anew."""
    made = memory.source == SOURCE and bool(memory.sources)
    return made and memory.metadata.get(TEXT_HASH) == codec.text_hash(memory.content)


def _in_order(memories: Iterable[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda m: (m.created_at.timestamp() if m.created_at else 0.0, m.memory_id))


def knowledge(held: Memory | None, fresh: Sequence[Memory], everything: Mapping[str, Memory], now: datetime) -> Made:
    """Knowledge from episodes on one target.

    Args:
        held: the record there is, made here earlier; it is made anew from its sources and the new episodes.
        fresh: episodes that are in no knowledge yet.
    """
    sources = _all_sources(held, fresh, everything)
    tongue = reflect.language(sources)
    topic = _most_common(str(m.metadata["target"]).strip() for m in sources if target_of(m))
    found = _points(sources, tongue)
    about = {"topic": topic, "target": topic, "key_points": [p.text for p in found]}
    record = replace(
        _record(held, sources, fresh, about, now),
        content=_about(topic, sources, found, tongue),
        kind="knowledge",
        confidence=knowledge_confidence(sources),
    )
    draft = reflect.draft(_weightiest(sources), topic)
    return Made(KNOWLEDGE, _hashed(record), tuple(sources), tuple(fresh), draft, tuple(found), held is not None)


def knowledge_confidence(sources: Sequence[Memory]) -> float:
    """How sure knowledge is, from 0.5 to 1: `0.5 + 0.5 * agreement * n / (n + 3)`, for `n` episodes.

    `agreement` is the share of the most common outcome among the episodes that have one; 1 where none has. (The range
    is that of the formulas; the form is ours: more episodes and more agreement never make it less.)
    """
    outcomes = Counter(filter(None, map(outcome_of, sources)))
    agreement = max(outcomes.values()) / outcomes.total() if outcomes else 1.0
    n = len(sources)
    return round(0.5 + 0.5 * agreement * n / (n + 3), 2)


def _weightiest(sources: Sequence[Memory]) -> list[Memory]:
    """The sources a reflection is written from: its writer compares each with each."""
    return _in_order(sorted(sources, key=lambda m: (-reflect.worth(m), m.memory_id))[:MOST_REFLECTED])


def outcome_of(memory: Memory) -> str:
    """`success`, `partial`, `failure`, or empty."""
    outcome = memory.metadata.get("outcome")
    return _OUTCOMES.get(outcome, "") if isinstance(outcome, str) else ""


def _all_sources(held: Memory | None, fresh: Sequence[Memory], everything: Mapping[str, Memory]) -> list[Memory]:
    old = [everything[i] for i in (held.sources if held else ()) if i in everything]
    return _in_order({m.memory_id: m for m in (*old, *fresh)}.values())


def _record(
    held: Memory | None, sources: Sequence[Memory], fresh: Sequence[Memory], about: Mapping[str, Any], now: datetime
) -> Memory:
    """What every record made here has; of one that is made anew, what a person gave it stays."""
    base = held or Memory("", "", created_at=now, category=_most_common(m.category for m in sources))
    ids = _unique((*(held.sources if held else ()), *(m.memory_id for m in fresh)))
    return replace(
        base,
        source=SOURCE,
        sources=ids,
        tags=_unique((*base.tags, *_shared_tags(sources))),
        importance=held.importance if held else round(sum(m.importance for m in sources) / len(sources), 2),
        reward=held.reward if held else _bounded(sum(m.reward for m in sources) / len(sources)),
        updated_at=now if held else None,
        metadata={**base.metadata, **about},
    )


def _shared_tags(sources: Sequence[Memory]) -> tuple[str, ...]:
    counted = Counter(tag for m in sources for tag in m.tags)
    ranked = sorted(counted, key=lambda tag: (-counted[tag], tag))
    return (*ranked[:MOST_TAGS], "consolidated")


def _hashed(record: Memory) -> Memory:
    return replace(record, metadata={**record.metadata, TEXT_HASH: codec.text_hash(record.content)})


def _most_common(names: Iterable[str]) -> str:
    counted = Counter(names)
    return min(counted, key=lambda name: (-counted[name], name))


def _points(sources: Sequence[Memory], tongue: str) -> list[Point]:
    """What the episodes taught, in their own words: each one's lessons, or else its text; the weightiest first.

    Every episode says one thing before any says a second.
    """
    ranked = sorted(sources, key=lambda m: (-reflect.worth(m), m.memory_id))
    said = {m.memory_id: texts(m.metadata.get("lessons")) or [m.content] for m in ranked}
    rounds = range(max(map(len, said.values()), default=0))
    kept: list[tuple[frozenset[str], Point]] = []
    for memory, text in [(m, said[m.memory_id][at]) for at in rounds for m in ranked if at < len(said[m.memory_id])]:
        bag = grouping.telling(text)
        same = next((at for at, (other, _) in enumerate(kept) if _one_point(bag, other)), None)
        if same is not None:
            other, point = kept[same]
            kept[same] = (other, replace(point, sources=_unique((*point.sources, memory.memory_id))))
        elif len(kept) < MOST_POINTS:
            short = reflect.shortened(text, reflect.LONGEST_POINT[tongue])
            kept.append((bag, Point(short, (memory.memory_id,), reflect.worth(memory))))
    return [point for _, point in kept]


def _one_point(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two points say the same: nearly the same words, and no other number."""
    differ = any(character.isdigit() for term in one ^ other for character in term)
    return not differ and likeness(one, other) >= reflect.SAME


def texts(value: object) -> list[str]:
    """Texts of a list in the metadata, where each may also stand in a mapping as `description`."""
    items = value if isinstance(value, list) else [value]
    found = [item.get("description") if isinstance(item, Mapping) else item for item in items]
    return [" ".join(item.split()) for item in found if isinstance(item, str) and item.strip()]


def _about(topic: str, sources: Sequence[Memory], found: Sequence[Point], tongue: str) -> str:
    """One sentence: what it is about, how often and when, how it went, and what was learned, as much as fits."""
    words = _WORDS[tongue]
    days = sorted(m.when for m in sources if m.when)
    outcomes = Counter(filter(None, map(outcome_of, sources)))
    told = words["comma"].join(words[name].format(n=outcomes[name]) for name in _OUTCOMES if name in outcomes)
    said = [found[0].text.rstrip(".。;；")]
    for point in found[1:]:
        text = point.text.rstrip(".。;；")
        if sum(map(len, said)) + len(text) > LONGEST[tongue]:
            break
        said.append(text)
    ends = "" if said[-1].endswith(("…", "!", "?", "！", "？")) else words["stop"]
    return words["about" if days else "undated"].format(
        topic=topic,
        n=len(sources),
        first=days[0].date() if days else "",
        last=days[-1].date() if days else "",
        outcomes=words["outcomes"].format(told=told) if told else "",
        points=words["semicolon"].join(said) + ends,
    )


# Skills


def _skills(
    active: Sequence[Memory], everything: Mapping[str, Memory], now: datetime, rules: Rules, buried: frozenset[str]
) -> list[Made]:
    work = [m for m in _in_order(active) if m.kind == "episode" and outcome_of(m) and _approach(m)]
    bags = [(m, grouping.telling(f"{_task(m)}\n{_approach(m)}")) for m in work]
    own = {m.memory_id: m for m in active if m.kind == "strategy" and own_text(m)}
    made = []
    for group in grouping.similar(bags, rules.skill_likeness, _SKILL_LEAST * rules.skill_likeness):
        fresh = [m for m in group if not _marked(m, SKILL_IN, buried)]
        named = [str(m.metadata[SKILL_IN]) for m in group if _marked(m, SKILL_IN, buried)]
        held = own.get(_most_common(named)) if named else None
        enough = sum(outcome_of(m) == "success" for m in fresh) >= rules.least
        if fresh and (held or enough):
            made.append(skill(held, fresh, everything, now))
    return made


def _task(memory: Memory) -> str:
    return " ".join(texts(memory.metadata.get("task_description")))


def _approach(memory: Memory) -> str:
    return " ".join(texts(memory.metadata.get("approach")))


def skill(held: Memory | None, fresh: Sequence[Memory], everything: Mapping[str, Memory], now: datetime) -> Made:
    """A strategy from similar episodes, in the words of the success that went best; failures are its cautions.

    Confidence is `(successes + 1) / (successes + failures + 2)`: Laplace's rule; what succeeded in part counts for
    neither.
    """
    sources = _all_sources(held, fresh, everything)
    tongue = reflect.language(sources)
    good = [m for m in sources if outcome_of(m) == "success"] or sources
    bad = [m for m in sources if outcome_of(m) == "failure"]
    best = max(good, key=lambda m: (reflect.worth(m), bool(m.metadata.get("steps")), m.memory_id))
    content = _skill_content(best, tongue)
    steps, counts = texts(best.metadata.get("steps")), (sum(outcome_of(m) == "success" for m in sources), len(bad))
    about = {"topic": _task(best) or _approach(best), "successes": counts[0], "failures": counts[1]}
    record = replace(
        _record(held, sources, fresh, about | ({"steps": steps} if steps else {}), now),
        content=content,
        kind="strategy",
        category="strategy",
        subcategory=held.subcategory if held else "skill",
        confidence=round((counts[0] + 1) / (sum(counts) + 2), 2),
        importance=held.importance if held else SKILL_IMPORTANCE,
    )
    record = _hashed(replace(record, tags=_unique((*record.tags, "skill"))))
    points = [*_points(good, tongue), *_points(bad, tongue)][:MOST_POINTS] if bad else _points(good, tongue)
    draft = _skill_draft(record, best, good, bad, tongue)
    return Made(SKILLS, record, tuple(sources), tuple(fresh), draft, tuple(points), held is not None)


def _skill_content(best: Memory, tongue: str) -> str:
    task, approach = _task(best).rstrip(".。"), _approach(best).rstrip(".。")
    words = _WORDS[tongue]
    text = words["skill" if task else "approach"].format(task=task, approach=_lowered(approach) if task else approach)
    return reflect.shortened(text, LONGEST[tongue]).rstrip(".。") + words["stop"]


def _lowered(text: str) -> str:
    """A sentence as it goes on after other words; a name or an acronym keeps its capital."""
    first = text.split(" ", 1)[0]
    return text if first[1:] != first[1:].lower() or not first.isalpha() else text[:1].lower() + text[1:]


def _skill_draft(record: Memory, best: Memory, good: Sequence[Memory], bad: Sequence[Memory], tongue: str) -> Draft:
    words, title = _WORDS[tongue], reflect.shortened(record.content, 80 if tongue == "en" else 40).rstrip(".。")
    parts = [f"# {title}", words["counts"].format(s=record.metadata["successes"], f=len(bad))]
    parts.append(listed_points(_points(good, tongue)))
    if steps := texts(best.metadata.get("steps")):
        listed = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
        parts.append(f"## {words['steps']} ({best.memory_id})\n\n{listed}")
    if bad:
        parts.append(f"## {words['cautions']}\n\n{listed_points(_points(bad, tongue))}")
    return Draft(title, "\n\n".join(parts), record.content)


def listed_points(found: Sequence[Point]) -> str:
    """Points as a list in Markdown, each with its sources."""
    return "\n".join(f"- {point.text} ({', '.join(point.sources)})" for point in found)


def marked(source: Memory, mark: str, memory_id: str, now: datetime) -> Memory:
    """A source with the mark that it is part of a record."""
    return replace(source, metadata={**source.metadata, mark: memory_id}, updated_at=now)


# What a model wrote


@dataclass(frozen=True)
class Written:
    """A summary as a language model wrote it."""

    topic: str
    content: str
    points: tuple[Point, ...]


def rewritten(made: Made, text: Written, by: str) -> Made:
    """A record of rules with the words of a model: what it counts and how sure it is stays as the rules have it."""
    about = {**made.record.metadata, "topic": text.topic, "key_points": [p.text for p in text.points]}
    record = _hashed(replace(made.record, content=text.content, metadata=about))
    body = f"# {text.topic}\n\n{text.content}\n\n{listed_points(text.points)}"
    return replace(made, record=record, draft=Draft(text.topic, body, text.content), points=text.points, by=by)
