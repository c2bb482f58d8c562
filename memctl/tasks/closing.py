"""What remains of a task that is over: its episode, what it teaches, how failed calls were fixed on the way.

The session's file marks the task as closed first; then the episode is written; then the task leaves the file. The next
command finishes what a crash cuts short, and the episode bears the task's id, so that it is written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memctl.core import times
from memctl.core.models import Change, Memory
from memctl.core.sensitive import MASK
from memctl.core.session import Session
from memctl.engine import Engine
from memctl.errors import InvalidDataError, MemctlError
from memctl.sessions.service import Sessions
from memctl.sessions.state import task_of, with_task
from memctl.sessions.windows import MAIN
from memctl.storage.ports.view import View
from memctl.strategies.recording import Recorded
from memctl.strategies.service import Strategies

if TYPE_CHECKING:  # imported here, the rules of tasks would slow down the start of every command
    from memctl.tasks.rules import Step, Task


@dataclass(frozen=True)
class Closed:
    """What remains of a task that is over.

    Args:
        episode: its record; None where it was written before.
        strategy: the record of what worked, or why it failed; None where that is not known.
        reflection: the file of the strategy; `.proposed.md` where a person edited the strategy's own.
        recoveries: error-recovery strategies from calls that failed and were fixed.
        knowledge: candidates for new knowledge, for a person to confirm or reject.
    """

    task: Task
    episode: Memory | None = None
    strategy: Memory | None = None
    reflection: str = ""
    recoveries: tuple[Recorded, ...] = ()
    knowledge: tuple[Memory, ...] = ()
    notes: tuple[str, ...] = ()


class Closing:
    """Archives tasks that are over."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._sessions, self._storage = engine, Sessions(engine), engine.storage.sessions

    def _finish_closed(self, session_id: str, now: datetime) -> Closed | None:
        """Archive a task that another process closed and did not archive before it died."""
        session = self._storage.load_if_exists(session_id)
        task = task_of(session) if session and session.own else None
        return self._archive(task, now) if task and not task.is_open else None

    def finish_closed(self, now: datetime | None = None) -> list[Closed]:
        """Archive the closed tasks that a crash left in any session; part of `maintain`."""
        now = now or times.utc_now()
        tasks = (self._closed_or_none(session_id, now) for session_id in self._sessions.ids())
        return [closed for closed in tasks if closed]

    def _closed_or_none(self, session_id: str, now: datetime) -> Closed | None:
        try:
            return self._finish_closed(session_id, now)
        except InvalidDataError:
            return None  # `memctl session list` says why

    def _archive(self, task: Task, now: datetime, unexplained: Sequence[str] = ()) -> Closed:
        """Write what remains of a closed task, then take it out of its session.

        Args:
            unexplained: what a language model is to explain later.
        """
        from memctl.tasks import episodes, strategies

        recoveries = tuple(self._recorded_recoveries(task, now))
        covered = bool(recoveries) and not unexplained and episodes.taught_by_corrections(task)
        taught = [recorded.memory.memory_id for recorded in recoveries] if covered else []
        draft = episodes.waiting_for_model(episodes.episode_of(task, taught), unexplained)
        episode = self._engine.completed(draft, now)
        proposal = None if covered else strategies.proposal_of(task)
        knowledge = [self._engine.completed(episodes.knowledge_of(task, text), now) for text in task.knowledge]
        blank = self._engine.completed(strategies.new_record(proposal), now) if proposal else None

        def decide(view: View) -> tuple[Change, Closed]:
            if view.imported(task.id):
                return Change("task"), Closed(task, recoveries=recoveries)
            new = [memory for memory in knowledge if not view.same_text(memory.content)]
            # One call, so that all ids differ.
            written, *others = view.unused([episode, *new, *([blank] if blank else [])])
            candidates = tuple(replace(memory, sources=(written.memory_id,)) for memory in others[: len(new)])
            closed = Closed(task, written, recoveries=recoveries, knowledge=candidates)
            if proposal is None or not blank:
                return Change("task", (written, *candidates)), closed
            strategy, file = strategies.taught(view, proposal, others[-1], written, now)
            closed = replace(closed, strategy=strategy, reflection=file.path)
            return Change("task", (written, *candidates, strategy), texts=file.edits), closed

        closed = self._engine.apply(decide, now, on_secret=MASK)
        self._clear_task(task, now)
        return closed

    def _recorded_recoveries(self, task: Task, now: datetime) -> list[Recorded]:
        """Error-recovery strategies from the task's steps, as far as they show any."""
        from memctl.tasks.episodes import corrected_steps

        self._engine.refresh()
        if self._engine.view().imported(task.id):
            return []
        recorded = (self._recovery(failed, fixed, now) for failed, fixed in corrected_steps(task))
        return [each for each in recorded if each]

    def _recovery(self, failed: Step, fixed: Step, now: datetime) -> Recorded | None:
        kind, _, message = (part.strip() for part in failed.error.partition(":"))
        error, message = (kind, message) if kind.isidentifier() else ("Error", failed.error)
        try:
            return Strategies(self._engine).record(
                failed.tool_name, error, message=message, original=failed.args, fixed=fixed.args, now=now
            )
        except MemctlError:
            return None  # no usable tool name, or no pattern in the arguments

    def _clear_task(self, task: Task, now: datetime) -> None:
        def clear(session: Session) -> tuple[Session, None]:
            current = task_of(session)
            return with_task(session, None) if current and current.id == task.id else session, None

        self._sessions.change(task.session_id or MAIN, clear, now)
