"""Tasks whose end is taken back: they are at hand again, in their session's file, which the log does not cover."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from memctl.core.formats import document
from memctl.core.models import Memory
from memctl.core.operations import Operation
from memctl.core.session import Session
from memctl.errors import MemctlError
from memctl.history.stacks import UNDO
from memctl.sessions.state import task_before, task_of, with_task
from memctl.storage.ports.sessions import SessionStorage

COMMAND = "task"
"""Command of the change that the end of a task makes."""


def follow(sessions: SessionStorage, what: str, operation: Operation, now: datetime) -> None:
    """After the end of a task was undone, put the task back; after that was redone, take it out again.

    A session that has ended meanwhile, or is at another task, stays as it is.

    Args:
        what: `undo` or `redo`.
        operation: what was taken back, as a person made it.
    """
    for episode in _ended(operation):
        try:
            if sessions.load_if_exists(episode.session_id):
                sessions.change(episode.session_id, _changing(what, episode), now)
        except MemctlError:
            continue  # a session that cannot be read: `memctl session list` says why


def _changing(what: str, episode: Memory) -> Callable[[Session], Session]:
    def change(session: Session) -> Session:
        held, before = task_of(session), task_before(session, episode.external_id)
        if what == UNDO:
            return with_task(session, before) if held is None and before else session
        return with_task(session, None) if held and held.id == episode.external_id else session

    return change


def _ended(operation: Operation) -> Iterable[Memory]:
    """Episodes of tasks that an operation wrote."""
    if operation.command != COMMAND:
        return
    for step in operation.records:
        if step.before is None and step.after is not None:
            memory = document.decode_raw(step.after.encode())
            if memory.kind == "episode" and memory.external_id.startswith("task_") and memory.session_id:
                yield memory
