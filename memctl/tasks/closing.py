"""What a task that is over leaves behind: its episode, what it teaches, how failed calls were mended on the way.

Closing is marked in the session's file first, then the episode is written, then the task leaves the file. What a
process that dies in between leaves undone the next command does; the episode bears the task's id, so there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memctl.core import records, times
from memctl.core.formats import reflections
from memctl.core.models import ACTIVE, Change, Filters, Memory
from memctl.core.sensitive import MASK
from memctl.core.session import Session
from memctl.engine import Engine
from memctl.errors import InvalidDataError, MemctlError
from memctl.reflections.writing import Written, written
from memctl.sessions.service import Sessions
from memctl.sessions.state import task_of, with_task
from memctl.sessions.windows import MAIN
from memctl.storage.ports.view import View
from memctl.strategies.service import Recorded, Strategies

if TYPE_CHECKING:  # the rules of tasks cost every command's start, if they are imported here
    from memctl.tasks.rules import Task
    from memctl.tasks.strategies import Proposal


@dataclass(frozen=True)
class Closed:
    """What became of a task that is over.

    Args:
        episode: its record; None where it had been written before.
        strategy: the record of what worked, or why it failed; None where nobody can say.
        reflection: the file of that strategy; `.proposed.md` where a person edited the strategy's own.
        recoveries: how failed calls of tools were mended on the way, recorded as error-recovery strategies.
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
    """What becomes of tasks that are over."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._sessions, self._storage = engine, Sessions(engine), engine.storage.sessions

    def _finish_closed(self, session_id: str, now: datetime) -> Closed | None:
        """Archive a task that was closed by a process which died before it could."""
        session = self._storage.load_if_exists(session_id)
        task = task_of(session) if session and session.own else None
        return self._archive(task, now) if task and not task.is_open else None

    def finish_closed(self, now: datetime | None = None) -> list[Closed]:
        """Archive what a process that died left closed in any session; part of `maintain`."""
        now = now or times.utc_now()
        found = (self._closed_or_none(session_id, now) for session_id in self._sessions.ids())
        return [closed for closed in found if closed]

    def _closed_or_none(self, session_id: str, now: datetime) -> Closed | None:
        try:
            return self._finish_closed(session_id, now)
        except InvalidDataError:
            return None  # `memctl session list` says what is wrong with it

    def _archive(self, task: Task, now: datetime, untold: Sequence[str] = ()) -> Closed:
        """Write what a task that is over leaves behind, then take it out of its session.

        Args:
            untold: what a language model shall say later.
        """
        from memctl.tasks import episodes as task_episodes
        from memctl.tasks import strategies as task_strategies

        recoveries = tuple(self._recorded_recoveries(task, now))
        told = bool(recoveries) and not untold and task_episodes.told_by_recoveries(task)
        taught = [found.memory.memory_id for found in recoveries] if told else []
        drafted = task_episodes.waiting_for_model(task_episodes.episode_of(task, taught), untold)
        episode = self._engine.completed(drafted, now)
        proposal = None if told else task_strategies.strategy_of(task)
        noted = [self._engine.completed(task_episodes.knowledge_of(task, text), now) for text in task.knowledge]
        blank = self._engine.completed(_strategy_record(proposal), now) if proposal else None

        def decide(view: View) -> tuple[Change, Closed]:
            if view.imported(task.id):
                return Change("task"), Closed(task, recoveries=recoveries)
            # Together, so that they get different ids.
            new = [memory for memory in noted if not view.same_text(memory.content)]
            written, *fresh = view.unused([episode, *new, *([blank] if blank else [])])
            candidates = tuple(replace(memory, sources=(written.memory_id,)) for memory in fresh[: len(new)])
            if proposal is None or not blank:
                closed = Closed(task, written, recoveries=recoveries, knowledge=candidates)
                return Change("task", (written, *candidates)), closed
            strategy, detail = strategy_change(view, proposal, fresh[-1], written, now)
            closed = Closed(task, written, strategy, detail.path, recoveries, candidates)
            return Change("task", (written, *candidates, strategy), texts=detail.edits), closed

        closed = self._engine.apply(decide, now, on_secret=MASK)
        self._clear_task(task, now)
        return closed

    def _recorded_recoveries(self, task: Task, now: datetime) -> list[Recorded]:
        """The error-recovery strategies that the steps show: a call failed, the same tool called otherwise did not."""
        from memctl.tasks.episodes import recoveries

        self._engine.refresh()
        if self._engine.view().imported(task.id):
            return []
        found = []
        for failed, mended in recoveries(task):
            kind, _, message = failed.error.partition(":")
            error = kind.strip() if kind.strip().isidentifier() else "Error"
            told = message.strip() if error == kind.strip() else failed.error
            try:
                found.append(
                    Strategies(self._engine).record(
                        failed.tool_name, error, message=told, original=failed.args, fixed=mended.args, now=now
                    )
                )
            except MemctlError:
                continue  # the steps name no usable tool, or their arguments show no pattern: nothing to learn
        return found

    def _clear_task(self, task: Task, now: datetime) -> None:
        def clear(session: Session) -> tuple[Session, None]:
            held = task_of(session)
            return with_task(session, None) if held and held.id == task.id else session, None

        self._sessions.change(task.session_id or MAIN, clear, now)


# Strategies of tasks


def _strategy_record(proposal: Proposal) -> Memory:
    """A new strategy, without its sources."""
    from memctl.tasks.episodes import SOURCE
    from memctl.tasks.strategies import strategy_confidence

    return Memory(
        "",
        proposal.content,
        kind="strategy",
        category="strategy",
        subcategory="task",
        tags=proposal.tags,
        confidence=strategy_confidence(1),
        importance=records.IMPORTANCE["strategy"],
        source=SOURCE,
        metadata={"task_description": proposal.description, "verdict": proposal.verdict},
    )


def strategy_change(
    view: View, proposal: Proposal, blank: Memory, episode: Memory, now: datetime
) -> tuple[Memory, Written]:
    """The record of what a task teaches, `blank` or a known one, and its reflection, made anew from all its episodes.

    What a person edited is never overwritten: the new text is laid beside it.
    """
    from memctl.tasks.strategies import strategy_body, strategy_confidence

    held = _known(view, proposal, now)
    sources = (*(held.sources if held else ()), episode.memory_id)
    episodes = [found for found in map(view.get, sources[:-1]) if found] + [episode]
    body = strategy_body(proposal, episodes)
    if held is None:
        record = replace(blank, sources=sources, session_id=episode.session_id)
    else:
        record = replace(
            held, sources=sources, mentions=held.mentions + 1, confidence=strategy_confidence(len(sources)),
            tags=tuple(dict.fromkeys((*held.tags, *proposal.tags))), updated_at=now,
        )  # fmt: skip
    path = record.summary_md_ref if reflections.is_reference(record.summary_md_ref) else ""
    path = path or reflections.path_for(record.memory_id)
    record = replace(record, summary_md_ref=path)
    return record, written(view, record, body, now)


def _known(view: View, proposal: Proposal, now: datetime) -> Memory | None:
    """The strategy there is of the same kind of task, with the same verdict."""
    from memctl.tasks.strategies import STRATEGY_TAG, same_task

    description = proposal.description
    strategies = view.matching(Filters(kinds=("strategy",), tags=(STRATEGY_TAG, proposal.verdict)), now)
    alike = (m for m in strategies if same_task(str(m.metadata.get("task_description", "")), description))
    return next((memory for memory in alike if memory.status == ACTIVE), None)
