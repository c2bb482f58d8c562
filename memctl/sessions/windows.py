"""Sessions: listing, reading, changing and deleting them; the record of their messages; components of other programs.

`conversation` adds messages, `compacting` makes room, `learning` learns from the queue, `service` ends sessions.
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
    from memctl.tasks.rules import Task

MAIN = "main"
"""The session used where none is named."""

T = TypeVar("T")


class StateModule(Protocol):
    """A component that saves and loads its own state."""

    def save_state(self) -> Mapping[str, Any]: ...

    def load_state(self, state: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class SessionInfo:
    """A session at a glance.

    Args:
        active_at: when it was last saved.
        queued: how many groups of messages wait to become episodes.
        task: the current task; None where there is none.
        own: whether this machine's user wrote it; nothing is learned from other sessions.
        problem: why its file is unreadable; empty where it is not.
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

    # Reading

    def ids(self) -> list[str]:
        return self._storage.ids()

    def all(self) -> list[SessionInfo]:
        """All sessions, the most recently used first, unreadable ones included."""
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
        """A session as it is stored.

        Raises:
            NotFoundError: no such session.
        """
        return self._storage.load(session_id)

    def need_own(self, session_id: str) -> None:
        """Check that this machine's user wrote a session: a stranger's session is no source of memories.

        Raises:
            RefusedError: another user wrote it.
        """
        session = self._storage.load_if_exists(session_id)
        if session is not None and not session.own:
            raise RefusedError(
                f"this user did not write session {session.session_id} on this machine: nothing is learned from it",
                hint="`memctl session show` shows it, `memctl state adopt` makes it yours.",
            )

    def read_offloaded(self, reference: str) -> str:
        """An offloaded content, by the reference in its place.

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
        """Load the state of each component from a session, by name; False where there is no such session."""
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
        """Save the state of each component under its name; other components of the session stay.

        Args:
            overwrite: also replace a state that another program saved since it was loaded here.

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
        """A session that was saved as a whole, after its new messages were kept."""
        if not after.own:
            return after
        try:
            earlier, messages = (kept.with_derived_ids(messages_of(each), each.session_id) for each in (before, after))
        except InvalidDataError:
            return after  # another program's state, not in the form of messages
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
                f"another program saved component {name!r} of session {session.session_id} in the meantime",
                hint="Load it again (`load_components`), or save with overwrite=True.",
            )

    @cached_property
    def _loaded(self) -> dict[tuple[str, str], str]:
        """Digests of component states as they were last loaded or saved here."""
        return {}

    # Changing a session

    def change(
        self, session_id: str, decide: Callable[[Session], tuple[Session, T]], now: datetime, *, foreign: bool = False
    ) -> T:
        """Change a session under its lock, after finishing what a crash cut short; returns the decision's value.

        Args:
            foreign: also change a session that another user wrote; else it is moved aside, and a new one begins.
        """
        return self._storage.change(session_id, lambda before: decide(self._settled(before)), now, foreign=foreign)

    def _settled(self, session: Session) -> Session:
        """The session without messages that are already queued, as a crash may leave them."""
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
        """Keep new messages in the session's run. Call it with the session's lock held, after `_begun` and before the
        window is written."""
        if self._keeps(session.session_id):
            records = (kept.kept(message, session.session_id, run_of(session), now) for message in new)
            self._engine.conversations.keep([record for record in records if record], now)

    def _keeps(self, session_id: str) -> bool:
        """Whether messages of a session are kept: by the setting, unless the session is paused."""
        return self._engine.settings.keep_messages and not self._engine.conversations.is_paused(session_id)

    def _begun(self, session: Session, now: datetime, *, durable: bool = False) -> Session:
        """The session in a run; call it with its lock held.

        Messages of a session without a run come from another program, or from a version of memctl without transcripts:
        they are kept now, each once.

        Args:
            durable: write the file of a new session, so that a crash after its first message starts no second run.
        """
        from memctl.conversations.service import new_run

        if run_of(session):
            return session
        run = new_run(now)
        if session.own and self._keeps(session.session_id):
            run = self._brought(session.session_id, self._earlier(session), run, now)
        session = in_run(session, run)
        exists = self._storage.exists(session.session_id)  # also where another user's is going to be moved aside
        return session if exists or not durable else self._storage.write(session, now)

    def keep_earlier(self, now: datetime) -> None:
        """Keep the messages of sessions without a run, from earlier versions and other programs."""
        for session_id in self._storage.ids():
            try:
                session = self._storage.load_if_exists(session_id)
                if session and session.own and not run_of(session) and messages_of(session):
                    self.change(session_id, lambda session: (self._begun(session, now), None), now)
            except (InvalidDataError, LockedError):
                continue  # `memctl session list` and `doctor` say why

    def _earlier(self, session: Session) -> list[Message]:
        """The messages of a session before its first run, evicted ones included."""
        from memctl.core.messages import Message

        waiting = (self._storage.queued(*names) for names in self._storage.waiting(session.session_id))
        evicted = [each for each in waiting if each and each.own and not each.kept and each.reason == EVICTED]
        return [*(Message.read(state) for each in evicted for state in each.messages), *messages_of(session)]

    def _brought(self, session_id: str, messages: Sequence[Message], run: str, now: datetime) -> str:
        """Keep messages of another program or an earlier version, each once; returns their run."""
        whole = identified(kept.with_derived_ids(messages, session_id))
        records = (kept.kept(message, session_id, run, now) for message in whole if not message.is_unrecorded)
        return self._engine.conversations.bring([record for record in records if record], now) or run

    def bring_queued(self, queued: Queued, now: datetime) -> None:
        """Keep messages that a version of memctl without transcripts left in the queue."""
        from memctl.conversations.service import new_run
        from memctl.core.messages import Message

        if queued.own and not queued.kept and self._keeps(queued.session_id):
            self._brought(queued.session_id, [*map(Message.read, queued.messages)], new_run(now), now)

    def _sent_again(self, session: Session, new: Sequence[Message]) -> list[str]:
        """Ids of kept messages that `new` begins with again: a process died before they reached the window, and its
        successor repeats them."""
        window = [message_id for message in messages_of(session) for message_id in message.ids]
        if not run_of(session) or not self._keeps(session.session_id) or (not window and queued_in(session)):
            return []
        left = self._engine.conversations.unacknowledged(run_of(session), window, len(new))
        same = [(each.role, each.text) for each in left] == [_role_and_text(message) for message in new[: len(left)]]
        return [each.message_id for each in left] if same else []

    def drop_messages(self, message_ids: Sequence[str], now: datetime) -> None:
        """Remove messages, with the tool calls and results paired with them, from all windows and the queue."""
        from memctl.sessions.window import units

        if not message_ids:
            return
        gone = set(message_ids)

        def decide(session: Session) -> tuple[Session, None]:
            messages = identified(messages_of(session))
            going = {at for unit in units(messages) if any(gone & set(messages[at].ids) for at in unit) for at in unit}
            return with_messages(session, [message for at, message in enumerate(messages) if at not in going]), None

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
        """Remove what waits of a session from the queue; nothing is learned from it."""
        for _, name in self._storage.waiting(session_id):
            self._storage.dequeue(session_id, name)

    def _enqueue(self, session: Session, messages: Sequence[Message], reason: str, now: datetime) -> Session:
        """Queue the recorded ones of messages that leave a session, durably. Call it with the session's lock held."""
        messages = [message for message in messages if not message.is_unrecorded]
        if not messages:
            return session
        name = self._storage.queue_id(session.session_id, [i for m in messages for i in m.ids], now)
        states = tuple(message.state for message in messages)
        self._storage.enqueue(Queued(name, session.session_id, now, states, reason, session.own))
        return noting_queued(session, [*queued_in(session), name])

    def delete(self, session_id: str, *, now: datetime | None = None) -> bool:
        """Delete a session, its offloaded contents and what waits of it; nothing is learned from it.

        Raises:
            NotFoundError: no such session.
        """
        session_id = check_session_id(session_id)
        with self._storage.locked(session_id):
            waiting = self._storage.waiting(session_id)
            exists = self._storage.exists(session_id)
            if not exists and not waiting:
                self._storage.load(session_id)  # raises, and suggests near ids
            run = self._readable_run(session_id)
            self._storage.delete(session_id)
            self._drop_waiting(session_id)
        if run:
            self._engine.conversations.delete_run(run, now=now)
        return exists or bool(waiting)

    def messages_in_use(self) -> set[str]:
        """What retention must not delete: runs of open sessions, names of unreadable ones, and ids of messages that
        nothing was learned from yet."""
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
        """The run of a session of this user; empty where it has none, or its file is unreadable."""
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
    """A message's role and text as they are kept."""
    record = kept.kept(message, "", "", datetime.min.replace(tzinfo=UTC))
    return (record.role, record.text) if record else ("", "")


def _ids_in(queued: Queued) -> set[str]:
    from memctl.core.messages import Message

    return {message_id for state in queued.messages for message_id in Message.read(state).ids}
