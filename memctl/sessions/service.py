"""The end of sessions: by hand, or because nobody uses them any more; and all that adding messages left for later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memctl.core import kept as rules
from memctl.core import times
from memctl.core.names import check_session_id
from memctl.core.session import Session
from memctl.errors import ConflictError, InvalidDataError, LockedError, MemctlError
from memctl.sessions.compacting import Compacting
from memctl.sessions.learning import Learned, Learning
from memctl.sessions.state import MEMORY, in_run, is_needed, messages_of, with_messages
from memctl.sessions.windows import MAIN, identified

if TYPE_CHECKING:  # the rules of windows cost every command's start, if they are imported here
    from memctl.sessions.conversation import Conversation
    from memctl.sessions.window import Compacted

ENDED, IDLE = "ended", "idle"
"""Why messages are in the queue: their session was ended, or nobody used it any more."""


@dataclass(frozen=True)
class Ended:
    """A session that was ended: what was learned, and how many messages were too few for an episode; facts were learned
    from these too."""

    session_id: str
    learned: tuple[Learned, ...] = ()
    left_out: int = 0
    kept: bool = False
    """Whether its file stays, for components that are not memctl's or a task at hand."""


@dataclass(frozen=True)
class Flushed:
    """What a flush did, by session."""

    compacted: Mapping[str, Compacted]
    ended: tuple[Ended, ...] = ()
    learned: tuple[Learned, ...] = ()
    notes: tuple[str, ...] = ()


class Sessions(Compacting, Learning):
    """The end of sessions."""

    def end(
        self, session_id: str = MAIN, *, use_model: bool = True, wait: bool = True, now: datetime | None = None
    ) -> Ended:
        """End a session: learn from what waits of it, and from what is left; then remove it.

        Facts are learned from every message. What is left becomes an episode from `session_least_messages` messages on;
        what left the window before always does. A task at hand is not ended with it: see `Tasks`.

        Args:
            wait: False: all that is left waits in the queue, for `learn_pending` and `maintain`.

        Raises:
            NotFoundError: there is no such session.
            RefusedError: somebody else wrote it.
        """
        now = now or times.utc_now()
        self._storage.load(session_id)
        self.need_own(session_id)
        ended = self._close(session_id, ENDED, now)
        learned = self.learn_pending(session_id=session_id, use_model=use_model, now=now) if wait else ()
        return replace(ended, learned=tuple(learned))

    def _close(self, session_id: str, reason: str, now: datetime) -> Ended:
        """Queue what is left of a session and remove it. Whatever a crash leaves of this is done by the next."""
        from memctl.sessions.episodes import spoken

        session_id = check_session_id(session_id)
        with self._storage.locked(session_id):
            found = self._storage.load_if_exists(session_id)
            if found is None or (reason == IDLE and not self._is_idle(found, now)):
                return Ended(session_id, kept=found is not None)
            session = self._settled(found)
            session = self._begun(session, now)
            messages = identified(rules.with_derived_ids(messages_of(session), session_id))
            said = spoken([message for message in messages if not message.is_unrecorded])
            enough = len(said) >= self._engine.settings.session_least_messages
            if said:
                session = self._enqueue(session, messages, reason, now)
            emptied = in_run(with_messages(session, []), "")
            kept = is_needed(emptied)
            if kept:
                self._storage.write(emptied, now)
                self._storage.clear_offloaded(session_id)
            else:
                self._storage.delete(session_id)
        return Ended(session_id, left_out=0 if enough else len(said), kept=kept)

    def _is_idle(self, session: Session, now: datetime) -> bool:
        minutes = self._engine.settings.session_idle_minutes
        worth = bool(messages_of(session)) or not is_needed(session)
        saved = session.saved_at
        return worth and minutes > 0 and saved is not None and now - saved >= timedelta(minutes=minutes)

    def close_idle(self, now: datetime | None = None) -> list[Ended]:
        """End the sessions that nobody uses any more: their messages go to the queue, to be learned from later."""
        now = now or times.utc_now()
        return [self._close(session_id, IDLE, now) for session_id in self.idle(now)]

    def idle(self, now: datetime | None = None) -> list[str]:
        """Sessions that nobody has used for longer than the setting `session_idle_minutes`."""
        now = now or times.utc_now()
        return [session_id for session_id in self._storage.ids() if self._readably_idle(session_id, now)]

    def _readably_idle(self, session_id: str, now: datetime) -> bool:
        try:
            found = self._storage.load_if_exists(session_id)
            return found is not None and found.own and self._is_idle(found, now)
        except MemctlError:
            return False

    def flush(self, *, use_model: bool = True, now: datetime | None = None) -> Flushed:
        """Do what adding left for later: make room, end what is idle, learn from what waits.

        A session that cannot be read, or is in use for too long, is left for the next time, and told of.
        """
        now = now or times.utc_now()
        compacted: dict[str, Compacted] = {}
        notes: list[str] = []
        self.keep_earlier(now)
        ended = self.close_idle(now)
        for session_id in self._storage.ids():
            try:
                session = self._storage.load(session_id)
                if session.own and self.is_over(messages_of(session)):
                    compacted[session_id], told = self.compact(session_id, use_model=use_model, now=now)
                    notes += told
            except (InvalidDataError, LockedError) as problem:
                notes.append(f"{session_id}: {problem.message}")
        self._storage.clear_temporary()
        learned = self.learn_pending(use_model=use_model, now=now)
        return Flushed(compacted, tuple(ended), tuple(learned), (*notes, *(n for one in learned for n in one.notes)))

    def conversation(self, session_id: str = MAIN, *, background: bool = False, keep: bool = True) -> Conversation:
        """The messages of a session, which begins with its first message.

        Args:
            background: whether a thread makes room after a message that needs it; else the next flush does.
            keep: whether the messages are recorded: they go into the transcript too, where they can be found when
                they have left the window, and memories are learned from them. Else they are in the window alone.

        Raises:
            UsageError: it can be no session's id.
        """
        from memctl.sessions.conversation import Conversation

        return Conversation(self._engine, self, check_session_id(session_id), background=background, keep=keep)

    def pause(self, session_id: str, wanted: bool = True) -> None:
        """Stop keeping what is said in a session, or go on with it. The window goes on as before."""
        self._engine.conversations.pause(check_session_id(session_id), wanted=wanted)

    def delete_messages(self, message_ids: Sequence[str], *, now: datetime | None = None) -> list[str]:
        """Delete messages from the transcripts, and from the windows and queues that hold them: nothing is learned from
        them any more. `undo` brings them back into the transcripts.

        Returns:
            the ids that were deleted from the transcripts.
        """
        now = now or times.utc_now()
        self.drop_messages(message_ids, now)
        return self._engine.conversations.delete(message_ids, now=now)

    def create(self, session_id: str, *, now: datetime | None = None) -> Conversation:
        """A new session with an empty file.

        Raises:
            ConflictError: there is one of this id.
        """
        now = now or times.utc_now()

        def begin(before: Session) -> Session:
            if before.digest:
                raise ConflictError(f"there is a session {session_id!r} already", hint="`memctl session list`.")
            return before.with_component(MEMORY, {"messages": []})

        self.change(session_id, begin, now)
        return self.conversation(session_id)
