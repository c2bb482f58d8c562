"""The messages of one user: kept when they are received, looked at, and deleted."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import apsw

from memctl import sync, times
from memctl.config import Settings
from memctl.core import kept, provenance
from memctl.core.kept import KeptMessage
from memctl.entries import message_memory
from memctl.errors import MemctlError, NotFoundError, RefusedError
from memctl.files import transcripts
from memctl.files.layout import UserFolder
from memctl.files.transcripts import Paused
from memctl.git import tracking
from memctl.index.protocol import FileState, Found
from memctl.index.sqlite import SqliteIndex
from memctl.models import Change, LineEdit, Memory
from memctl.providers.base import Embedder
from memctl.view import View

if TYPE_CHECKING:
    from memctl.conversations.retention import Plan, Retention

RUN = "run_"


def new_run(now: datetime) -> str:
    """The id of a run of a session that begins now."""
    return f"{RUN}{now:%Y%m%d%H%M%S}_{secrets.token_hex(4)}"


@dataclass(frozen=True)
class Run:
    """A run of a session at a glance: its first and last message, how many there are, and their size in bytes."""

    run: str
    session: str
    first: datetime | None
    last: datetime | None
    messages: int
    size: int


@dataclass(frozen=True)
class Summary:
    """What is kept of a user's messages.

    Args:
        size: of the files, with the attachments, in bytes.
        privacy: whether git may see them, one of `transcripts.PRIVATE`, `SHARED_HERE` and `UNMARKED`.
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


class _Place(NamedTuple):
    """The run of a message, and its line: the file, and where in it."""

    run: str
    line: tuple[str, int]


class Files(Protocol):
    """What this needs of a user's store: the files, their index, and the one way in which they change."""

    folder: UserFolder
    index: SqliteIndex
    embedder: Embedder | None
    settings: Settings

    def refresh(self) -> Any: ...

    def change(self, decide: Callable[[View], Change], now: datetime | None = None) -> Change: ...

    def view(self) -> View: ...


class Conversations:
    """What was said, as `store.conversations`. No method changes what is in a window."""

    def __init__(self, engine: Files) -> None:
        self._engine = engine

    # Keeping

    def keep(self, messages: Sequence[KeptMessage], now: datetime) -> None:
        """Add messages to the transcript: on disk when this returns, and found by the next question.

        Raises:
            LockedError, StorageError: nothing of them was kept.
        """
        if not messages:
            return
        engine = self._engine
        with transcripts.locked(engine.folder, timeout=engine.settings.lock_timeout):
            local = tracking.tracks_transcripts(engine.folder)
            added = transcripts.append(engine.folder, messages, now, local=local)
        try:
            self._index(added)
        except (MemctlError, apsw.Error, OSError):
            return  # they are kept; the next question indexes them

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
        self._engine.refresh()
        same = [found for each in messages if (found := self._same(each))]
        run = same[0].session_id if same else messages[0].run
        new = [self._with_own_id(each) for each in messages if not self._same(each)]
        there = transcripts.mentioned(self._engine.folder, [each.message_id for each in new])
        self.keep([replace(each, run=run) for each in new if each.message_id not in there], now)
        return run

    def _same(self, message: KeptMessage) -> Memory | None:
        """The message as it is kept already; not another under its id, for other programs number theirs in each
        session again."""
        found = self._standing(message.message_id)
        if found is None or message.role != found.metadata["role"] or message.session != found.metadata["session"]:
            return None
        at = times.to_text(message.at) if message.at and message.received else ""
        timed = not at or (found.when is not None and times.to_text(found.when) == at)
        return found if timed and message.text.startswith(found.content) else None

    def _with_own_id(self, message: KeptMessage) -> KeptMessage:
        """The message; under another id where another has taken its own."""
        if self._standing(message.message_id) is None:
            return message
        said = (message.session, message.message_id, message.role, message.text)
        at = times.to_text(message.at) if message.at and message.received else ""
        return replace(message, message_id=kept.derived_id(*said, at))

    def _standing(self, message_id: str) -> Memory | None:
        """A message as the index knows it: a long one by its first passage."""
        found = self._engine.index.messages(message_id)
        return message_memory(found[0].raw) if found else None

    def unacknowledged(self, run: str, window: Sequence[str], most: int) -> list[KeptMessage]:
        """The newest messages of a run that never reached its window: a process died in between, or its disk was full.

        Args:
            window: ids of the messages in the window, in order; none where none has left it. Unless the last of them is
                kept, nobody can tell.
            most: how many, at most.
        """
        self._catch_up()
        if window and not self._engine.index.messages(window[-1]):
            return []
        ids: dict[str, None] = {}
        for found in self._engine.index.run_of(run, 50 * most, newest=True):
            message_id = message_memory(found.raw).memory_id
            if message_id in window or len(ids) == most:
                break
            ids[message_id] = None
        entries = (self._engine.index.messages(message_id) for message_id in ids)
        left = (self._read(several[0]) for several in entries if several)
        return [transcripts.whole(self._engine.folder, each) for each in left if each][::-1]

    def _catch_up(self) -> None:
        """Index what another process has added and did not come to index."""
        folder, known = self._engine.folder, self._engine.index.files()
        for path in transcripts.files(folder)[-2:]:
            state = known.get(path)
            if state is None or state.stamp != _stamp((folder.root / path).lstat()):
                self._engine.refresh()
                return

    def _index(self, added: transcripts.Appended) -> None:
        """Index what was just added, where the index knows all that stood in the file before."""
        engine = self._engine
        base = engine.index.files().get(added.path)
        known = base.stamp if base and base.hash else None
        if known != (_stamp(added.before) if added.before else None) or (base and not known):
            return
        problem = base.problem if base else ""
        state = FileState(added.path, *_stamp(added.after), seen_ns=sync.OWN_WRITE, problem=problem)
        update = sync.transcript_update(engine.folder, engine.index, base, state, added.data, added.tail)
        engine.index.update([update], sync.embed_entries(update.entries, engine.embedder, engine.index))

    # What is not kept

    @property
    def paused(self) -> Paused:
        """What this machine's user paused."""
        return transcripts.read_paused(self._engine.folder)

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
        transcripts.write_paused(self._engine.folder, after)

    # Looking

    def message(self, message_id: str) -> KeptMessage:
        """A message, with its large texts in full.

        Raises:
            NotFoundError: it is not on this machine, or was deleted.
        """
        self._engine.refresh()
        found = self._engine.index.messages(message_id)
        message = self._read(found[0]) if found else None
        if message is None:
            hint = "Transcripts are private to a machine, and messages can be deleted: see `memctl transcripts`."
            raise NotFoundError(f"there is no message {message_id!r} on this machine", hint=hint)
        return transcripts.whole(self._engine.folder, message)

    def _read(self, found: Found) -> KeptMessage | None:
        return transcripts.read_line(self._engine.folder, found.path, found.line)

    def run(self, run: str) -> list[KeptMessage]:
        """The messages of a run, in order; none where it is not known."""
        self._engine.refresh()
        return [message for message in map(self._read, self._lines_of(run)) if message]

    def _lines_of(self, run: str) -> list[Found]:
        """The lines of a run's messages, in order, each once: a long message has several entries."""
        return [*{(found.path, found.line): found for found in self._engine.index.run_of(run)}.values()]

    def neighbours(self, message_id: str, before: int = 2, after: int = 2) -> list[KeptMessage]:
        """A message, in full, with those before and after it in its run.

        Raises:
            NotFoundError: as `message`.
        """
        message = self.message(message_id)
        lines = self._lines_of(message.run)
        place = next((at for at, found in enumerate(lines) if message_memory(found.raw).memory_id == message_id), 0)
        shown = lines[max(0, place - before) : place + after + 1]
        found = [each for each in map(self._read, shown) if each]
        return [message if each.message_id == message_id else each for each in found] or [message]

    def known(self, message_ids: Iterable[str]) -> set[str]:
        """Those of some messages that are on this machine."""
        return {message_id for message_id in message_ids if self._engine.index.messages(message_id)}

    def learned_from(self, message_ids: Iterable[str]) -> list[Memory]:
        """The memories that were made from some messages: which of a run these are is in their metadata, as the ids of
        the first and the last (`said`)."""
        self._engine.refresh()
        wanted = [place for message_id in message_ids if (place := self._place(message_id))]
        return [memory for memory in self._engine.view().all() if self._is_made_from(memory, wanted)] if wanted else []

    def _is_made_from(self, memory: Memory, wanted: Sequence[_Place]) -> bool:
        said = memory.metadata.get(provenance.SAID)
        ends = [place for end in said if (place := self._place(str(end)))] if isinstance(said, list) else []
        return bool(ends) and any(
            place.run == ends[0].run and ends[0].line <= place.line <= ends[-1].line for place in wanted
        )

    def _place(self, message_id: str) -> _Place | None:
        """Where a message stands; None where it is not known."""
        found = self._engine.index.messages(message_id)
        return _Place(message_memory(found[0].raw).session_id, (found[0].path, found[0].line)) if found else None

    def runs(self, session: str = "") -> list[Run]:
        """The runs of sessions, the oldest first; of one session or of all."""
        self._engine.refresh()
        found: dict[str, list[tuple[Memory, Found]]] = {}
        for entry in self._engine.index.all_messages():
            memory = message_memory(entry.raw)
            if session in ("", memory.metadata.get("session")):
                found.setdefault(memory.session_id, []).append((memory, entry))
        return [_run(run, entries) for run, entries in found.items()]

    def full_id(self, given: str) -> str:
        """The id of a message for it, or for the beginning of it; empty where none or several fit."""
        self._engine.refresh()
        if given and self._engine.index.messages(given):
            return given
        found = self.ids_starting(given) if given else []
        return found[0] if len(found) == 1 else ""

    def ids_starting(self, beginning: str) -> list[str]:
        """Some ids of messages that begin so."""
        found = self._engine.index.messages_starting(beginning)
        return [*dict.fromkeys(message_memory(each.raw).memory_id for each in found)]

    def summary(self, in_use: Iterable[str] = (), *, now: datetime | None = None) -> Summary:
        """What is kept of the user's messages, and for how long."""
        engine = self._engine
        return Summary(
            runs=self.runs(),
            size=transcripts.size(engine.folder),
            privacy=transcripts.privacy(engine.folder),
            keeping=engine.settings.keep_messages,
            paused=self.paused,
            days=engine.settings.transcript_days,
            plan=self.retention.plan(in_use, now or times.utc_now()),
        )

    @cached_property
    def retention(self) -> Retention:
        """For how long messages are kept."""
        from memctl.conversations.retention import Retention

        return Retention(self._engine)

    # Deleting

    def delete(self, message_ids: Sequence[str], *, now: datetime | None = None, command: str = "") -> list[str]:
        """Delete messages: they are in no answer any more, here and wherever the deletion is merged. `undo` brings
        them back, until a purge takes them for good.

        Returns:
            the ids that were deleted; those that were not known are left out.
        """
        now = now or times.utc_now()
        engine = self._engine
        engine.refresh()
        known = [each for each in dict.fromkeys(message_ids) if engine.index.messages(each)]
        if known:
            engine.change(lambda view: Change(command or "delete messages", lines=deletions(view, known, now)), now)
        return known

    def delete_run(self, run: str, *, now: datetime | None = None) -> list[str]:
        """Delete all messages of a run."""
        self._engine.refresh()
        ids = dict.fromkeys(message_memory(found.raw).memory_id for found in self._engine.index.run_of(run))
        return self.delete([*ids], now=now, command=f"delete the messages of {run}")

    def delete_period(
        self, since: datetime | None, until: datetime | None, *, session: str = "", now: datetime | None = None
    ) -> list[str]:
        """Delete what was said from one time to before another; of one session or of all.

        Raises:
            RefusedError: neither a time nor a session is given; to delete everything, name a time before it all.
        """
        if since is None and until is None and not session:
            raise RefusedError("nothing says which messages to delete", hint="Give a session, or a time.")
        return self.delete(self.ids(session=session, since=since, until=until), now=now)

    def ids(
        self, *, session: str = "", run: str = "", since: datetime | None = None, until: datetime | None = None
    ) -> list[str]:
        """The ids of messages, in the order in which they were received: of a session, of a run, said from one time to
        before another, or all."""
        self._engine.refresh()
        shown = (message_memory(found.raw) for found in self._engine.index.all_messages())
        fitting = (
            memory.memory_id
            for memory in shown
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
        from memctl.files import transcript_scan

        engine = self._engine
        folder = engine.folder
        if dry_run or not folder.transcripts.is_dir():
            return transcript_scan.finished(folder, before, dry_run=True), len(
                transcript_scan.unused_attachments(folder)
            )
        with transcripts.locked(folder, timeout=engine.settings.lock_timeout):
            messages = transcript_scan.finished(folder, before)
            unused = transcript_scan.unused_attachments(folder)
            transcript_scan.remove_attachments(folder, unused)
        return messages, len(unused)


def deletions(view: View, message_ids: Iterable[str], now: datetime) -> tuple[LineEdit, ...]:
    """The lines that delete messages; nothing for one that is not known."""
    places = {message_id: view.index.messages(message_id) for message_id in message_ids}
    return tuple(
        LineEdit(path, kept.deletion(message_id, now))
        for message_id, found in places.items()
        for path in dict.fromkeys(each.path for each in found)
    )


def _in_period(when: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    if when is None:
        return since is None and until is None
    return (since is None or when >= since) and (until is None or when < until)


def _run(run: str, entries: Sequence[tuple[Memory, Found]]) -> Run:
    times_said = [memory.when for memory, _ in entries if memory.when]
    session = str(entries[0][0].metadata.get("session", ""))
    count = len({memory.memory_id for memory, _ in entries})
    first, last = (min(times_said), max(times_said)) if times_said else (None, None)
    return Run(run, session, first, last, count, sum(len(found.raw) for _, found in entries))


def _stamp(found: os.stat_result) -> tuple[int, int, int, int]:
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
