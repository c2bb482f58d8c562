"""Near-duplicates: memories that say the same become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memctl.consolidation import grouping
from memctl.consolidation.made import bounded, unique
from memctl.core.models import SUPERSEDED, Memory
from memctl.core.text.terms import similarity


@dataclass(frozen=True)
class Merge:
    """Near-duplicates that become one: the kept record and the superseded ones as they will be.

    Args:
        marked: episodes that were part of a superseded one, and are part of the kept one.
    """

    kept: Memory
    merged: tuple[Memory, ...]
    similarity: tuple[float, ...]
    marked: tuple[Memory, ...] = ()


def mergeable(memory: Memory) -> bool:
    """Whether a memory can be one of several that say the same: no summary, nothing that is in dispute."""
    return not memory.sources and not memory.conflicts_with


def may_go(memory: Memory) -> bool:
    """Whether a memory may be superseded by another: never a pinned one, nor one with a reflection of its own."""
    return not memory.pinned and not memory.summary_md_ref


def found(
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
        shared = similarity(grouping.telling(kept.content), grouping.telling(going.content))
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
        tags=unique(tag for m in all_of for tag in m.tags),
        access_count=sum(m.access_count for m in all_of),
        last_accessed_at=max((m.last_accessed_at for m in all_of if m.last_accessed_at), default=None),
        confidence=max(m.confidence for m in all_of),
        importance=max(m.importance for m in all_of),
        reward=bounded(sum(m.reward * (m.mentions if mentions else 1) for m in all_of) / weight),
        supersedes=unique((*kept.supersedes, *(m.memory_id for m in others))),
        metadata={name: value for m in reversed(all_of) for name, value in m.metadata.items()},
        updated_at=now,
    )
    gone = tuple(replace(m, status=SUPERSEDED, superseded_by=kept.memory_id, updated_at=now) for m in others)
    return Merge(told, gone, tuple(round(n.similarity, 4) for n in near))
