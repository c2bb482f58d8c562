"""Knowledge and strategies made twice of the same episodes, as two machines do that know nothing of each other.

A merge brings both together. One stays; it is made of all that the other is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memctl.consolidation.duplicates import Merge
from memctl.consolidation.made import KNOWN_IN, SKILL_IN, SOURCE, in_order, marked, own_text, unique
from memctl.core.models import SUPERSEDED, Memory

_MARKS = {"knowledge": KNOWN_IN, "strategy": SKILL_IN}


def found(
    active: Sequence[Memory], everything: Mapping[str, Memory], now: datetime, edited: frozenset[str]
) -> list[Merge]:
    """What can go because another says it from the same episodes.

    Args:
        edited: ids of records whose reflection a person changed, which stay.
    """
    made = [m for m in in_order(active) if m.source == SOURCE and m.sources and m.kind in _MARKS]
    stay: dict[str, list[Memory]] = {}
    twins: dict[str, list[Memory]] = {}
    for memory in sorted(made, key=lambda m: (-len(set(m.sources)), _may_go(m, edited))):
        near = stay.setdefault(memory.sources[0], [])
        same = next((m for m in near if _says_all(m, memory)), None) if _may_go(memory, edited) else None
        if same is not None:
            twins.setdefault(same.memory_id, []).append(memory)
            continue
        for source in memory.sources:
            stay.setdefault(source, []).append(memory)
    merges, now_held = [], dict(everything)
    for name, gone in twins.items():
        merges.append(_one(everything[name], gone, now_held, now))
        now_held |= {m.memory_id: m for m in merges[-1].marked}  # an episode can be part of two that have twins
    return merges


def _may_go(memory: Memory, edited: frozenset[str]) -> bool:
    return own_text(memory) and not memory.pinned and not memory.conflicts_with and memory.memory_id not in edited


def _says_all(one: Memory, other: Memory) -> bool:
    return one.kind == other.kind and set(other.sources) <= set(one.sources)


def _one(kept: Memory, others: Sequence[Memory], everything: Mapping[str, Memory], now: datetime) -> Merge:
    """The kept one with the uses and tags of the others; their episodes are marked as part of it."""
    all_of = [kept, *others]
    told = replace(
        kept,
        tags=unique(tag for m in all_of for tag in m.tags),
        access_count=sum(m.access_count for m in all_of),
        last_accessed_at=max((m.last_accessed_at for m in all_of if m.last_accessed_at), default=None),
        importance=max(m.importance for m in all_of),
        supersedes=unique((*kept.supersedes, *(m.memory_id for m in others))),
        updated_at=now,
    )
    over = tuple(replace(m, status=SUPERSEDED, superseded_by=kept.memory_id, updated_at=now) for m in others)
    mark, ids = _MARKS[kept.kind], {m.memory_id for m in others}
    episodes = [everything[i] for i in kept.sources if i in everything and everything[i].metadata.get(mark) in ids]
    moved = tuple(marked(episode, mark, kept.memory_id, now) for episode in episodes)
    return Merge(told, over, (1.0,) * len(over), moved)
