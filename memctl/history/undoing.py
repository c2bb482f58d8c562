"""Taking back the last changes, and taking that back: step by step, each exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memctl.core.models import Change
from memctl.core.names import MAINTENANCE
from memctl.core.operations import Operation
from memctl.engine import Engine
from memctl.errors import MemctlError, NotFoundError, RefusedError
from memctl.history import past, stacks
from memctl.history.past import Key
from memctl.history.stacks import Step
from memctl.history.states import present_value
from memctl.storage.ports.view import View
from memctl.tasks import reopening


@dataclass(frozen=True)
class Taken:
    """What was taken back, the newest first, and why no more was; None where all was that was asked for."""

    done: tuple[Operation, ...]
    stopped: MemctlError | None = None

    def one(self) -> Operation:
        """The one change that was to be taken back.

        Raises:
            MemctlError: why it was not.
        """
        if self.stopped:
            raise self.stopped
        return self.done[0]


def take_back(engine: Engine, what: str, count: int, before_purge: bool, dry_run: bool, now: datetime) -> Taken:
    """Take back the last changes (`undo`) or the last undos (`redo`), as far as that can be done."""
    walk = _Walk(what, before_purge)
    taken: list[Operation] = []

    def decide(view: View) -> tuple[Change, None]:
        return walk.decide(view, engine.storage.operations()), None

    try:
        if dry_run:
            engine.refresh()
        while len(taken) < count:
            decide(engine.view()) if dry_run else engine.storage.apply(decide, now, tidy=False)
            taken.append(walk.taken(pretend=dry_run))
            if not dry_run:
                reopening.follow(engine.storage.sessions, what, taken[-1], now)
    except NotFoundError as problem:
        return Taken(tuple(taken), _at_the_end(problem, engine.storage.operations_trimmed))
    except MemctlError as problem:
        return Taken(tuple(taken), problem)
    return Taken(tuple(taken))


def _at_the_end(problem: NotFoundError, trimmed: bool) -> NotFoundError:
    """That there is no more to take back, with the reason where the log once held more."""
    if not trimmed:
        return problem
    hint = "What is older fell out of the log: the setting `log_limit_mb` says how much it keeps."
    return NotFoundError(problem.message, hint=hint)


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
        known = stacks.stacks(operations, MAINTENANCE).without(self.gone)
        step = stacks.next_step(known, self.what, self.before_purge)
        if self._expected not in (None, step.operation.op):
            reason = f"somebody else changed something meanwhile (`{step.origin.command}`)"
            raise RefusedError(reason, hint="Look at `memctl log`, then try again.")
        self._step, self._coming = step, stacks.following(known, self.what, step)
        now = {key: self.values.get(key, value) for key, value in _present(view, step.operation).items()}
        return stacks.inverse(self.what, step, now, _later(operations, step))

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
