"""Conversations: the messages of a session, added and taken out one by one.

Adding a message writes it and returns. Making room, and making episodes and facts of what left, follow: by
`flush_sessions`, by `maintain`, at the session's end, or (making room alone) in a thread of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memctl.conversations.derived import confirms_forgetting
from memctl.core import kept, times
from memctl.core.sensitive import MASK, REFUSE, guarded
from memctl.core.session import Session
from memctl.errors import UsageError
from memctl.sessions.state import messages_of, run_of, with_messages
from memctl.sessions.windows import identified

if TYPE_CHECKING:  # threads and the rules of windows cost every command's start, if they are imported here
    from memctl.background import Worker
    from memctl.core.messages import Message
    from memctl.engine import Engine
    from memctl.sessions.service import Sessions
    from memctl.sessions.window import Compacted, Size


class Conversation:
    """The messages of a session: add, get, delete, clear.

    It holds none of them itself: each call reads and writes the session's file under its lock, so that several agents
    and processes may use one session. Messages are added durably, and in the order of the calls.
    """

    def __init__(
        self, engine: Engine, sessions: Sessions, session_id: str, *, background: bool = False, keep: bool = True
    ) -> None:
        self._engine, self._sessions, self._storage = engine, sessions, engine.storage.sessions
        self.session_id, self.background, self.keep = session_id, background, keep
        self._worker: Worker[Any] | None = None

    def add(
        self,
        message: Message | Mapping[str, Any] | str,
        role: str = "user",
        *,
        now: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secret: bool = False,
        keep: bool = True,
    ) -> Message:
        """Add a message and return; room is made later. It is in the transcript before it is in the window.

        Args:
            message: a text of the role, a message of OpenAI's API, one of a session's file, or a `Message`.
            allow_secret: keep it even if a part of it looks like a secret.
            keep: whether it is recorded.

        Raises:
            InvalidDataError: it is no message.
            RefusedError: a part looks like a secret, and the setting `secrets` is `refuse`. In the call of a tool and
                its result it is masked instead: who calls a tool cannot choose its words.
        """
        return self.extend([_message(message, role, metadata)], now=now, allow_secret=allow_secret, keep=keep)[0]

    def extend(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        now: datetime | None = None,
        allow_secret: bool = False,
        keep: bool = True,
    ) -> list[Message]:
        """Add several messages at once: all of them or, where one is refused, none."""
        now = now or times.utc_now()
        policy = self._engine.secret_policy(allow_secret)
        new = [_guarded(_message(message, "user", None), policy).at(now) for message in messages]
        added: list[Message] = []
        whole: list[Message] = []
        begins = not self._storage.exists(self.session_id)

        recorded = keep and self.keep and not self._engine.conversations.is_paused(self.session_id)

        def decide(session: Session) -> Session:
            session = self._sessions._begun(session, now, durable=recorded)
            held = kept.with_derived_ids(messages_of(session), self.session_id)
            ids = self._sessions._sent_again(session, new) if recorded else []
            again = [message.with_note(id=message_id) for message_id, message in zip(ids, new, strict=False)]
            whole[:] = identified([*held, *again, *new[len(again) :]])
            whole[len(held) :] = [
                each if recorded and not confirms_forgetting(each, whole) else each.with_note(recorded=False)
                for each in whole[len(held) :]
            ]
            added[:] = whole[len(whole) - len(new) :]
            self._sessions._kept(session, [each for each in added[len(again) :] if not each.is_unrecorded], now)
            return with_messages(session, whole)

        idle = self._sessions.close_idle(now) if begins else []
        self._sessions.change(self.session_id, decide, now)
        if begins:
            self._sessions._learn_without_model([ended.session_id for ended in idle], now)
        if self.background and self._sessions.is_over(whole):
            self._later(now)
        return added

    def get(self, last: int | None = None) -> list[Message]:
        """The messages, or the last so many; none where the session has not begun."""
        session = self._storage.load_if_exists(self.session_id)
        found = list(messages_of(self._sessions._settled(session))) if session else []
        return found if last is None else found[len(found) - min(last, len(found)) :]

    def openai(self) -> list[dict[str, Any]]:
        """The messages as OpenAI's API wants them; none of a session that somebody else wrote."""
        from memctl.core.messages import to_openai

        session = self._storage.load_if_exists(self.session_id)
        if session is not None and not session.own:
            return []
        return [each for message in self.get() for each in to_openai(message)]

    def delete(self, which: int | str, *, now: datetime | None = None) -> list[Message]:
        """Take a message out, by its place or its id; nothing is learned from it.

        What belongs to it goes with it: a call of a tool, and its result.

        Returns:
            what was deleted; nothing where there was no such message.
        """
        from memctl.sessions.window import units

        gone: list[Message] = []

        def decide(session: Session) -> Session:
            found = identified(messages_of(session))
            places = range(len(found))
            at = next((at for at in places if which in found[at].ids), None) if isinstance(which, str) else which
            if at is None or not -len(found) <= at < len(found):
                return session
            going = next(unit for unit in units(found) if at % len(found) in unit)
            gone[:] = [found[place] for place in going]
            return with_messages(session, [found[place] for place in places if place not in going])

        now = now or times.utc_now()
        self._sessions.change(self.session_id, decide, now)
        self._engine.conversations.delete([message_id for message in gone for message_id in message.ids], now=now)
        return gone

    def clear(self, *, now: datetime | None = None) -> int:
        """Take all messages out, those too that have left the window in this run; nothing is learned from them.

        Returns:
            how many there were in the window.
        """
        gone: list[int] = []
        runs: list[str] = []
        now = now or times.utc_now()

        def decide(session: Session) -> Session:
            gone[:] = [len(messages_of(session))]
            runs[:] = [run_of(session)]
            self._storage.clear_offloaded(self.session_id)
            return with_messages(session, [])

        self._sessions.change(self.session_id, decide, now)
        self._sessions._drop_waiting(self.session_id)
        self._engine.conversations.delete_run(runs[0], now=now)
        return gone[0]

    def size(self) -> Size:
        """How many messages, turns and tokens it has."""
        from memctl.sessions.window import size

        return size(self.get(), self._sessions._count)

    def flush(self, *, budget: int | None = None, now: datetime | None = None) -> Compacted | None:
        """Make room now, if there is need; None where there is none. Waits for the thread.

        Args:
            budget: tokens of the context that is made of it, where that is not the setting `context_tokens`.
        """
        self._wait()
        if not self._sessions.is_over(self.get(), budget=budget):
            return None
        return self._sessions.compact(self.session_id, budget=budget, now=now)[0]

    def close(self) -> None:
        """Wait for the thread, though not for ever, and end it."""
        if self._worker:
            self._worker.close()
            self._worker = None

    def _later(self, now: datetime) -> None:
        from memctl.background import Worker
        from memctl.sessions.compacting import Compacting

        if self._worker is None:
            self._worker = Worker(self._engine, lambda problem: None)  # the next flush meets the same, and says so
        self._worker.submit(lambda engine: Compacting(engine).compact(self.session_id, now=now), "window")

    def _wait(self) -> None:
        if self._worker:
            self._worker.wait(self._engine.settings.llm_timeout)


def _message(given: Message | Mapping[str, Any] | str, role: str, metadata: Mapping[str, Any] | None) -> Message:
    from memctl.core.messages import ROLES, Message, from_openai

    if isinstance(given, str):
        if role.strip().lower() not in ROLES:
            raise UsageError(f"there is no role {role!r}", hint=f"Roles: {', '.join(ROLES)}.")
        return Message.of(role, given, metadata=metadata)
    found = given if isinstance(given, Message) else from_openai(given)
    return replace(found, state={**found.state, "metadata": {**found.metadata, **metadata}}) if metadata else found


def _guarded(message: Message, policy: str) -> Message:
    """A message as it may be kept."""
    called = message.role == "tool" or bool(message.calls or message.results)
    policy = MASK if called and policy == REFUSE else policy
    return replace(message, state=guarded(message.state, policy, "the message"))
