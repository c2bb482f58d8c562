"""The messages of one user: kept when they are received, looked at, and deleted."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from memctl.config import Settings
from memctl.core import kept, provenance, times
from memctl.core.kept import KeptMessage, Paused
from memctl.core.models import Memory
from memctl.errors import NotFoundError
from memctl.storage.ports.messages import Messages, Place, Run

if TYPE_CHECKING:
    from memctl.conversations.retention import Plan, Retention

RUN = "run_"


def new_run(now: datetime) -> str:
    """The id of a run of a session that begins now."""
    return f"{RUN}{now:%Y%m%d%H%M%S}_{secrets.token_hex(4)}"


@dataclass(frozen=True)
class Summary:
    """What is kept of a user's messages.

    Args:
        size: of the files, with the attachments, in bytes.
        privacy: whether git may see them, as the storage names it.
        keeping: the setting `keep_messages`.
        days: the setting `transcript_days`, and `plan` what it is going to delete.
    """

    runs: Sequence[Run]
    size: int
    privacy: str
    keeping: bool
    paused: Paused
    days: float
    plan: Plan

    @property
    def messages(self) -> int:
        return sum(run.messages for run in self.runs)


class Conversations:
    """What was said, as `store.conversations`. No method changes what is in a window.

    Args:
        messages: where they are kept.
        settings: gives the store's settings, as they are now.
        memories: gives all memories, of which some were made from messages.
    """

    def __init__(
        self, messages: Messages, settings: Callable[[], Settings], memories: Callable[[], Iterable[Memory]]
    ) -> None:
        self._messages, self._settings, self._memories = messages, settings, memories

    # Keeping

    def keep(self, messages: Sequence[KeptMessage], now: datetime) -> None:
        """Add messages to the transcript: on disk when this returns, and found by the next question.

        Raises:
            LockedError, StorageError: nothing of them was kept.
        """
        if messages:
            self._messages.append(messages, now)

    def bring(self, messages: Sequence[KeptMessage], now: datetime) -> str:
        """Keep messages that another program, or an earlier version, put into a session: each once, however often this
        is called. What was deleted stays deleted.

        Args:
            messages: of one run.

        Returns:
            the run they are kept in: that of those of them that were kept before, else their own.

        Raises:
            LockedError, StorageError: none of them was kept.
        """
        if not messages:
            return ""
        self._messages.refresh()
        same = [known for each in messages if (known := self._same(each))]
        run = same[0].session_id if same else messages[0].run
        new = [self._with_own_id(each) for each in messages if not self._same(each)]
        there = self._messages.mentioned([each.message_id for each in new])
        self.keep([replace(each, run=run) for each in new if each.message_id not in there], now)
        return run

    def _same(self, message: KeptMessage) -> Memory | None:
        """The message as it is kept already; not another under its id, for other programs number theirs in each
        session again."""
        glance = self._messages.glance(message.message_id)
        if glance is None or message.role != glance.metadata["role"] or message.session != glance.metadata["session"]:
            return None
        at = times.to_text(message.at) if message.at and message.received else ""
        timed = not at or (glance.when is not None and times.to_text(glance.when) == at)
        return glance if timed and message.text.startswith(glance.content) else None

    def _with_own_id(self, message: KeptMessage) -> KeptMessage:
        """The message; under another id where another has taken its own."""
        if self._messages.glance(message.message_id) is None:
            return message
        said = (message.session, message.message_id, message.role, message.text)
        at = times.to_text(message.at) if message.at and message.received else ""
        return replace(message, message_id=kept.derived_id(*said, at))

    def unacknowledged(self, run: str, window: Sequence[str], most: int) -> list[KeptMessage]:
        """The newest messages of a run that never reached its window: a process died in between, or its disk was full.

        Args:
            window: ids of the messages in the window, in order; none where none has left it. Unless the last of them is
                kept, nobody can tell.
            most: how many, at most.
        """
        return self._messages.newest(run, window, most)

    # What is not kept

    @property
    def paused(self) -> Paused:
        """What this machine's user paused."""
        return self._messages.paused()

    def is_paused(self, session: str) -> bool:
        """Whether nothing of what is said in a session is kept for now."""
        return self.paused.applies_to(session)

    def pause(self, session: str = "", *, wanted: bool = True) -> None:
        """Stop keeping what is said, in one session or in all, on this machine; or go on with it. What is said
        meanwhile is not kept later either."""
        before = self.paused
        others = tuple(name for name in before.sessions if name != session)
        if session:
            after = replace(before, sessions=(*others, session) if wanted else others)
        else:
            after = Paused(wanted, before.sessions)
        self._messages.pause(after)

    # Looking

    def message(self, message_id: str) -> KeptMessage:
        """A message, with its large texts in full.

        Raises:
            NotFoundError: it is not on this machine, or was deleted.
        """
        self._messages.refresh()
        message = self._messages.whole(message_id)
        if message is None:
            hint = "Transcripts are private to a machine, and messages can be deleted: see `memctl transcripts`."
            raise NotFoundError(f"there is no message {message_id!r} on this machine", hint=hint)
        return message

    def run(self, run: str) -> list[KeptMessage]:
        """The messages of a run, in order; none where it is not known."""
        return self._messages.run(run)

    def neighbours(self, message_id: str, before: int = 2, after: int = 2) -> list[KeptMessage]:
        """A message, in full, with those before and after it in its run.

        Raises:
            NotFoundError: as `message`.
        """
        message = self.message(message_id)
        messages = self.run(message.run)
        place = next((at for at, each in enumerate(messages) if each.message_id == message_id), 0)
        shown = messages[max(0, place - before) : place + after + 1]
        return [message if each.message_id == message_id else each for each in shown] or [message]

    def known(self, message_ids: Iterable[str]) -> set[str]:
        """Those of some messages that are on this machine."""
        return {message_id for message_id in message_ids if self._messages.glance(message_id)}

    def learned_from(self, message_ids: Iterable[str]) -> list[Memory]:
        """The memories that were made from some messages: which of a run these are is in their metadata, as the ids of
        the first and the last (`said`)."""
        self._messages.refresh()
        wanted = [place for message_id in message_ids if (place := self._messages.place(message_id))]
        return [memory for memory in self._memories() if self._is_made_from(memory, wanted)] if wanted else []

    def _is_made_from(self, memory: Memory, wanted: Sequence[Place]) -> bool:
        said = memory.metadata.get(provenance.SAID)
        ends = [place for end in said if (place := self._messages.place(str(end)))] if isinstance(said, list) else []
        return bool(ends) and any(place.run == ends[0].run and ends[0] <= place <= ends[-1] for place in wanted)

    def runs(self, session: str = "") -> list[Run]:
        """The runs of sessions, the oldest first; of one session or of all."""
        return self._messages.runs(session)

    def full_id(self, given: str) -> str:
        """The id of a message for it, or for the beginning of it; empty where none or several fit."""
        self._messages.refresh()
        if given and self._messages.glance(given):
            return given
        fitting = self.ids_starting(given) if given else []
        return fitting[0] if len(fitting) == 1 else ""

    def ids_starting(self, beginning: str) -> list[str]:
        """Some ids of messages that begin so."""
        return self._messages.starting(beginning)

    def summary(self, in_use: Iterable[str] = (), *, now: datetime | None = None) -> Summary:
        """What is kept of the user's messages, and for how long."""
        return Summary(
            runs=self.runs(),
            size=self._messages.size(),
            privacy=self._messages.privacy(),
            keeping=self._settings().keep_messages,
            paused=self.paused,
            days=self._settings().transcript_days,
            plan=self.retention.plan(in_use, now or times.utc_now()),
        )

    @cached_property
    def retention(self) -> Retention:
        """For how long messages are kept."""
        from memctl.conversations.retention import Retention

        return Retention(self._messages, self._settings)

    # Deleting

    def delete(self, message_ids: Sequence[str], *, now: datetime | None = None, command: str = "") -> list[str]:
        """Delete messages: they are in no answer any more, here and wherever the deletion is merged. `undo` brings
        them back, until a purge takes them for good.

        Returns:
            the ids that were deleted; those that were not known are left out.
        """
        return self._messages.delete(message_ids, now or times.utc_now(), command or "delete messages")

    def delete_run(self, run: str, *, now: datetime | None = None) -> list[str]:
        """Delete all messages of a run."""
        return self.delete(self.ids(run=run), now=now, command=f"delete the messages of {run}")

    def ids(
        self, *, session: str = "", run: str = "", since: datetime | None = None, until: datetime | None = None
    ) -> list[str]:
        """The ids of messages, in the order in which they were received: of a session, of a run, said from one time to
        before another, or all."""
        fitting = (
            memory.memory_id
            for memory in self._messages.glances()
            if session in ("", memory.metadata.get("session"))
            and run in ("", memory.session_id)
            and _in_period(memory.when, since, until)
        )
        return [*dict.fromkeys(fitting)]

    def finish_deletions(self, before: datetime, *, dry_run: bool = False) -> tuple[int, int]:
        """Remove the text of what was deleted by then, for good, and the attachments that nothing names any more. Call
        it with the user's lock held, so that no `undo` comes between.

        Returns:
            how many messages, and how many attachments.
        """
        return self._messages.finish_deletions(before, dry_run=dry_run)


def _in_period(when: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    if when is None:
        return since is None and until is None
    return (since is None or when >= since) and (until is None or when < until)
