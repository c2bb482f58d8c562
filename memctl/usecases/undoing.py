"""Taking back the last changes, and taking that back: step by step, each exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memctl import times
from memctl.engine import Engine
from memctl.errors import MemctlError, NotFoundError, RefusedError
from memctl.files.journal import Operation
from memctl.housekeeping import MAINTENANCE
from memctl.lifecycle import past, undoing
from memctl.lifecycle.past import Key
from memctl.lifecycle.undoing import REDO, UNDO, Step
from memctl.models import Change
from memctl.usecases import reopening
from memctl.usecases.history import present_value
from memctl.view import View


@dataclass(frozen=True)
class Taken:
    """What was taken back, the newest first, and why no more was; None where all was that was asked for."""

    done: tuple[Operation, ...]
    stopped: MemctlError | None = None


class Undoing(Engine):
    """Undo and redo."""

    def undo(self, *, before_purge: bool = False, dry_run: bool = False, now: datetime | None = None) -> Operation:
        """Take back the last change.

        Args:
            before_purge: step over purges, which cannot be taken back.

        Raises:
            NotFoundError: there is nothing to undo.
            ConflictError: something it touched has changed since.
            RefusedError: the last change was a purge.
        """
        return _one(self.undo_many(1, before_purge=before_purge, dry_run=dry_run, now=now))

    def redo(self, *, dry_run: bool = False, now: datetime | None = None) -> Operation:
        """Take back the last undo, if nothing was changed since.

        Raises:
            NotFoundError: there is nothing to redo.
            ConflictError: something it touched has changed since.
        """
        return _one(self.redo_many(1, dry_run=dry_run, now=now))

    def undo_many(
        self, count: int, *, before_purge: bool = False, dry_run: bool = False, now: datetime | None = None
    ) -> Taken:
        """Take back the last changes, the newest first, each exactly; stop at the first that cannot be."""
        return self._take_back(UNDO, count, before_purge, dry_run, now or times.utc_now())

    def redo_many(self, count: int, *, dry_run: bool = False, now: datetime | None = None) -> Taken:
        """Take back the last undos, the newest first, each exactly; stop at the first that cannot be."""
        return self._take_back(REDO, count, False, dry_run, now or times.utc_now())

    def _take_back(self, what: str, count: int, before_purge: bool, dry_run: bool, now: datetime) -> Taken:
        walk = _Walk(what, before_purge)
        taken: list[Operation] = []

        def decide(view: View) -> Change:
            return walk.decide(view, self.history())

        try:
            if dry_run:
                self.refresh()
            while len(taken) < count:
                decide(self.view()) if dry_run else self._healed(lambda: self.gateway.apply(decide, now))
                taken.append(walk.taken(pretend=dry_run))
                if not dry_run:
                    reopening.follow(self.folder, what, taken[-1], now, timeout=self.settings.lock_timeout)
        except NotFoundError as problem:
            return Taken(tuple(taken), self._at_the_end(problem))
        except MemctlError as problem:
            return Taken(tuple(taken), problem)
        return Taken(tuple(taken))

    def _at_the_end(self, problem: NotFoundError) -> NotFoundError:
        """That there is no more to take back, with the reason where the log once held more."""
        if not self.log_trimmed:
            return problem
        hint = "What is older fell out of the log: the setting `log_limit_mb` says how much it keeps."
        return NotFoundError(problem.message, hint=hint)

    def undone(self) -> set[str]:
        """Ids of the operations that a person made and `undo` has taken back."""
        found = undoing.stacks(self.history(), MAINTENANCE)
        return {step.origin.op for step in (*found.undone, *found.lost)}


def _one(taken: Taken) -> Operation:
    if taken.stopped:
        raise taken.stopped
    return taken.done[0]


class _Walk:
    """One way back, step by step. What others do meanwhile is not taken back with it.

    A dry run pretends: what it has taken back so far is in `values`, and these operations count as `gone`.
    """

    def __init__(self, what: str, before_purge: bool) -> None:
        self.what, self.before_purge = what, before_purge
        self.values: dict[Key, bytes | None] = {}
        self.gone: set[str] = set()
        self._expected: str | None = None
        self._step: Step | None = None
        self._coming = ""

    def decide(self, view: View, operations: Sequence[Operation]) -> Change:
        """The change that takes the next step back; may be asked again before it is `taken`.

        Raises:
            RefusedError: somebody else changed something since the last step.
        """
        found = undoing.stacks(operations, MAINTENANCE).without(self.gone)
        step = undoing.next_step(found, self.what, self.before_purge)
        if self._expected not in (None, step.operation.op):
            reason = f"somebody else changed something meanwhile (`{step.origin.command}`)"
            raise RefusedError(reason, hint="Look at `memctl log`, then try again.")
        self._step, self._coming = step, undoing.following(found, self.what, step)
        now = {key: self.values.get(key, value) for key, value in _present(view, step.operation).items()}
        return undoing.inverse(self.what, step, now, _later(operations, step))

    def taken(self, *, pretend: bool) -> Operation:
        """Note that the step was taken; returns what a person had made."""
        assert self._step
        if pretend:
            self.values |= {part.key: part.before for part in past.parts(self._step.operation)}
            self.gone.add(self._step.operation.op)
        self._expected = self._coming
        return self._step.origin


def _later(operations: Sequence[Operation], step: Step) -> Sequence[Operation]:
    place = next((at for at, operation in enumerate(operations) if operation.op == step.operation.op), -1)
    return operations[place + 1 :]


def _present(view: View, operation: Operation) -> dict[Key, bytes | None]:
    """What everything an operation touched is now."""
    return {part.key: present_value(view, part.key) for part in past.parts(operation)}
