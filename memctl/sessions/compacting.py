"""Making room in a conversation that is over a limit: what is laid aside, what leaves for the queue, the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memctl.core import kept, times
from memctl.core.recalled import without_recalled
from memctl.core.session import EVICTED, Session, digest
from memctl.errors import UsageError
from memctl.sessions.state import messages_of, with_messages
from memctl.sessions.windows import MAIN, Windows, identified, new_ids

if TYPE_CHECKING:  # the rules of windows cost every command's start, if they are imported here
    from memctl.core.limits import Limits
    from memctl.core.messages import Message
    from memctl.sessions.window import Compacted, Summarize


class Compacting(Windows):
    """Conversations within limits."""

    def limits(self, budget: int | None = None) -> Limits:
        """The limits of a conversation, from the settings.

        Args:
            budget: tokens of the context that is made of it, where that is not the setting `context_tokens`.
        """
        from memctl.core.limits import Limits

        s = self._engine.settings
        half = (budget or s.context_tokens) // 2
        chosen = s.conversation_tokens or half
        return Limits(
            min(chosen, half) if budget else chosen,
            s.conversation_messages, s.conversation_turns, s.conversation_compact_to,
            s.conversation_keep_last, s.conversation_summary_share, s.conversation_output_characters,
            s.conversation_acknowledgement_characters, s.auto_window_messages, s.auto_window_share,
        )  # fmt: skip

    def is_over(self, messages: Sequence[Message], policy: str = "", *, budget: int | None = None) -> bool:
        """Whether a conversation is to be compacted; `budget` as for `conversation_limits`."""
        from memctl.sessions import window

        limits = self.limits(budget)
        return window.is_over(window.size(messages, self._count), limits, policy or self._engine.settings.window_policy)

    def compact(
        self,
        session_id: str = MAIN,
        *,
        policy: str = "",
        budget: int | None = None,
        use_model: bool = True,
        now: datetime | None = None,
    ) -> tuple[Compacted, tuple[str, ...]]:
        """Make room in a conversation that is over a limit; what leaves is queued before it leaves.

        Args:
            policy: instead of the setting `window_policy`.
            budget: as for `conversation_limits`.

        Returns:
            what was done, and notes on a model that could not help.

        Raises:
            NotFoundError: there is no such session.
            UsageError: there is no such policy.
        """
        from memctl.core.limits import POLICIES

        policy = policy or self._engine.settings.window_policy
        if policy not in POLICIES:
            raise UsageError(f"there is no window policy {policy!r}", hint=f"Policies: {', '.join(POLICIES)}.")
        now = now or times.utc_now()
        messages = messages_of(self._storage.load(session_id))
        limits = self.limits(budget)
        drafts, notes = self._model_summary(session_id, messages, policy, limits) if use_model else ({}, ())
        done: list[Compacted] = []

        def decide(session: Session) -> Session:
            session = self._begun(session, now)
            found = identified(kept.with_derived_ids(messages_of(session), session.session_id))
            compacted = self._compacted(session.session_id, found, policy, limits, self._summarizing(drafts))
            done[:] = [compacted]
            if compacted.messages == found:
                return session
            for text in compacted.offloads.values():
                self._storage.offload(session.session_id, text)
            if compacted.evicted:
                session = self._enqueue(session, compacted.evicted, EVICTED, now)
            return with_messages(session, compacted.messages)

        self.change(session_id, decide, now)
        return done[0], notes

    def _compacted(
        self, session_id: str, messages: Sequence[Message], policy: str, limits: Limits, summarize: Summarize
    ) -> Compacted:
        """What a compaction makes of messages."""
        from memctl.sessions import window

        return window.compact(
            messages, limits, policy, self._count, summarize,
            lambda text: self._storage.reference(session_id, text), new_ids(),
        )  # fmt: skip

    def _summarizing(self, drafts: Mapping[str, str]) -> Summarize:
        """Summaries by rules; a model's where there is one of just these messages."""
        from memctl.sessions import summary

        def summarize(previous: str, gone: Sequence[Message], budget: int) -> str:
            return drafts.get(_key(previous, gone)) or summary.by_rules(previous, _clean(gone), budget, self._count)

        return summarize

    def _model_summary(
        self, session_id: str, messages: Sequence[Message], policy: str, limits: Limits
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """A model's summary of what is about to leave, by what that is; asked outside of any lock.

        Only where a model is configured, and rules leave more than half.
        """
        from memctl.sessions import summary, window

        wanted: list[tuple[str, Sequence[Message], int]] = []

        def remember(previous: str, gone: Sequence[Message], budget: int) -> str:
            wanted[:] = [(previous, tuple(gone), budget)]
            return ""

        if not self._engine.has_llm:
            return {}, self._engine.ask((), str).notes("summarized by rules")  # why there is none
        self._compacted(session_id, messages, policy, limits, remember)
        if not wanted or not window.needs_model(wanted[0][1], limits, self._count):
            return {}, ()
        previous, gone, budget = wanted[0]
        asked = summary.asked(previous, _clean(gone), budget)
        answer = self._engine.ask(
            asked, lambda said: summary.from_model(said, previous, gone, budget, self._count), attempts=1
        )
        return {_key(previous, gone): answer.value} if answer.value else {}, answer.notes("summarized by rules")


def _clean(messages: Sequence[Message]) -> list[Message]:
    """Messages without the memories that were put into them: what was recalled is not summarized as said."""
    from memctl.core.messages import cleaned

    return [cleaned(message, without_recalled) for message in messages]


def _key(previous: str, gone: Sequence[Message]) -> str:
    """What a summary is of: not the messages' ids, which those of other programs get only when they are written."""
    return digest([previous, [(message.role, message.whole_text) for message in gone]])
