"""Learning from outcomes: feedback, what training can take from it, and candidates a person confirms or rejects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memctl import housekeeping, secrets, times
from memctl.errors import NotFoundError, UsageError
from memctl.files import atomic, receipts
from memctl.files.receipts import Receipt
from memctl.lifecycle import facts, feedback, preferences
from memctl.lifecycle.feedback import Feedback
from memctl.models import CANDIDATE, Change, Memory
from memctl.usecases.asking import Asking
from memctl.view import View

REJECTED = "rejected"
"""Reason in the trash of a candidate that a person said is not true."""


@dataclass(frozen=True)
class Judged:
    """What a judgement did: the memories before and after it, in the same order; and the messages that were judged, of
    which nothing changes."""

    feedback: Feedback
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    messages: tuple[str, ...] = ()


class Learning(Asking):
    """Feedback on memories and answers."""

    def feedback(
        self,
        memory_id: str,
        judgement: str,
        *,
        reason: str = "",
        receipt: str = "",
        allow_secret: bool = False,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Judged:
        """Judge one memory or message. A message stays as it is: the judgement is noted alone.

        Args:
            judgement: `up`, `down`, or `1` to `5` with 3 neutral.
            receipt: the answer it was part of; then the judgement is about that question.
            allow_secret: keep the reason even if a part of it looks like a secret.

        Raises:
            NotFoundError: no such memory, message or receipt.
            RefusedError: a part of the reason looks like a secret, and the setting `secrets` is `refuse`.
            UsageError: not a judgement, or the memory was not in that answer.
        """
        feedback.check(judgement, feedback.MEMORY_WORDS)
        self.refresh()
        reason = secrets.guarded(reason, self.secret_policy(allow_secret), "the reason")
        answer = self.receipt(receipt) if receipt else None
        return self._judge((self._judged_id(memory_id),), judgement, reason, answer, dry_run, now)

    def _judged_id(self, given: str) -> str:
        """The whole id of a memory, else of a message.

        Raises:
            NotFoundError: there is neither.
        """
        try:
            return self.full_id(given)
        except NotFoundError:
            if message_id := self.conversations.full_id(given):
                return message_id
            raise

    def feedback_on_answer(
        self,
        receipt: str,
        outcome: str,
        *,
        used: Sequence[str],
        reason: str = "",
        allow_secret: bool = False,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> Judged:
        """Judge an answer by what became of it; only the memories that were used are credited.

        Args:
            outcome: `good` or `bad`.
            used: ids of the memories and messages of that answer that were used.
            allow_secret: as for `feedback`.

        Raises:
            NotFoundError: no such receipt or memory.
            RefusedError: as for `feedback`.
            UsageError: no memory is named, or one that was not in the answer.
        """
        feedback.check(outcome, feedback.OUTCOME_WORDS)
        self.refresh()
        reason = secrets.guarded(reason, self.secret_policy(allow_secret), "the reason")
        answer = self.receipt(receipt)
        if not used:
            shown = ", ".join(answer.ids) or "none"
            raise UsageError("which memories were used?", hint=f"Name them with --used; the answer held: {shown}.")
        ids = tuple(dict.fromkeys(self._judged_id(memory_id) for memory_id in used))
        return self._judge(ids, outcome, reason, answer, dry_run, now)

    def receipt(self, receipt: str) -> Receipt:
        """What an answer held, by its receipt.

        Raises:
            NotFoundError: there is none; receipts are kept for some thousand answers.
        """
        found = next((each for each in receipts.read(self.folder) if each.receipt == receipt), None)
        if found is None:
            raise NotFoundError(
                f"no receipt {receipt!r}", hint="`memctl query --json` gives the receipt of its answer."
            )
        return found

    def _judge(
        self,
        ids: tuple[str, ...],
        judgement: str,
        reason: str,
        answer: Receipt | None,
        dry_run: bool,
        now: datetime | None,
    ) -> Judged:
        now = now or times.utc_now()
        if answer and (strange := [memory_id for memory_id in ids if memory_id not in answer.ids]):
            shown = ", ".join(answer.ids) or "none"
            raise UsageError(f"{strange[0]} was not in that answer", hint=f"It held: {shown}.")
        if answer and self.settings.secrets != secrets.ALLOW:
            answer = replace(answer, query=secrets.masked(answer.query))  # what was asked goes into git here
        result: list[Judged] = []

        def decide(view: View) -> Change:
            result[:] = [_judged(view, ids, judgement, reason, answer, now)]
            return Change("feedback", result[0].after, lines=(feedback.line(result[0].feedback),))

        self._apply(decide, now, dry_run=dry_run, on_secret=secrets.ALLOW)
        return result[0]

    def judgements(self) -> tuple[list[Feedback], list[int]]:
        """All feedback, oldest first, and the numbers of the lines of `feedback.jsonl` that cannot be read."""
        return feedback.read(atomic.read(self.folder.feedback_log) or b"")

    def preference_pairs(self) -> list[preferences.Pair]:
        """Pairs of a better and a worse text, for preference training (DPO)."""
        memories = {memory.memory_id: memory for memory in self.all()}
        return preferences.pairs(self.judgements()[0], memories)

    # Candidates

    def confirm(self, ids: Sequence[str], *, dry_run: bool = False, now: datetime | None = None) -> list[Memory]:
        """Take candidates for true; each takes the place of what it was in conflict with.

        Returns:
            every memory that changed, the confirmed ones and those they superseded.

        Raises:
            UsageError: a memory is not a candidate.
        """
        now = now or times.utc_now()
        self.refresh()
        wanted = [self.full_id(given) for given in dict.fromkeys(ids)]
        changed: dict[str, Memory] = {}

        def decide(view: View) -> Change:
            changed.clear()
            for memory_id in wanted:
                candidate = _candidate(view, memory_id)
                rivals = [changed.get(other) or view.get(other) for other in candidate.conflicts_with]
                changed.update({m.memory_id: m for m in facts.confirmed(candidate, [r for r in rivals if r], now)})
            return Change("confirm", tuple(changed.values()))

        self._apply(decide, now, dry_run=dry_run, on_secret=secrets.ALLOW)
        return list(changed.values())

    def reject(self, ids: Sequence[str], *, dry_run: bool = False, now: datetime | None = None) -> list[Memory]:
        """Move candidates to the trash.

        Raises:
            UsageError: a memory is not a candidate.
        """
        now = now or times.utc_now()
        self.refresh()
        wanted = [self.full_id(given) for given in dict.fromkeys(ids)]
        gone: list[Memory] = []

        def decide(view: View) -> Change:
            gone[:] = [_candidate(view, memory_id) for memory_id in wanted]
            return housekeeping.to_trash("reject", view, gone, REJECTED, now)

        self._apply(decide, now, dry_run=dry_run, on_secret=secrets.ALLOW)
        return gone


def _judged(
    view: View, ids: tuple[str, ...], judgement: str, reason: str, answer: Receipt | None, now: datetime
) -> Judged:
    messages = tuple(name for name in ids if view.get(name) is None and view.is_message(name))
    before = tuple(view.need(memory_id) for memory_id in ids if memory_id not in messages)
    given = Feedback(
        feedback_id=view.new_id(now).replace("mem_", "fb_", 1),
        at=now,
        judgement=judgement,
        ids=ids,
        reason=reason,
        receipt=answer.receipt if answer else "",
        query=answer.query if answer else "",
        shown=answer.ids if answer else (),
        # Not the words of messages: feedback is under git, and what was said is private.
        texts={memory.memory_id: memory.content for memory in before} if answer else None,
    )
    return Judged(given, before, tuple(feedback.judged(memory, given.score, now) for memory in before), messages)


def _candidate(view: View, memory_id: str) -> Memory:
    memory = view.need(memory_id)
    if memory.status != CANDIDATE:
        raise UsageError(
            f"{memory_id} is not a candidate (it is {memory.status})", hint="`memctl list --candidates` shows them."
        )
    return memory
