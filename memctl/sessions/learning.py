"""Learning from messages that left a session: an episode of each group that waits in the queue, and the facts in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memctl.core import times
from memctl.core.models import Change, Memory
from memctl.core.provenance import SAID
from memctl.core.recalled import without_recalled
from memctl.core.sensitive import MASK
from memctl.core.session import EVICTED, Queued
from memctl.errors import InvalidDataError
from memctl.extraction.service import Extraction
from memctl.sessions.windows import Windows
from memctl.storage.ports.view import View

if TYPE_CHECKING:  # the rules of episodes cost every command's start, if they are imported here
    from memctl.core.messages import Message
    from memctl.sessions.episodes import Draft


_NOT_OWN = "left in the queue: this user did not write session {} on this machine (`memctl state` shows what waits)"


@dataclass(frozen=True)
class Learned:
    """What became of messages that waited.

    Args:
        episode: None where there was nothing in them, or it had been made before.
        facts: how many memories were extracted from them.
    """

    queue_id: str
    session_id: str
    episode: Memory | None = None
    facts: int = 0
    notes: tuple[str, ...] = ()


def _from(made: Memory, messages: Sequence[Message]) -> Memory:
    """The memory with the ids of the first and the last message that it was made from."""
    ids = [message_id for message in messages for message_id in message.ids]
    return replace(made, metadata={**made.metadata, SAID: [ids[0], ids[-1]]}) if ids else made


class Learning(Windows):
    """What becomes of messages that wait in the queue."""

    def waiting(self) -> list[tuple[str, str]]:
        """What waits to become an episode: session and queue id, oldest first."""
        return self._storage.waiting()

    def learn_pending(
        self, *, session_id: str = "", use_model: bool = True, now: datetime | None = None
    ) -> list[Learned]:
        """Make an episode, and facts, of all that waits in the queue, or of what waits of one session.

        Each becomes one episode, also if this is cut short and done again, or two processes do it at once: the episode
        bears the queue's id, and is written only if there is none and the queue still holds it.
        """
        now = now or times.utc_now()
        waiting = self._storage.waiting(session_id)
        return [self._learn(owner, name, use_model, now) for owner, name in waiting]

    def _learn_without_model(self, sessions: Sequence[str], now: datetime) -> None:
        """Learn by rules from what waits, so that a session that begins knows it: from all of it, or from that of some
        sessions where there is a language model, for which the rest waits."""
        for session_id in dict.fromkeys(sessions) if self._engine.has_llm else [""]:
            self.learn_pending(session_id=session_id, use_model=False, now=now)

    def _learn(self, session_id: str, name: str, use_model: bool, now: datetime) -> Learned:
        from memctl.core.messages import Message, cleaned

        try:
            # A process that died may have left in the session what it had queued: it leaves first.
            session = self._storage.load_if_exists(session_id)
            if session is not None and session.own:
                self.change(session_id, lambda session: session, now)
            queued = self._storage.queued(session_id, name)
            messages = [cleaned(Message.read(state), without_recalled) for state in queued.messages] if queued else []
        except InvalidDataError as problem:
            return Learned(name, session_id, notes=(f"left in the queue: {problem.message}",))
        if queued is None:
            return Learned(name, session_id)
        if not queued.own:
            return Learned(name, session_id, notes=(_NOT_OWN.format(session_id),))
        self.bring_queued(queued, now)
        self._engine.refresh()
        if self._engine.view().imported(name):
            self._storage.dequeue(session_id, name)
            return Learned(name, session_id)
        return self._made(queued, messages, use_model, now)

    def _made(self, queued: Queued, messages: Sequence[Message], use_model: bool, now: datetime) -> Learned:
        """The facts and the episode of what waited; only then does it leave the queue."""
        from memctl.sessions import episodes

        name, session_id = queued.queue_id, queued.session_id
        said = episodes.spoken(messages)
        learned = Learned(name, session_id)
        if said:
            enough = queued.reason == EVICTED or len(said) >= self._engine.settings.session_least_messages
            draft, notes = self._draft(messages, use_model) if enough else (None, ())
            facts, more = self._facts(said, queued.at, use_model)
            made = draft and episodes.memory_of(draft, messages, name, session_id, queued.at)
            episode = self._write_episode(_from(made, messages), session_id, name, now) if made else None
            learned = Learned(name, session_id, episode, facts, (*notes, *more))
        self._storage.dequeue(session_id, name)
        return learned

    def _facts(self, said: Sequence[Message], at: datetime, use_model: bool) -> tuple[int, tuple[str, ...]]:
        from memctl.core.messages import USER
        from memctl.core.records import ADDED, CANDIDATE_KEPT, UPDATED
        from memctl.extraction.extract import Utterance

        told = [
            Utterance(message.role, message.text, message.time or at, message.id, message.speaker) for message in said
        ]
        if not any(utterance.role == USER for utterance in told):
            return 0, ()
        report = Extraction(self._engine).run(told, now=at, use_model=use_model, command="session")
        return sum(report.counted(outcome) for outcome in (ADDED, UPDATED, CANDIDATE_KEPT)), report.notes

    def _write_episode(self, made: Memory, session_id: str, name: str, now: datetime) -> Memory | None:
        """Write an episode, unless it is there; None where it was, or what it is made from was purged."""
        whole = self._engine.completed(made, now)

        def decide(view: View) -> tuple[Change, Memory | None]:
            done = view.imported(name) or not self._storage.is_waiting(session_id, name)
            written = [] if done else view.unused([whole])
            return Change("session", tuple(written)), written[0] if written else None

        return self._engine.apply(decide, now, on_secret=MASK)

    def _draft(self, messages: Sequence[Message], use_model: bool) -> tuple[Draft, tuple[str, ...]]:
        """A model's episode, the best of at most three; else the rules'."""
        from memctl.sessions import episodes

        ruled = episodes.by_rules(messages)
        if not use_model:
            return ruled, ()
        answer = self._engine.ask(
            episodes.asked(messages), lambda said: episodes.checked(said, messages), episodes.SCHEMA
        )
        draft = replace(answer.value, by=answer.by) if answer.value else ruled
        return draft, answer.notes("episode made by rules")
