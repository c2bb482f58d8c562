"""Sessions: conversations within limits, and what becomes of the messages that leave them.

Adding a message writes it and returns. Making room, and making episodes and facts of what left, follow: by
`flush_sessions`, by `maintain`, at the session's end, or (making room alone) in a thread of the conversation.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from memctl import times
from memctl.errors import ConflictError, InvalidDataError, LockedError, MemctlError, ProviderError, UsageError
from memctl.files import sessions as files
from memctl.files.layout import check_session_id
from memctl.files.sessions import Queued, Session
from memctl.gateway import View
from memctl.lifecycle import adding
from memctl.lifecycle.recalled import without_recalled
from memctl.models import Change, Memory
from memctl.secrets import MASK, REFUSE, guarded
from memctl.usecases.extracting import Extracting

if TYPE_CHECKING:  # threads and the rules of windows cost every command's start, if they are imported here
    from concurrent.futures import Future, ThreadPoolExecutor

    from memctl.working.episodes import Draft
    from memctl.working.limits import Count, Limits
    from memctl.working.messages import Message
    from memctl.working.tasks import Task
    from memctl.working.window import Compacted, Size

MAIN = "main"
"""The session that is meant where none is named."""

MEMORY, OWN, TASK = "Memory", "memctl", "task"
"""Components memctl writes: the conversation, what it notes of it, and the task at hand."""

EVICTED, ENDED, IDLE = "evicted", "ended", "idle"


class StateModule(Protocol):
    """A component that saves and loads its own state (system E)."""

    def save_state(self) -> Mapping[str, Any]: ...

    def load_state(self, state: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class SessionInfo:
    """A session at a glance.

    Args:
        active_at: when it was saved last.
        queued: how many groups of messages wait to become episodes.
        task: the task at hand, None where there is none.
        problem: why its file cannot be read; empty where it can.
    """

    session_id: str
    size: Size
    active_at: datetime | None
    queued: int = 0
    task: Task | None = None
    problem: str = ""


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


@dataclass(frozen=True)
class Ended:
    """A session that was ended: what was learned, and how many messages were too few for an episode."""

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


class Sessions(Extracting):
    """Conversations of agents."""

    # Opening and looking

    def conversation(self, session_id: str = MAIN, *, background: bool = False) -> Conversation:
        """The messages of a session, which begins with its first message.

        Args:
            background: whether a thread makes room after a message that needs it; else the next flush does.

        Raises:
            UsageError: it can be no session's id.
        """
        return Conversation(self, check_session_id(session_id), background=background)

    def create_session(self, session_id: str, *, now: datetime | None = None) -> Conversation:
        """A new session with an empty file.

        Raises:
            ConflictError: there is one of this id.
        """
        now = now or times.utc_now()

        def begin(before: Session) -> Session:
            if before.digest:
                raise ConflictError(f"there is a session {session_id!r} already", hint="`memctl session list`.")
            return before.with_component(MEMORY, {"messages": []})

        self._change_session(session_id, begin, now)
        return self.conversation(session_id)

    def session_ids(self) -> list[str]:
        return files.ids(self.folder)

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the one used last first; one that cannot be read says why."""
        found = [self._info(session_id) for session_id in files.ids(self.folder)]
        oldest = datetime.min.replace(tzinfo=UTC)
        return sorted(found, key=lambda info: (info.active_at or oldest, info.session_id), reverse=True)

    def _info(self, session_id: str) -> SessionInfo:
        from memctl.working.window import Size, size

        try:
            session = files.load(self.folder, session_id)
            messages = messages_of(session)
            task = task_of(session)
        except MemctlError as problem:
            return SessionInfo(session_id, Size(0, 0, 0), None, problem=problem.message)
        waiting = len(files.queue(self.folder, session_id))
        return SessionInfo(session_id, size(messages, self._count), session.saved_at, waiting, task)

    def session(self, session_id: str) -> Session:
        """A session as it stands in its file.

        Raises:
            NotFoundError: there is none.
        """
        return files.load(self.folder, session_id)

    def read_offloaded(self, reference: str) -> str:
        """A content that was laid aside, by the reference that stands in its place.

        Raises:
            NotFoundError: it is gone with its session.
            UsageError: no such reference can be.
        """
        return files.read_offloaded(self.folder, reference)

    # Components of others (system E)

    def load_session_if_exists(self, session_id: str, components: Mapping[str, StateModule]) -> bool:
        """Give each component the state a session holds under its name; False where there is no such session."""
        session = files.load_if_exists(self.folder, session_id)
        if session is None:
            return False
        for name, component in components.items():
            state = session.components.get(name)
            self._loaded[check_session_id(session_id), name] = files.digest(state)
            if state is not None:
                component.load_state(state)
        return True

    def save_session(
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
            for name, state in states.items():
                self._check_unchanged(before, name, state, overwrite)
                before = before.with_component(name, state)
            return before

        saved = self._change_session(session_id, put, now)
        self._loaded |= {(session_id, name): files.digest(state) for name, state in states.items()}
        return saved

    def _check_unchanged(self, session: Session, name: str, state: Any, overwrite: bool) -> None:
        present = session.components.get(name)
        known = self._loaded.get((session.session_id, name), files.digest(None))
        if not overwrite and files.digest(present) not in (known, files.digest(state)):
            raise ConflictError(
                f"component {name!r} of session {session.session_id} was saved by someone else in the meantime",
                hint="Load it again (`load_session_if_exists`), or save with overwrite=True.",
            )

    @cached_property
    def _loaded(self) -> dict[tuple[str, str], str]:
        """What the state of a component was when it was loaded or saved here last."""
        return {}

    # Changing a session

    def _change_session(self, session_id: str, decide: Callable[[Session], Session], now: datetime) -> Session:
        """Change a session under its lock, after finishing what a crash cut short."""

        def settled(before: Session) -> Session:
            return decide(self._settled(before))

        return files.change(self.folder, session_id, settled, now, timeout=self.settings.lock_timeout)

    def _settled(self, session: Session) -> Session:
        """The session without messages that are in the queue already: a process died before it could take them out."""
        if not session.digest:
            return session
        waiting = [name for _, name in files.queue(self.folder, session.session_id)]
        noted = _queued_in(session)
        left = {
            message_id
            for name in waiting
            if name not in noted and (queued := files.read_queued(self.folder, session.session_id, name))
            for message_id in _ids_in(queued)
        }
        if left:
            kept = [message for message in messages_of(session) if not left & set(message.ids)]
            session = with_messages(session, kept)
        return _noting_queued(session, waiting) if set(waiting) != set(noted) else session

    def _enqueue(self, session: Session, messages: Sequence[Message], reason: str, now: datetime) -> Session:
        """Queue messages that leave a session; durable when this returns. Call it with the session's lock held."""
        name = files.queue_id(session.session_id, [i for m in messages for i in m.ids], now)
        states = tuple(message.state for message in messages)
        files.enqueue(self.folder, Queued(name, session.session_id, now, states, reason))
        return _noting_queued(session, [*_queued_in(session), name])

    def delete_session(self, session_id: str) -> bool:
        """Remove a session, what was laid aside for it, and what waits of it: nothing is learned from it.

        Raises:
            NotFoundError: there is none.
        """
        session_id = check_session_id(session_id)
        with files.locked(self.folder, session_id, timeout=self.settings.lock_timeout):
            waiting = files.queue(self.folder, session_id)
            there = files.path_of(self.folder, session_id).is_file()
            if not there and not waiting:
                files.load(self.folder, session_id)  # says which there are
            files.delete(self.folder, session_id)
            for _, name in waiting:
                files.dequeue(self.folder, session_id, name)
        return there or bool(waiting)

    # Making room

    @property
    def conversation_limits(self) -> Limits:
        """The limits of a conversation, from the settings."""
        from memctl.working.limits import Limits

        s = self.settings
        return Limits(
            s.conversation_tokens, s.conversation_messages, s.conversation_turns, s.conversation_compact_to,
            s.conversation_keep_last, s.conversation_summary_share, s.conversation_output_characters,
            s.conversation_acknowledgement_characters, s.auto_window_messages, s.auto_window_share,
        )  # fmt: skip

    @cached_property
    def _count(self) -> Count:
        from memctl.context import tokens

        return tokens.load(self.settings.tokenizer).count

    def is_over(self, messages: Sequence[Message], policy: str = "") -> bool:
        """Whether a conversation is to be compacted."""
        from memctl.working import window

        return window.is_over(
            window.size(messages, self._count), self.conversation_limits, policy or self.settings.window_policy
        )

    def compact_session(
        self, session_id: str = MAIN, *, policy: str = "", use_model: bool = True, now: datetime | None = None
    ) -> tuple[Compacted, tuple[str, ...]]:
        """Make room in a conversation that is over a limit; what leaves is queued before it leaves.

        Args:
            policy: instead of the setting `window_policy`.

        Returns:
            what was done, and notes on a model that could not help.

        Raises:
            NotFoundError: there is no such session.
            UsageError: there is no such policy.
        """
        from memctl.working.limits import POLICIES

        policy = policy or self.settings.window_policy
        if policy not in POLICIES:
            raise UsageError(f"there is no window policy {policy!r}", hint=f"Policies: {', '.join(POLICIES)}.")
        now = now or times.utc_now()
        messages = messages_of(files.load(self.folder, session_id))
        drafts, notes = self._model_summary(session_id, messages, policy) if use_model else ({}, ())
        done: list[Compacted] = []

        def decide(session: Session) -> Session:
            found = identified(messages_of(session))
            compacted = self._compacted(session.session_id, found, policy, drafts)
            done[:] = [compacted]
            if compacted.messages == found:
                return session
            for text in compacted.offloads.values():
                files.offload(self.folder, session.session_id, text)
            if compacted.evicted:
                session = self._enqueue(session, compacted.evicted, EVICTED, now)
            return with_messages(session, compacted.messages)

        self._change_session(session_id, decide, now)
        return done[0], notes

    def _compacted(
        self, session_id: str, messages: Sequence[Message], policy: str, drafts: Mapping[str, str]
    ) -> Compacted:
        """What a compaction makes of messages; a model's summary where there is one of just these."""
        from memctl.working import summary, window

        def summarize(previous: str, gone: Sequence[Message], budget: int) -> str:
            clean = [_without_recalled(message) for message in gone]
            return drafts.get(_key(previous, gone)) or summary.by_rules(previous, clean, budget, self._count)

        return window.compact(
            messages, self.conversation_limits, policy, self._count, summarize,
            lambda text: files.reference(session_id, text), new_ids(),
        )  # fmt: skip

    def _model_summary(
        self, session_id: str, messages: Sequence[Message], policy: str
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """A model's summary of what is about to leave, by what that is; asked outside of any lock.

        Only where a model is configured, and rules leave more than half (B).
        """
        from memctl.working import summary, window

        wanted: list[tuple[str, Sequence[Message], int]] = []

        def remember(previous: str, gone: Sequence[Message], budget: int) -> str:
            wanted[:] = [(previous, tuple(gone), budget)]
            return ""

        try:
            if self.llm is None:
                return {}, ()
            window.compact(
                messages, self.conversation_limits, policy, self._count, remember,
                lambda text: files.reference(session_id, text), new_ids(),
            )  # fmt: skip
            if not wanted or not window.needs_model(wanted[0][1], self.conversation_limits, self._count):
                return {}, ()
            previous, gone, budget = wanted[0]
            answer = self.llm.complete(summary.asked(previous, [_without_recalled(m) for m in gone], budget))
            text = summary.from_model(answer, previous, gone, budget, self._count)
        except ProviderError as problem:
            return {}, (f"summarized by rules: {problem.message}",)
        if not text:
            return {}, (f"summarized by rules: the answer of {self.llm.name} was no good",)
        return {_key(previous, gone): text}, ()

    # Ending

    def end_session(self, session_id: str = MAIN, *, use_model: bool = True, now: datetime | None = None) -> Ended:
        """End a session: learn from what waits of it, and from what is left if that is enough; then remove it.

        What left the window before is always learned from; what is left, from `session_least_messages` messages on.
        A task at hand is not ended with it: see `Tasks`.

        Raises:
            NotFoundError: there is no such session.
        """
        now = now or times.utc_now()
        files.load(self.folder, session_id)
        ended = self._close(session_id, ENDED, now)
        learned = self.learn_pending(session_id=session_id, use_model=use_model, now=now)
        return replace(ended, learned=tuple(learned))

    def _close(self, session_id: str, reason: str, now: datetime) -> Ended:
        """Queue what is left of a session and remove it. Whatever a crash leaves of this is done by the next."""
        from memctl.working.episodes import spoken

        session_id = check_session_id(session_id)
        with files.locked(self.folder, session_id, timeout=self.settings.lock_timeout):
            found = files.load_if_exists(self.folder, session_id)
            if found is None or (reason == IDLE and not self._is_idle(found, now)):
                return Ended(session_id, kept=found is not None)
            session = self._settled(found)
            messages = identified(messages_of(session))
            said = spoken(messages)
            enough = len(said) >= self.settings.session_least_messages
            if enough:
                session = self._enqueue(session, messages, reason, now)
            emptied = with_messages(session, [])
            kept = _needed(emptied)
            if kept:
                files.write(self.folder, emptied, now)
                files.clear_offloaded(self.folder, session_id)
            else:
                files.delete(self.folder, session_id)
        return Ended(session_id, left_out=0 if enough else len(said), kept=kept)

    def _is_idle(self, session: Session, now: datetime) -> bool:
        minutes = self.settings.session_idle_minutes
        worth = bool(messages_of(session)) or not _needed(session)
        saved = session.saved_at
        return worth and minutes > 0 and saved is not None and now - saved >= timedelta(minutes=minutes)

    def close_idle(self, now: datetime | None = None) -> list[Ended]:
        """End the sessions that nobody uses any more: their messages go to the queue, to be learned from later."""
        now = now or times.utc_now()
        return [self._close(session_id, IDLE, now) for session_id in self.idle_sessions(now)]

    def idle_sessions(self, now: datetime | None = None) -> list[str]:
        """Sessions that nobody has used for longer than the setting `session_idle_minutes`."""
        now = now or times.utc_now()
        return [session_id for session_id in files.ids(self.folder) if self._readably_idle(session_id, now)]

    def _readably_idle(self, session_id: str, now: datetime) -> bool:
        try:
            found = files.load_if_exists(self.folder, session_id)
            return found is not None and self._is_idle(found, now)
        except MemctlError:
            return False

    def waiting(self) -> list[tuple[str, str]]:
        """What waits to become an episode: session and queue id, oldest first."""
        return files.queue(self.folder)

    # Learning from what left

    def learn_pending(
        self, *, session_id: str = "", use_model: bool = True, now: datetime | None = None
    ) -> list[Learned]:
        """Make an episode, and facts, of all that waits in the queue, or of what waits of one session.

        Each becomes one episode, also if this is cut short and done again, or two processes do it at once: the episode
        bears the queue's id, and is written only if there is none and the queue still holds it.
        """
        now = now or times.utc_now()
        waiting = files.queue(self.folder, check_session_id(session_id) if session_id else "")
        return [self._learn(owner, name, use_model, now) for owner, name in waiting]

    def _learn(self, session_id: str, name: str, use_model: bool, now: datetime) -> Learned:
        from memctl.working.messages import Message

        try:
            # A process that died may have left in the session what it had queued: it leaves first.
            if files.path_of(self.folder, session_id).is_file():
                self._change_session(session_id, lambda session: session, now)
            queued = files.read_queued(self.folder, session_id, name)
            messages = [_without_recalled(Message.read(state)) for state in queued.messages] if queued else []
        except InvalidDataError as problem:
            return Learned(name, session_id, notes=(f"left in the queue: {problem.message}",))
        if queued is None:
            return Learned(name, session_id)
        self.refresh()
        if self.view().imported(name):
            files.dequeue(self.folder, session_id, name)
            return Learned(name, session_id)
        return self._made(queued, messages, use_model, now)

    def _made(self, queued: Queued, messages: Sequence[Message], use_model: bool, now: datetime) -> Learned:
        """The facts and the episode of what waited; only then does it leave the queue."""
        from memctl.working import episodes

        name, session_id = queued.queue_id, queued.session_id
        said = episodes.spoken(messages)
        learned = Learned(name, session_id)
        if said:
            draft, notes = self._draft(messages, use_model)
            facts, more = self._facts(said, queued.at, use_model)
            made = episodes.memory_of(draft, messages, name, session_id, queued.at)
            episode = self._write_episode(made, session_id, name, now)
            learned = Learned(name, session_id, episode, facts, (*notes, *more))
        files.dequeue(self.folder, session_id, name)
        return learned

    def _facts(self, said: Sequence[Message], at: datetime, use_model: bool) -> tuple[int, tuple[str, ...]]:
        from memctl.lifecycle.adding import ADDED, CANDIDATE_KEPT, UPDATED
        from memctl.lifecycle.extraction.extract import Utterance
        from memctl.working.messages import USER

        told = [Utterance(message.role, message.text, message.time or at) for message in said]
        if not any(utterance.role == USER for utterance in told):
            return 0, ()
        report = self.extract(told, now=at, use_model=use_model, command="session")
        return sum(report.counted(outcome) for outcome in (ADDED, UPDATED, CANDIDATE_KEPT)), report.notes

    def _write_episode(self, made: Memory, session_id: str, name: str, now: datetime) -> Memory | None:
        """Write an episode, unless it is there; None where it was, or what it is made from was purged."""
        whole = self._completed(made, now)
        written: list[Memory] = []

        def decide(view: View) -> Change:
            done = view.imported(name) or not files.is_queued(self.folder, session_id, name)
            written[:] = [] if done else view.unused([whole])
            return Change("session", tuple(written))

        self._apply(decide, now, on_secret=MASK)
        return written[0] if written else None

    def _completed(self, memory: Memory, now: datetime) -> Memory:
        """A record made by rules, complete and checked; in the store's first category where it has not that one."""
        category = memory.category if memory.category in self.settings.categories else self.settings.categories[0]
        given = frozenset({"kind", "importance", "category"})
        drawn = self.gateway.ids(now, datetime.now(UTC))
        return adding.check(
            adding.completed(replace(memory, category=category), now, drawn, given), self.settings.categories
        )

    def _draft(self, messages: Sequence[Message], use_model: bool) -> tuple[Draft, tuple[str, ...]]:
        """A model's episode, the best of at most three; else the rules'."""
        from memctl.working import episodes

        ruled = episodes.by_rules(messages)
        try:
            model = self.llm if use_model else None
            if model is None:
                return ruled, ()
            best, rating, complaint = ruled, episodes.GOOD_ENOUGH, ""
            for _ in range(episodes.ATTEMPTS):
                answer = model.complete(episodes.asked(messages, complaint), episodes.SCHEMA)
                draft = episodes.from_model(answer, model.name)
                rating, complaint = episodes.score(draft, messages)
                if rating >= episodes.GOOD_ENOUGH:
                    return draft, ()
        except ProviderError as problem:
            return ruled, (f"episode made by rules: {problem.message}",)
        return best, (f"episode made by rules: the answer of {model.name} was no good three times ({complaint})",)

    # All of it

    def flush_sessions(self, *, use_model: bool = True, now: datetime | None = None) -> Flushed:
        """Do what adding left for later: make room, end what is idle, learn from what waits.

        A session that cannot be read, or is in use for too long, is left for the next time, and told of.
        """
        now = now or times.utc_now()
        compacted: dict[str, Compacted] = {}
        notes: list[str] = []
        ended = self.close_idle(now)
        for session_id in files.ids(self.folder):
            try:
                if self.is_over(messages_of(files.load(self.folder, session_id))):
                    compacted[session_id], told = self.compact_session(session_id, use_model=use_model, now=now)
                    notes += told
            except (InvalidDataError, LockedError) as problem:
                notes.append(f"{session_id}: {problem.message}")
        files.clear_temporary(self.folder, timeout=self.settings.lock_timeout)
        learned = self.learn_pending(use_model=use_model, now=now)
        return Flushed(compacted, tuple(ended), tuple(learned), (*notes, *(n for one in learned for n in one.notes)))


class Conversation:
    """The messages of a session: add, get, delete, clear.

    It holds none of them itself: each call reads and writes the session's file under its lock, so that several agents
    and processes may use one session. Messages are added durably, and in the order of the calls.
    """

    def __init__(self, store: Sessions, session_id: str, *, background: bool = False) -> None:
        self.store, self.session_id, self.background = store, session_id, background
        self._worker: ThreadPoolExecutor | None = None
        self._pending: list[Future[Any]] = []

    def add(
        self,
        message: Message | Mapping[str, Any] | str,
        role: str = "user",
        *,
        now: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secret: bool = False,
    ) -> Message:
        """Add a message and return; room is made later.

        Args:
            message: a text of the role, a message of OpenAI's API, one of a session's file, or a `Message`.
            allow_secret: keep it even if a part of it looks like a secret.

        Raises:
            InvalidDataError: it is no message.
            RefusedError: a part looks like a secret, and the setting `secrets` is `refuse`. In the call of a tool and
                its result it is masked instead: who calls a tool cannot choose its words.
        """
        return self.extend([_message(message, role, metadata)], now=now, allow_secret=allow_secret)[0]

    def extend(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        now: datetime | None = None,
        allow_secret: bool = False,
    ) -> list[Message]:
        """Add several messages at once: all of them or, where one is refused, none."""
        now = now or times.utc_now()
        policy = self.store.secret_policy(allow_secret)
        new = [_guarded(_message(message, "user", None), policy).at(now) for message in messages]
        added: list[Message] = []
        whole: list[Message] = []
        begins = not files.path_of(self.store.folder, self.session_id).is_file()

        def decide(session: Session) -> Session:
            whole[:] = identified([*messages_of(session), *new])
            added[:] = whole[len(whole) - len(new) :]
            return with_messages(session, whole)

        self.store._change_session(self.session_id, decide, now)
        if begins:
            self.store.close_idle(now)
        if self.background and self.store.is_over(whole):
            self._later(now)
        return added

    def get(self, last: int | None = None) -> list[Message]:
        """The messages, or the last so many; none where the session has not begun."""
        session = files.load_if_exists(self.store.folder, self.session_id)
        found = list(messages_of(self.store._settled(session))) if session else []
        return found if last is None else found[len(found) - min(last, len(found)) :]

    def openai(self) -> list[dict[str, Any]]:
        """The messages as OpenAI's API wants them."""
        from memctl.working.messages import to_openai

        return [each for message in self.get() for each in to_openai(message)]

    def delete(self, which: int | str, *, now: datetime | None = None) -> list[Message]:
        """Take a message out, by its place or its id; nothing is learned from it.

        What belongs to it goes with it: a call of a tool, and its result.

        Returns:
            what was deleted; nothing where there was no such message.
        """
        from memctl.working.window import units

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

        self.store._change_session(self.session_id, decide, now or times.utc_now())
        return gone

    def clear(self, *, now: datetime | None = None) -> int:
        """Take all messages out; nothing is learned from them. Returns how many there were."""
        gone: list[int] = []

        def decide(session: Session) -> Session:
            gone[:] = [len(messages_of(session))]
            files.clear_offloaded(self.store.folder, self.session_id)
            return with_messages(session, [])

        self.store._change_session(self.session_id, decide, now or times.utc_now())
        return gone[0]

    def size(self) -> Size:
        """How many messages, turns and tokens it has."""
        from memctl.working.window import size

        return size(self.get(), self.store._count)

    def flush(self, *, now: datetime | None = None) -> Compacted | None:
        """Make room now, if there is need; None where there is none. Waits for the thread."""
        self._wait()
        if not self.store.is_over(self.get()):
            return None
        return self.store.compact_session(self.session_id, now=now)[0]

    def close(self) -> None:
        """Wait for the thread and end it."""
        self._wait()
        if self._worker:
            self._worker.shutdown()
            self._worker = None

    def _later(self, now: datetime) -> None:
        from concurrent.futures import ThreadPoolExecutor

        if self._worker is None:
            self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"memctl-{self.session_id}")
        self._pending = [future for future in self._pending if not future.done()]
        if len(self._pending) < 2:  # one at work and one to come after it: that one sees everything
            self._pending.append(self._worker.submit(self.store.compact_session, self.session_id, now=now))

    def _wait(self) -> None:
        """Wait for the thread; what went wrong there does so again here, where somebody sees it."""
        for future in self._pending:
            future.exception()
        self._pending = []


# Between sessions and messages


def memory_component(session: Session) -> str:
    """The name of the component that holds the conversation: memctl's own, else the first of another program's."""
    others = [name for name, state in session.components.items() if isinstance(state, Mapping) and "messages" in state]
    return MEMORY if MEMORY in session.components or not others else others[0]


def messages_of(session: Session) -> tuple[Message, ...]:
    """The messages of a session.

    Raises:
        InvalidDataError: the component that holds them is broken.
    """
    from memctl.working.messages import from_state

    try:
        return from_state(session.components.get(memory_component(session), {"messages": []}))
    except InvalidDataError as problem:
        raise InvalidDataError(problem.reason, path=f"sessions/{session.session_id}.json", hint=problem.hint) from None


def with_messages(session: Session, messages: Sequence[Message]) -> Session:
    """The session with other messages."""
    from memctl.working.messages import to_state

    name = memory_component(session)
    return session.with_component(name, to_state(messages, session.components.get(name)))


def task_of(session: Session) -> Task | None:
    """The task at hand of a session.

    Raises:
        InvalidDataError: the component is broken.
    """
    from memctl.working.tasks import from_state

    state = session.components.get(TASK)
    return None if state is None else from_state(state)


def new_ids() -> Iterator[str]:
    """Ids for messages."""
    while True:
        yield f"msg_{secrets.token_hex(8)}"


def identified(messages: Sequence[Message]) -> tuple[Message, ...]:
    from memctl.working import messages as rules

    return rules.identified(messages, new_ids())


def _message(given: Message | Mapping[str, Any] | str, role: str, metadata: Mapping[str, Any] | None) -> Message:
    from memctl.working.messages import ROLES, Message, from_openai

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


def _without_recalled(message: Message) -> Message:
    """A message without the memories that were put into it: what was recalled is not learned again."""
    from memctl.working.messages import cleaned

    return cleaned(message, without_recalled)


def _key(previous: str, gone: Sequence[Message]) -> str:
    """What a summary is of: not the messages' ids, which those of other programs get only when they are written."""
    return files.digest([previous, [(message.role, message.whole_text) for message in gone]])


def _queued_in(session: Session) -> list[str]:
    """Queue ids a session knows to have left it."""
    own = session.components.get(OWN)
    found = own.get("queued") if isinstance(own, Mapping) else None
    return [str(name) for name in found] if isinstance(found, list) else []


def _noting_queued(session: Session, names: Sequence[str]) -> Session:
    own = session.components.get(OWN)
    kept = {**(own if isinstance(own, Mapping) else {}), "queued": list(names)}
    if not names:
        kept.pop("queued")
    return session.with_component(OWN, kept or None)


def _ids_in(queued: Queued) -> set[str]:
    from memctl.working.messages import Message

    return {message_id for state in queued.messages for message_id in Message.read(state).ids}


def _needed(session: Session) -> bool:
    """Whether a session's file holds anything but an empty conversation: a task, or what is another program's."""
    memory = memory_component(session)
    state = session.components.get(memory)
    more = set(state) - {"messages"} if isinstance(state, Mapping) else set()
    return bool(set(session.components) - {memory, OWN} or more or session.extra)
