"""Conflicts: found when asked for, settled only as a person says. Nothing is merged silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memctl import times
from memctl.engine import Engine
from memctl.errors import RefusedError, UsageError
from memctl.gateway import View
from memctl.lifecycle import adding
from memctl.lifecycle.conflicts import contradictions, settling
from memctl.lifecycle.conflicts.contradictions import Contradiction
from memctl.lifecycle.conflicts.settling import Choice
from memctl.models import ACTIVE, CANDIDATE, Change, Memory

HEADER = "conflicts"
"""Field of `memory.json` with the conflicts that are known without looking, from merges of two copies."""


NEWEST = "newest"


@dataclass(frozen=True)
class OpenConflicts:
    """All that waits for a decision: `noted` are entries of `memory.json` as they stand there, of any form."""

    found: tuple[Contradiction, ...] = ()
    noted: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Resolved:
    """What settling changed, or would change: each record as it was (None: it is new) and as it is."""

    changes: tuple[tuple[Memory | None, Memory], ...]

    @property
    def memories(self) -> tuple[Memory, ...]:
        return tuple(after for _, after in self.changes)


class Conflicts(Engine):
    """The contradictions among one user's memories."""

    def conflicts(self, *, now: datetime | None = None) -> OpenConflicts:
        """Look for contradictions; no file is changed.

        Returns:
            candidates that wait to be confirmed, contradictions in key/value facts and free text, and what
            `memory.json` notes.
        """
        self.refresh()
        view = self.view()
        noted = noted_in(view)
        pairs = [_ids_of(entry) for entry in noted]
        found = contradictions.find(view.all(), now or times.utc_now(), (self.user,))
        return OpenConflicts(tuple(f for f in found if frozenset(f.ids) not in pairs), tuple(noted))

    def resolve_conflict(
        self,
        first: str,
        second: str,
        *,
        keep: str = "",
        merge: str = "",
        both: bool = False,
        until: datetime | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Resolved:
        """Settle how two memories stand to each other, whether or not the search found them.

        Args:
            keep: the id of the one that is right, or `newest`; the other is superseded (a candidate: archived).
            merge: a text that takes the place of both.
            both: both are true; with `until`, the older one up to then, the newer one from then on.

        Raises:
            NotFoundError: there is no such memory; near ids are suggested.
            UsageError: not exactly one choice, or one that makes no sense for these two.
            RefusedError: one of the two is no longer active.
        """
        now = now or times.utc_now()
        self.refresh()
        ids = (self.full_id(first), self.full_id(second))
        choice = self._choice(ids, keep, merge, both, until)
        result: list[Resolved] = []

        def decide(view: View) -> Change:
            result[:] = [Resolved(tuple(_settled(view, ids, choice, now)))]
            return _change(view, ids, result[0])

        self._apply(decide, now, dry_run=dry_run)
        return result[0]

    def _choice(self, ids: tuple[str, str], keep: str, merge: str, both: bool, until: datetime | None) -> Choice:
        hint = "Choose one: --keep ID, --merge TEXT, or --both (with --until DATE where the one followed the other)."
        if ids[0] == ids[1]:
            raise UsageError("a conflict is between two memories; both ids name the same one")
        if sum((bool(keep), bool(merge.strip()), both)) != 1:
            raise UsageError("how is it settled?", hint=hint)
        if until is not None and not both:
            raise UsageError("--until belongs to --both", hint=hint)
        kept = self._newest(ids) if keep == NEWEST else self.full_id(keep) if keep else ""
        if kept and kept not in ids:
            raise UsageError(f"{kept} is not one of the two", hint=f"Keep {ids[0]} or {ids[1]}.")
        return Choice(kept, merge.strip(), both, until)

    def _newest(self, ids: tuple[str, str]) -> str:
        return max(map(self.view().need, ids), key=contradictions.age_order).memory_id


def noted_in(view: View) -> list[Mapping[str, Any]]:
    """The conflicts that `memory.json` lists, as far as they can be read."""
    listed = view.header.get(HEADER)
    return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []


def _ids_of(entry: Mapping[str, Any]) -> frozenset[str]:
    named = entry.get("ids")
    return frozenset(each for each in named if isinstance(each, str)) if isinstance(named, list) else frozenset()


def _settled(view: View, ids: Sequence[str], choice: Choice, now: datetime) -> Iterable[tuple[Memory | None, Memory]]:
    one, other = (_open(view.need(memory_id)) for memory_id in ids)
    before = {memory.memory_id: memory for memory in (one, other)}
    for after in settling.settled(one, other, choice, view.new_id(now), now):
        if after.memory_id not in before and not adding.can_be_stored(after):
            raise UsageError("this text cannot be stored", hint="It holds a NUL character or half a character.")
        yield before.get(after.memory_id), after


def _open(memory: Memory) -> Memory:
    if memory.status in (ACTIVE, CANDIDATE):
        return memory
    by = f" by {memory.superseded_by}" if memory.superseded_by else ""
    raise RefusedError(
        f"{memory.memory_id} is {memory.status}{by}, so there is nothing to settle",
        hint=f"`memctl inspect {memory.memory_id}` shows how it stands.",
    )


def _change(view: View, ids: Sequence[str], resolved: Resolved) -> Change:
    """The change, with the note in `memory.json` of exactly this pair taken out."""
    listed = view.header.get(HEADER)
    known = listed if isinstance(listed, list) else []
    rest = [entry for entry in known if not isinstance(entry, Mapping) or _ids_of(entry) != frozenset(ids)]
    return Change("conflicts resolve", resolved.memories, header={HEADER: rest} if rest != known else None)
