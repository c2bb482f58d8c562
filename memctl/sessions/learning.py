"""Learning from messages that left a session: an episode and facts from each queued group."""

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
from memctl.sessions.stored import StoredSessions
from memctl.storage.ports.view import View

if TYPE_CHECKING:  # imported here, the rules of episodes would slow down the start of every command
    from memctl.core.messages import Message
    from memctl.sessions.episodes import Draft

_NOT_OWN = "left in the queue: this user did not write session {} on this machine (`memctl state` lists such state)"


@dataclass(frozen=True)
class Learned:
    """What was learned from a group of messages.

    Args:
        episode: None if there was nothing to write, or it was written before.
        facts: the number of extracted memories.
    """

    queue_id: str
    session_id: str
    episode: Memory | None = None
    facts: int = 0
    notes: tuple[str, ...] = ()


def _from(made: Memory, messages: Sequence[Message]) -> Memory:
    """The memory, with the ids of the first and the last of its messages."""
    ids = [message_id for message in messages for message_id in message.ids]
    return replace(made, metadata={**made.metadata, SAID: [*dict.fromkeys((ids[0], ids[-1]))]}) if ids else made


class Learning(StoredSessions):
    """Learns from the queue."""

    def waiting(self) -> list[tuple[str, str]]:
        """Session and queue id of each queued group, oldest first."""
        return self._storage.waiting()

    def learn_pending(
        self, *, session_id: str = "", use_model: bool = True, now: datetime | None = None
    ) -> list[Learned]:
        """Learn an episode and facts from each queued group, or from those of one session.

        A group becomes one episode, also after a crash or when two processes learn at once: the episode has the queue
        id, and is written only if it does not exist and the group is still queued.
        """
        now = now or times.utc_now()
        return [self._learn(owner, name, use_model, now) for owner, name in self._storage.waiting(session_id)]

    def _learn_without_model(self, sessions: Sequence[str], now: datetime) -> None:
        """Learn by rules from the queue, so that a new session has the memories. If a language model is configured,
        only from these sessions: the rest waits for the model."""
        for session_id in dict.fromkeys(sessions) if self._engine.has_llm else [""]:
            self.learn_pending(session_id=session_id, use_model=False, now=now)

    def _learn(self, session_id: str, name: str, use_model: bool, now: datetime) -> Learned:
        from memctl.core.messages import Message, cleaned

        try:
            session = self._storage.load_if_exists(session_id)
            if session is not None and session.own:
                self.change(session_id, lambda session: (session, None), now)  # completes an interrupted change
            queued = self._storage.queued(session_id, name)
            messages = [cleaned(Message.read(state), without_recalled) for state in queued.messages] if queued else []
        except InvalidDataError as problem:
            return Learned(name, session_id, notes=(f"left in the queue: {problem.message}",))
        if queued is None:
            return Learned(name, session_id)
        if not queued.own:
            return Learned(name, session_id, notes=(_NOT_OWN.format(session_id),))
        self.import_queued(queued, now)
        self._engine.refresh()
        if self._engine.view().imported(name):
            self._storage.dequeue(session_id, name)
            return Learned(name, session_id)
        return self._made(queued, messages, use_model, now)

    def _made(self, queued: Queued, messages: Sequence[Message], use_model: bool, now: datetime) -> Learned:
        """Write the facts and the episode of a group, then remove it from the queue."""
        from memctl.extraction.clauses import squashed
        from memctl.extraction.extract import steers
        from memctl.sessions import episodes

        name, session_id = queued.queue_id, queued.session_id
        spoken = episodes.spoken(messages)
        learned = Learned(name, session_id)
        if spoken:
            enough = queued.reason == EVICTED or len(spoken) >= self._engine.settings.session_least_messages
            reported = [message for message in messages if not steers(message.text)]
            draft, notes = self._draft(reported, use_model) if enough and episodes.spoken(reported) else (None, ())
            facts, more, known = self._facts(spoken, queued.at, use_model)
            if draft and any(squashed(draft.summary) in squashed(text) for text in known):
                draft = None  # an appointment or event that was just learned says the same
            record = draft and episodes.memory_of(draft, reported, name, session_id, queued.at)
            episode = self._write_episode(_from(record, messages), session_id, name, now) if record else None
            learned = Learned(name, session_id, episode, facts, (*notes, *more))
        self._storage.dequeue(session_id, name)
        return learned

    def _facts(
        self, messages: Sequence[Message], at: datetime, use_model: bool
    ) -> tuple[int, tuple[str, ...], list[str]]:
        """The number of memories learned, notes, and the texts of the episodes among them."""
        from memctl.core import kinds
        from memctl.core.messages import USER
        from memctl.core.records import ADDED, CANDIDATE_KEPT, UPDATED
        from memctl.extraction.proposals import Utterance

        if not any(message.role == USER for message in messages):
            return 0, (), []
        utterances = [Utterance(m.role, m.text, m.time or at, m.id, m.speaker) for m in messages]
        report = Extraction(self._engine).run(utterances, now=at, use_model=use_model, command="session")
        written = [one.memory for one in report.proposals if one.memory and one.memory.kind == kinds.EPISODE]
        learned = sum(report.counted(outcome) for outcome in (ADDED, UPDATED, CANDIDATE_KEPT))
        return learned, report.notes, [memory.content for memory in written]

    def _write_episode(self, episode: Memory, session_id: str, name: str, now: datetime) -> Memory | None:
        """Write an episode; None if it exists, or its messages were purged."""
        complete = self._engine.completed(episode, now)

        def decide(view: View) -> tuple[Change, Memory | None]:
            done = view.imported(name) or not self._storage.is_waiting(session_id, name)
            written = [] if done else view.unused([complete])
            return Change("session", tuple(written)), written[0] if written else None

        return self._engine.apply(decide, now, on_secret=MASK)

    def _draft(self, messages: Sequence[Message], use_model: bool) -> tuple[Draft, tuple[str, ...]]:
        """The model's episode, in at most three attempts; else that of the rules."""
        from memctl.sessions import episodes

        ruled = episodes.by_rules(messages)
        if not use_model:
            return ruled, ()
        answer = self._engine.ask(
            episodes.prompt(messages), lambda draft: episodes.checked(draft, messages), episodes.SCHEMA
        )
        draft = replace(answer.value, by=answer.by) if answer.value else ruled
        return draft, answer.notes("episode written by rules")
