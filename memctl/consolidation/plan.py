"""Consolidation: near-duplicates become one, episodes on one target become knowledge, similar successes a strategy.

From the memories and `now` to a plan; whoever carries it out asks for ids and writes files. Sources are marked and
stay. What was made here is never made into more, and what was recalled is no evidence. A second run finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memctl.consolidation import duplicates, evidence, grouping, knowledge, skills, twins
from memctl.consolidation.duplicates import Merge
from memctl.consolidation.made import DUPLICATES, KNOWLEDGE, PARTS, SKILLS, Made, Rules
from memctl.core.models import ACTIVE, Memory


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
    edited: frozenset[str] = frozenset(),
    buried: frozenset[str] = frozenset(),
) -> Plan:
    """What there is to consolidate.

    Args:
        only: parts to look at.
        same: pairs of ids, kept and merged, that somebody judged to say the same.
        bodies: reflections of records by id, in which text may be found again.
        edited: ids of records whose reflection a person changed.
        buried: ids of purged records; a mark that names one does not count.
    """
    recalled = evidence.recalled(memories, bodies or {})
    left_out = frozenset(recalled)
    active = [m for m in memories if m.status == ACTIVE and m.memory_id not in left_out and not _expired(m, now)]
    merges: list[Merge] = []
    pairs: list[grouping.Alike] = []
    if DUPLICATES in only or same:
        sayings = [grouping.said(m) for m in active if duplicates.mergeable(m)]
        merges = duplicates.found(sayings, now, rules.similarity if DUPLICATES in only else None, same)
        active = _merged(active, merges)
        gone = {m.memory_id for merge in merges for m in merge.merged}
        pairs = grouping.alike([saying for saying in sayings if saying.memory.memory_id not in gone])
    everything = {m.memory_id: m for m in (*memories, *active)}
    if DUPLICATES in only:
        twice = twins.found(active, everything, now, edited)
        merges, active = [*merges, *twice], _merged(active, twice)
        everything |= {m.memory_id: m for m in (*(m for merge in twice for m in merge.marked), *active)}
    made = knowledge.found(active, everything, now, rules, buried) if KNOWLEDGE in only else []
    made += skills.found(active, everything, now, rules, buried) if SKILLS in only else []
    return Plan(tuple(merges), tuple(made), tuple(pairs), tuple(recalled))


def _merged(active: Sequence[Memory], merges: Iterable[Merge]) -> list[Memory]:
    """The memories that are still active, as they are then."""
    changed = {m.memory_id: m for merge in merges for m in (merge.kept, *merge.merged, *merge.marked)}
    return [m for m in (changed.get(m.memory_id, m) for m in active) if m.status == ACTIVE]


def _expired(memory: Memory, now: datetime) -> bool:
    """Whether a memory only waits for the next write to be moved to the trash."""
    return memory.expires_at is not None and memory.expires_at <= now
