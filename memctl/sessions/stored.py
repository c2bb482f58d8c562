"""Sessions: listing, reading, changing and deleting them; recording their messages; components of other programs.

`conversation` adds messages, `compacting` compacts, `learning` learns from the queue, `service` ends sessions.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from memctl.core import kept, times
from memctl.core.names import check_session_id
from memctl.core.session import EVICTED, Queued, Session, digest
from memctl.engine import Engine
from memctl.errors import ConflictError, InvalidDataError, LockedError, MemctlError, RefusedError
from memctl.sessions.state import in_run, messages_of, noting_queued, queued_in, run_of, task_of, with_messages

if TYPE_CHECKING:  # imported here, the rules of windows would slow down the start of every command
    from memctl.core.messages import Count, Message
    from memctl.sessions.window import Size
    from memctl.tasks.models import Task

MAIN = "main"
"""The default session."""

T = TypeVar("T")


class StateModule(Protocol):
    """A component that saves and loads its own state."""

    def save_state(self) -> Mapping[str, Any]: ...

    def load_state(self, state: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class SessionInfo:
    """A summary of a session.

    Args:
        active_at: the time when it was last saved.
        queued: the number of queued groups of messages.
        task: the current task; None without one.
        own: whether this machine's user wrote it; memctl learns from no others.
        problem: why its file is unreadable; empty if it is not.
    """

    session_id: str
    size: Size
    active_at: datetime | None
    queued: int = 0
    task: Task | None = None
    own: bool = True
    problem: str = ""


class StoredSessions:
    """The sessions in the storage, and their messages."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._storage = engine, engine.storage.sessions

    # Reading

    def ids(self) -> list[str]:
        return self._storage.ids()

    def all(self) -> list[SessionInfo]:
        """All sessions, the most recently used first, including unreadable ones."""
        infos = [self._info(session_id) for session_id in self._storage.ids()]
        oldest = datetime.min.replace(tzinfo=UTC)
        return sorted(infos, key=lambda info: (info.active_at or oldest, info.session_id), reverse=True)

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
        """A stored session.

        Raises:
            NotFoundError: no such session.
        """
        return self._storage.load(session_id)

    def need_own(self, session_id: str) -> None:
        """Check that this machine's user wrote a session, as memctl must not learn from a stranger's.

        Raises:
            RefusedError: another user wrote it.
        """
        session = self._storage.load_if_exists(session_id)
        if session is not None and not session.own:
            raise RefusedError(
                f"this user did not write session {session.session_id} on this machine: nothing is learned from it",
                hint="`memctl session show` prints it, `memctl state adopt` makes it yours.",
            )

    def read_offloaded(self, reference: str) -> str:
        """An offloaded content, by its reference.

        Raises:
            NotFoundError: it was deleted with its session.
            UsageError: the reference is malformed.
        """
        return self._storage.read_offloaded(reference)

    @cached_property
    def _count(self) -> Count:
        from memctl.context import tokens

        return tokens.load(self._engine.settings.tokenizer).count

    # Components of other programs

    def load_components(self, session_id: str, components: Mapping[str, StateModule]) -> bool:
        """Load the state of each component from a session, by name; False if there is no such session."""
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
    ) -> None:
        """Save the state of each component under its name; other components are kept.

        Args:
            overwrite: also replace a state that another program has saved since it was loaded.

        Raises:
            ConflictError: another program saved a state in the meantime; nothing was written.
        """
        now = now or times.utc_now()
        session_id = check_session_id(session_id)
        states = {name: dict(component.save_state()) for name, component in components.items()}

        def decide(before: Session) -> tuple[Session, None]:
            after = before
            for name, state in states.items():
                self._check_unchanged(before, name, state, overwrite)
                after = after.with_component(name, state)
            return self._with_kept(before, after, now), None

        self.change(session_id, decide, now, foreign=True)
        self._loaded |= {(session_id, name): digest(state) for name, state in states.items()}

    def _with_kept(self, before: Session, after: Session, now: datetime) -> Session:
        """The session to save, after recording its new messages."""
        if not after.own:
            return after
        try:
            earlier, messages = (kept.with_derived_ids(messages_of(each), each.session_id) for each in (before, after))
        except InvalidDataError:
            return after  # another program's state, which has no messages
        new = [message for message in messages if message not in earlier]
        if new and not run_of(after):
            return self._started(after, now)
        if new and self._keeps(after.session_id):
            self._import(after.session_id, new, run_of(after), now)
        return after

    def _check_unchanged(self, session: Session, name: str, state: Any, overwrite: bool) -> None:
        present = session.components.get(name)
        known = self._loaded.get((session.session_id, name), digest(None))
        if not overwrite and digest(present) not in (known, digest(state)):
            raise ConflictError(
                f"another program saved component {name!r} of session {session.session_id} in the meantime",
                hint="Load it again (`load_components`), or save with overwrite=True.",
            )

    @cached_property
    def _loaded(self) -> dict[tuple[str, str], str]:
        """The digests of component states when they were last loaded or saved."""
        return {}

    # Changing a session

    def change(
        self, session_id: str, decide: Callable[[Session], tuple[Session, T]], now: datetime, *, foreign: bool = False
    ) -> T:
        """Change a session under its lock, after completing an interrupted change; returns the decision's value.

        Args:
            foreign: also change a session that another user wrote; otherwise it is moved aside and a new one starts.
        """
        return self._storage.change(
            session_id, lambda before: decide(self._without_queued(before)), now, foreign=foreign
        )

    def _without_queued(self, session: Session) -> Session:
        """The session without messages that are queued already, as a crash can leave them."""
        if not session.stored:
            return session
        waiting = [name for _, name in self._storage.waiting(session.session_id)]
        noted = queued_in(session)
        queued_ids = {
            message_id
            for name in waiting
            if name not in noted and (queued := self._storage.queued(session.session_id, name))
            for message_id in _ids_in(queued)
        }
        if queued_ids:
            kept = [message for message in messages_of(session) if not queued_ids & set(message.ids)]
            session = with_messages(session, kept)
        return noting_queued(session, waiting) if set(waiting) != set(noted) else session

    def _record(self, session: Session, new: Sequence[Message], now: datetime) -> None:
        """Record new messages in the session's run. Call it with the session's lock held, after `_started` and before
        the window is written."""
        if self._keeps(session.session_id):
            records = (kept.kept(message, session.session_id, run_of(session), now) for message in new)
            self._engine.conversations.keep([record for record in records if record], now)

    def _keeps(self, session_id: str) -> bool:
        """Whether messages of a session are recorded: by the setting, unless the session is paused."""
        return self._engine.settings.keep_messages and not self._engine.conversations.is_paused(session_id)

    def _started(self, session: Session, now: datetime, *, durable: bool = False) -> Session:
        """The session with a run; call it with its lock held.

        Messages of a session without a run come from another program, or from a version of memctl without transcripts:
        they are recorded now, each once.

        Args:
            durable: write the file of a new session, so that a crash after its first message does not cause a second
                run.
        """
        from memctl.conversations.service import new_run

        if run_of(session):
            return session
        run = new_run(now)
        if session.own and self._keeps(session.session_id):
            run = self._import(session.session_id, self._earlier(session), run, now)
        session = in_run(session, run)
        exists = self._storage.exists(session.session_id)  # also if another user's file will be moved aside
        return session if exists or not durable else self._storage.write(session, now)

    def keep_earlier(self, now: datetime) -> None:
        """Record the messages of sessions without a run, from earlier versions and other programs."""
        for session_id in self._storage.ids():
            try:
                session = self._storage.load_if_exists(session_id)
                if session and session.own and not run_of(session) and messages_of(session):
                    self.change(session_id, lambda session: (self._started(session, now), None), now)
            except (InvalidDataError, LockedError):
                continue  # `memctl session list` and `doctor` say why

    def _earlier(self, session: Session) -> list[Message]:
        """The messages of a session before its first run, including evicted ones."""
        from memctl.core.messages import Message

        waiting = (self._storage.queued(*names) for names in self._storage.waiting(session.session_id))
        evicted = [each for each in waiting if each and each.own and not each.kept and each.reason == EVICTED]
        return [*(Message.read(state) for each in evicted for state in each.messages), *messages_of(session)]

    def _import(self, session_id: str, messages: Sequence[Message], run: str, now: datetime) -> str:
        """Record messages of another program or an earlier version, each once; returns their run."""
        complete = identified(kept.with_derived_ids(messages, session_id))
        records = (kept.kept(message, session_id, run, now) for message in complete if not message.is_unrecorded)
        return self._engine.conversations.import_run([record for record in records if record], now) or run

    def import_queued(self, queued: Queued, now: datetime) -> None:
        """Record messages that a version of memctl without transcripts left in the queue."""
        from memctl.conversations.service import new_run
        from memctl.core.messages import Message

        if queued.own and not queued.kept and self._keeps(queued.session_id):
            self._import(queued.session_id, [*map(Message.read, queued.messages)], new_run(now), now)

    def _sent_again(self, session: Session, new: Sequence[Message]) -> list[str]:
        """The ids of recorded messages that `new` repeats: a process died before they reached the window, and its
        successor sends them again."""
        window = [message_id for message in messages_of(session) for message_id in message.ids]
        if not run_of(session) or not self._keeps(session.session_id) or (not window and queued_in(session)):
            return []
        unacknowledged = self._engine.conversations.unacknowledged(run_of(session), window, len(new))
        same = [(each.role, each.text) for each in unacknowledged] == [
            _role_and_text(message) for message in new[: len(unacknowledged)]
        ]
        return [each.message_id for each in unacknowledged] if same else []

    def drop_messages(self, message_ids: Sequence[str], now: datetime) -> None:
        """Remove messages, with the tool calls and results paired with them, from all windows and the queue."""
        from memctl.sessions.window import units

        if not message_ids:
            return
        gone = set(message_ids)

        def decide(session: Session) -> tuple[Session, None]:
            messages = identified(messages_of(session))
            removed = {
                at for unit in units(messages) if any(gone & set(messages[at].ids) for at in unit) for at in unit
            }
            return with_messages(session, [message for at, message in enumerate(messages) if at not in removed]), None

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
        """Remove the queued messages of a session; nothing is learned from them."""
        for _, name in self._storage.waiting(session_id):
            self._storage.dequeue(session_id, name)

    def _enqueue(self, session: Session, messages: Sequence[Message], reason: str, now: datetime) -> Session:
        """Queue the recorded messages among those that leave a session, durably. Call it with the session's lock
        held."""
        messages = [message for message in messages if not message.is_unrecorded]
        if not messages:
            return session
        name = self._storage.queue_id(session.session_id, [i for m in messages for i in m.ids], now)
        states = tuple(message.state for message in messages)
        self._storage.enqueue(Queued(name, session.session_id, now, states, reason, session.own))
        return noting_queued(session, [*queued_in(session), name])

    def need(self, session_id: str) -> None:
        """Check that there is a session, or the queue of one.

        Raises:
            NotFoundError: there is neither; similar ids are suggested.
        """
        session_id = check_session_id(session_id)
        if not self._storage.exists(session_id) and not self._storage.waiting(session_id):
            self._storage.load(session_id)

    def delete(self, session_id: str, *, now: datetime | None = None) -> None:
        """Delete a session, its offloaded contents and its queue; nothing is learned from it.

        Raises:
            NotFoundError: no such session.
        """
        session_id = check_session_id(session_id)
        with self._storage.locked(session_id):
            self.need(session_id)
            run = self._readable_run(session_id)
            self._storage.delete(session_id)
            self._drop_waiting(session_id)
        if run:
            self._engine.conversations.delete_run(run, now=now)

    def messages_in_use(self) -> set[str]:
        """What retention must keep: runs of open sessions, names of unreadable ones, and ids of messages that were not
        learned from yet."""
        in_use: set[str] = set()
        for session_id in self._storage.ids():
            try:
                in_use.add(run_of(self._storage.load(session_id)) or session_id)
            except MemctlError:
                in_use.add(session_id)
        for owner, name in self._storage.waiting():
            try:
                queued = self._storage.queued(owner, name)
            except MemctlError:
                in_use.add(owner)
                continue
            in_use |= _ids_in(queued) if queued else set()
        return in_use

    def _readable_run(self, session_id: str) -> str:
        """The run of a session of this user; empty if it has none, or its file is unreadable."""
        try:
            session = self._storage.load_if_exists(session_id)
        except MemctlError:
            return ""
        return run_of(session) if session and session.own else ""


def new_ids() -> Iterator[str]:
    while True:
        yield f"msg_{secrets.token_hex(8)}"


def identified(messages: Sequence[Message]) -> tuple[Message, ...]:
    from memctl.core import messages as rules

    return rules.identified(messages, new_ids())


def _role_and_text(message: Message) -> tuple[str, str]:
    """A message's role and text as recorded."""
    record = kept.kept(message, "", "", datetime.min.replace(tzinfo=UTC))
    return (record.role, record.text) if record else ("", "")


def _ids_in(queued: Queued) -> set[str]:
    from memctl.core.messages import Message

    return {message_id for state in queued.messages for message_id in Message.read(state).ids}
