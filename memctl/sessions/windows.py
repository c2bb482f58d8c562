"""Sessions: which there are, what their files hold, and the one way in which they are changed.

What fills them is in `conversations`, what makes room in `compacting`, what ends them in `ending`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from memctl.core import kept, times
from memctl.core.names import check_session_id
from memctl.core.session import EVICTED, Queued, Session, digest
from memctl.engine import Engine
from memctl.errors import ConflictError, InvalidDataError, LockedError, MemctlError, RefusedError
from memctl.sessions.state import (
    in_run,
    messages_of,
    noting_queued,
    queued_in,
    run_of,
    task_of,
    with_messages,
)

if TYPE_CHECKING:  # the rules of windows cost every command's start, if they are imported here
    from memctl.core.messages import Count, Message
    from memctl.sessions.window import Size
    from memctl.tasks.rules import Task

MAIN = "main"
"""The session that is meant where none is named."""


class StateModule(Protocol):
    """A component that saves and loads its own state."""

    def save_state(self) -> Mapping[str, Any]: ...

    def load_state(self, state: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class SessionInfo:
    """A session at a glance.

    Args:
        active_at: when it was saved last.
        queued: how many groups of messages wait to become episodes.
        task: the task at hand, None where there is none.
        own: whether this machine's user wrote it; else nothing is learned from it.
        problem: why its file cannot be read; empty where it can.
    """

    session_id: str
    size: Size
    active_at: datetime | None
    queued: int = 0
    task: Task | None = None
    own: bool = True
    problem: str = ""


class Windows:
    """The sessions of agents, as files."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._storage = engine, engine.storage.sessions

    # Looking

    def ids(self) -> list[str]:
        return self._storage.ids()

    def all(self) -> list[SessionInfo]:
        """All sessions, the one used last first; one that cannot be read says why."""
        found = [self._info(session_id) for session_id in self._storage.ids()]
        oldest = datetime.min.replace(tzinfo=UTC)
        return sorted(found, key=lambda info: (info.active_at or oldest, info.session_id), reverse=True)

    def _info(self, session_id: str) -> SessionInfo:
        from memctl.sessions.window import Size, size

        try:
            session = self._storage.load(session_id)
            messages = messages_of(session)
            task = task_of(session)
        except MemctlError as problem:
            return SessionInfo(session_id, Size(0, 0, 0), None, problem=problem.message)
        waiting = len(self._storage.waiting(session_id))
        return SessionInfo(session_id, size(messages, self._count), session.saved_at, waiting, task, session.own)

    def get(self, session_id: str) -> Session:
        """A session as it stands in its file.

        Raises:
            NotFoundError: there is none.
        """
        return self._storage.load(session_id)

    def need_own(self, session_id: str) -> None:
        """Go on only if this machine's user wrote a session: what a stranger put there is no source of memories.

        Raises:
            RefusedError: somebody else wrote it.
        """
        session = self._storage.load_if_exists(session_id)
        if session is not None and not session.own:
            raise RefusedError(
                f"this user did not write session {session.session_id} on this machine: nothing is learned from it",
                hint="`memctl session show` shows it, `memctl state adopt` makes it yours.",
            )

    def read_offloaded(self, reference: str) -> str:
        """A content that was laid aside, by the reference that stands in its place.

        Raises:
            NotFoundError: it is gone with its session.
            UsageError: no such reference can be.
        """
        return self._storage.read_offloaded(reference)

    @cached_property
    def _count(self) -> Count:
        from memctl.context import tokens

        return tokens.load(self._engine.settings.tokenizer).count

    # Components of others

    def load_components(self, session_id: str, components: Mapping[str, StateModule]) -> bool:
        """Give each component the state a session holds under its name; False where there is no such session."""
        session = self._storage.load_if_exists(session_id)
        if session is None:
            return False
        for name, component in components.items():
            state = session.components.get(name)
            self._loaded[check_session_id(session_id), name] = digest(state)
            if state is not None:
                component.load_state(state)
        return True

    def save_components(
        self,
        session_id: str,
        components: Mapping[str, StateModule],
        *,
        overwrite: bool = False,
        now: datetime | None = None,
    ) -> Session:
        """Write the state of each component under its name; the session's other components stay.

        Args:
            overwrite: also where a component's state was saved by somebody else since it was loaded here.

        Raises:
            ConflictError: it was, and nothing is written.
        """
        now = now or times.utc_now()
        session_id = check_session_id(session_id)
        states = {name: dict(component.save_state()) for name, component in components.items()}

        def put(before: Session) -> Session:
            after = before
            for name, state in states.items():
                self._check_unchanged(before, name, state, overwrite)
                after = after.with_component(name, state)
            return self._with_kept(before, after, now)

        saved = self.change(session_id, put, now, foreign=True)
        self._loaded |= {(session_id, name): digest(state) for name, state in states.items()}
        return saved

    def _with_kept(self, before: Session, after: Session, now: datetime) -> Session:
        """A session that was changed as a whole, what is new in it kept, also where another program saved it."""
        if not after.own:
            return after
        try:
            earlier, messages = (kept.with_derived_ids(messages_of(each), each.session_id) for each in (before, after))
        except InvalidDataError:
            return after  # not in the form of messages: that is the other program's own business
        new = [message for message in messages if message not in earlier]
        if new and not run_of(after):
            return self._begun(after, now)
        if new and self._keeps(after.session_id):
            self._brought(after.session_id, new, run_of(after), now)
        return after

    def _check_unchanged(self, session: Session, name: str, state: Any, overwrite: bool) -> None:
        present = session.components.get(name)
        known = self._loaded.get((session.session_id, name), digest(None))
        if not overwrite and digest(present) not in (known, digest(state)):
            raise ConflictError(
                f"component {name!r} of session {session.session_id} was saved by someone else in the meantime",
                hint="Load it again (`load_components`), or save with overwrite=True.",
            )

    @cached_property
    def _loaded(self) -> dict[tuple[str, str], str]:
        """What the state of a component was when it was loaded or saved here last."""
        return {}

    # Changing a session

    def change(
        self, session_id: str, decide: Callable[[Session], Session], now: datetime, *, foreign: bool = False
    ) -> Session:
        """Change a session under its lock, after finishing what a crash cut short.

        Args:
            foreign: also one that somebody else wrote; else that is moved aside, and a new one begins.
        """

        def settled(before: Session) -> Session:
            return decide(self._settled(before))

        return self._storage.change(session_id, settled, now, foreign=foreign)

    def _settled(self, session: Session) -> Session:
        """The session without messages that are in the queue already: a process died before it could take them out."""
        if not session.digest:
            return session
        waiting = [name for _, name in self._storage.waiting(session.session_id)]
        noted = queued_in(session)
        left = {
            message_id
            for name in waiting
            if name not in noted and (queued := self._storage.queued(session.session_id, name))
            for message_id in _ids_in(queued)
        }
        if left:
            kept = [message for message in messages_of(session) if not left & set(message.ids)]
            session = with_messages(session, kept)
        return noting_queued(session, waiting) if set(waiting) != set(noted) else session

    def _kept(self, session: Session, new: Sequence[Message], now: datetime) -> None:
        """Keep messages that were added, in the session's run; call it with the session's lock held, before the window
        is written, and after `_begun`."""
        if self._keeps(session.session_id):
            found = (kept.kept(message, session.session_id, run_of(session), now) for message in new)
            self._engine.conversations.keep([message for message in found if message], now)

    def _keeps(self, session_id: str) -> bool:
        """Whether what is said in a session is kept: the setting, unless it is paused."""
        return self._engine.settings.keep_messages and not self._engine.conversations.is_paused(session_id)

    def _begun(self, session: Session, now: datetime, *, durable: bool = False) -> Session:
        """The session in a run; call it with its lock held. What stands in one without a run is from another program,
        or from a version of memctl that had no transcripts: that is kept now, each message once.

        Args:
            durable: write the file of a new session, so that a crash after its first message was kept does not begin
                another run.
        """
        from memctl.conversations.service import new_run

        if run_of(session):
            return session
        run = new_run(now)
        if session.own and self._keeps(session.session_id):
            run = self._brought(session.session_id, self._earlier(session), run, now)
        session = in_run(session, run)
        # Somebody else's is moved aside later.
        there = self._storage.exists(session.session_id)
        return session if there or not durable else self._storage.write(session, now)

    def keep_earlier(self, now: datetime) -> None:
        """Keep the messages of sessions that have no run yet: those of earlier versions, and of other programs."""
        for session_id in self._storage.ids():
            try:
                session = self._storage.load_if_exists(session_id)
                if session and session.own and not run_of(session) and messages_of(session):
                    self.change(session_id, lambda session: self._begun(session, now), now)
            except (InvalidDataError, LockedError):
                continue  # `memctl session list` and `doctor` say why

    def _earlier(self, session: Session) -> list[Message]:
        """The messages of a session from before it had a run: those that wait in the queue, those in its window."""
        from memctl.core.messages import Message

        waiting = (self._storage.queued(session.session_id, name) for name in self._waiting_of(session.session_id))
        evicted = [each for each in waiting if each and each.own and not each.kept and each.reason == EVICTED]
        return [*(Message.read(state) for each in evicted for state in each.messages), *messages_of(session)]

    def _waiting_of(self, session_id: str) -> list[str]:
        return [name for _, name in self._storage.waiting(session_id)]

    def _brought(self, session_id: str, messages: Sequence[Message], run: str, now: datetime) -> str:
        """Keep messages of another program or an earlier version, each once; returns the run they are in."""
        whole = identified(kept.with_derived_ids(messages, session_id))
        found = (kept.kept(message, session_id, run, now) for message in whole if not message.is_unrecorded)
        return self._engine.conversations.bring([message for message in found if message], now) or run

    def bring_queued(self, queued: Queued, now: datetime) -> None:
        """Keep the messages that wait in the queue since a version of memctl that had no transcripts."""
        from memctl.conversations.service import new_run
        from memctl.core.messages import Message

        if queued.own and not queued.kept and self._keeps(queued.session_id):
            self._brought(queued.session_id, [*map(Message.read, queued.messages)], new_run(now), now)

    def _sent_again(self, session: Session, new: Sequence[Message]) -> list[str]:
        """The ids of messages that were kept, and did not reach the window before a process died, where a program that
        goes on says them again: they are the first of the new ones."""
        window = [each for message in messages_of(session) for each in message.ids]
        if not run_of(session) or not self._keeps(session.session_id) or (not window and queued_in(session)):
            return []
        left = self._engine.conversations.unacknowledged(run_of(session), window, len(new))
        same = [(each.role, each.text) for each in left] == [_said(message) for message in new[: len(left)]]
        return [each.message_id for each in left] if same else []

    def drop_messages(self, message_ids: Sequence[str], now: datetime) -> None:
        """Take messages, with the calls and results that belong to them, out of every window and out of the queue."""
        from memctl.sessions.window import units

        if not message_ids:
            return
        gone = set(message_ids)

        def decide(session: Session) -> Session:
            found = identified(messages_of(session))
            going = {at for unit in units(found) if any(gone & set(found[at].ids) for at in unit) for at in unit}
            return with_messages(session, [message for at, message in enumerate(found) if at not in going])

        for session_id in self._storage.ids():
            session = self._storage.load_if_exists(session_id)
            if session and session.own and any(gone & set(message.ids) for message in messages_of(session)):
                self.change(session_id, decide, now)
        for session_id, name in self._storage.waiting():
            self._drop_queued(session_id, name, gone)

    def _drop_queued(self, session_id: str, name: str, gone: set[str]) -> None:
        from memctl.core.messages import Message

        with self._storage.locked(session_id):
            queued = self._storage.queued(session_id, name)
            if queued is None or not queued.own or not gone & _ids_in(queued):
                return
            kept_states = tuple(state for state in queued.messages if not gone & set(Message.read(state).ids))
            self._storage.enqueue(replace(queued, messages=kept_states))

    def _drop_waiting(self, session_id: str) -> None:
        """Take out of the queue what waits of a session: nothing is learned from it."""
        for _, name in self._storage.waiting(session_id):
            self._storage.dequeue(session_id, name)

    def _enqueue(self, session: Session, messages: Sequence[Message], reason: str, now: datetime) -> Session:
        """Queue messages that leave a session, to be learned from; those that are not recorded are left out. It is
        durable when this returns. Call it with the session's lock held."""
        messages = [message for message in messages if not message.is_unrecorded]
        if not messages:
            return session
        name = self._storage.queue_id(session.session_id, [i for m in messages for i in m.ids], now)
        states = tuple(message.state for message in messages)
        self._storage.enqueue(Queued(name, session.session_id, now, states, reason, session.own))
        return noting_queued(session, [*queued_in(session), name])

    def delete(self, session_id: str, *, now: datetime | None = None) -> bool:
        """Remove a session, what was laid aside for it, and what waits of it: nothing is learned from it.

        Raises:
            NotFoundError: there is none.
        """
        session_id = check_session_id(session_id)
        with self._storage.locked(session_id):
            waiting = self._storage.waiting(session_id)
            there = self._storage.exists(session_id)
            if not there and not waiting:
                self._storage.load(session_id)  # says which there are
            run = self._readable_run(session_id)
            self._storage.delete(session_id)
            self._drop_waiting(session_id)
        if run:
            self._engine.conversations.delete_run(run, now=now)
        return there or bool(waiting)

    def messages_in_use(self) -> set[str]:
        """The runs of open sessions, the names of those whose files cannot be read, and the ids of messages from which
        nothing was learned yet: none of it may be deleted for its age."""
        found: set[str] = set()
        for session_id in self._storage.ids():
            try:
                found.add(run_of(self._storage.load(session_id)) or session_id)
            except MemctlError:
                found.add(session_id)
        for owner, name in self._storage.waiting():
            try:
                queued = self._storage.queued(owner, name)
            except MemctlError:
                found.add(owner)
                continue
            found |= _ids_in(queued) if queued else set()
        return found

    def _readable_run(self, session_id: str) -> str:
        """The run of a session; empty where it has none, or its file cannot be read."""
        try:
            session = self._storage.load_if_exists(session_id)
        except MemctlError:
            return ""
        return run_of(session) if session and session.own else ""


def new_ids() -> Iterator[str]:
    """Ids for messages."""
    while True:
        yield f"msg_{secrets.token_hex(8)}"


def identified(messages: Sequence[Message]) -> tuple[Message, ...]:
    from memctl.core import messages as rules

    return rules.identified(messages, new_ids())


def _said(message: Message) -> tuple[str, str]:
    """What a message says, as it is kept."""
    found = kept.kept(message, "", "", datetime.min.replace(tzinfo=UTC))
    return (found.role, found.text) if found else ("", "")


def _ids_in(queued: Queued) -> set[str]:
    from memctl.core.messages import Message

    return {message_id for state in queued.messages for message_id in Message.read(state).ids}
