"""What the components of a session's file hold: the conversation, the task at hand, what memctl notes of the two.

Components of other programs stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memctl.core.session import Session
from memctl.errors import InvalidDataError

if TYPE_CHECKING:  # the rules of messages and tasks cost every command's start, if they are imported here
    from memctl.core.messages import Message
    from memctl.tasks.rules import Task

MEMORY, OWN, TASK = "Memory", "memctl", "task"
"""Components memctl writes: the conversation, what it notes of it, and the task at hand."""

_BEFORE = "task_before"


def memory_component(session: Session) -> str:
    """The name of the component that holds the conversation: memctl's own, else the first of another program's."""
    others = [name for name, state in session.components.items() if isinstance(state, Mapping) and "messages" in state]
    return MEMORY if MEMORY in session.components or not others else others[0]


def messages_of(session: Session) -> tuple[Message, ...]:
    """The messages of a session.

    Raises:
        InvalidDataError: the component that holds them is broken.
    """
    from memctl.core.messages import from_state

    try:
        return from_state(session.components.get(memory_component(session), {"messages": []}))
    except InvalidDataError as problem:
        raise InvalidDataError(problem.reason, path=f"sessions/{session.session_id}.json", hint=problem.hint) from None


def with_messages(session: Session, messages: Sequence[Message]) -> Session:
    """The session with other messages."""
    from memctl.core.messages import to_state

    name = memory_component(session)
    return session.with_component(name, to_state(messages, session.components.get(name)))


def task_of(session: Session) -> Task | None:
    """The task at hand of a session.

    Raises:
        InvalidDataError: the component is broken.
    """
    from memctl.tasks.state import from_state

    state = session.components.get(TASK)
    return None if state is None else from_state(state)


def with_task(session: Session, task: Task | None) -> Session:
    """The session at another task, or at none."""
    from memctl.tasks.state import to_state

    return session.with_component(TASK, to_state(task) if task else None)


def queued_in(session: Session) -> list[str]:
    """Queue ids a session knows to have left it."""
    own = session.components.get(OWN)
    found = own.get("queued") if isinstance(own, Mapping) else None
    return [str(name) for name in found] if isinstance(found, list) else []


def noting_queued(session: Session, names: Sequence[str]) -> Session:
    return _noting(session, "queued", list(names))


def run_of(session: Session) -> str:
    """The id of the session's run, by which its messages are kept; empty before the first is."""
    own = session.components.get(OWN)
    found = own.get("run") if isinstance(own, Mapping) else None
    return found if isinstance(found, str) else ""


def in_run(session: Session, run: str) -> Session:
    """The session in a run; in none where it is empty."""
    return _noting(session, "run", run)


def _noting(session: Session, name: str, value: Any) -> Session:
    """The session with something noted by memctl; without it where the value is empty."""
    own = session.components.get(OWN)
    kept = {**(own if isinstance(own, Mapping) else {}), name: value}
    if not value:
        kept.pop(name)
    return session.with_component(OWN, kept or None)


def noting_task(session: Session, task: Task) -> Session:
    """The session with a task noted as it was before it was closed: taking that back brings it back."""
    from memctl.tasks.state import to_state

    return _noting(session, _BEFORE, to_state(task))


def task_before(session: Session, task_id: str) -> Task | None:
    """A task of this id as it was before it was closed; None where the session does not know any more."""
    from memctl.tasks.state import from_state

    own = session.components.get(OWN)
    state = own.get(_BEFORE) if isinstance(own, Mapping) else None
    return from_state(state) if isinstance(state, Mapping) and state.get("id") == task_id else None


def is_needed(session: Session) -> bool:
    """Whether a session's file holds anything but an empty conversation: a task, or what is another program's."""
    memory = memory_component(session)
    state = session.components.get(memory)
    more = set(state) - {"messages"} if isinstance(state, Mapping) else set()
    return bool(set(session.components) - {memory, OWN} or more or session.extra)
