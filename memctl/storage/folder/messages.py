"""Messages in the files of `transcripts/`, found by the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol

import apsw

from memctl.config import Settings
from memctl.core import kept
from memctl.core.kept import KeptMessage, Paused
from memctl.core.models import Change, LogLine, Memory
from memctl.errors import MemctlError
from memctl.git import tracking
from memctl.providers.base import Embedder
from memctl.storage.files import transcripts
from memctl.storage.files.layout import UserFolder
from memctl.storage.folder import sync
from memctl.storage.folder.entries import message_memory
from memctl.storage.folder.view import View
from memctl.storage.index.protocol import FileState, Found
from memctl.storage.index.sqlite import SqliteIndex
from memctl.storage.messages import Place, Run


class Files(Protocol):
    """What this needs of a user's store: the files, their index, and the one way in which they change."""

    folder: UserFolder
    index: SqliteIndex
    embedder: Embedder | None
    settings: Settings

    def refresh(self) -> Any: ...

    def change(self, decide: Callable[[View], Change], now: datetime | None = None) -> Change: ...

    def view(self) -> View: ...


class FileMessages:
    """The port `Messages` over a user's folder."""

    def __init__(self, engine: Files) -> None:
        self._engine = engine

    # Writing

    def append(self, messages: Sequence[KeptMessage], now: datetime) -> None:
        engine = self._engine
        with transcripts.locked(engine.folder, timeout=engine.settings.lock_timeout):
            local = tracking.tracks_transcripts(engine.folder)
            added = transcripts.append(engine.folder, messages, now, local=local)
        try:
            self._index(added)
        except (MemctlError, apsw.Error, OSError):
            return  # they are kept; the next question indexes them

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

    def delete(self, message_ids: Sequence[str], now: datetime, command: str) -> list[str]:
        engine = self._engine
        engine.refresh()
        known = [each for each in dict.fromkeys(message_ids) if engine.index.messages(each)]
        if known:
            engine.change(lambda view: Change(command, lines=deletions(view, known, now)), now)
        return known

    def finish_deletions(self, before: datetime, *, dry_run: bool = False) -> tuple[int, int]:
        """Call it with the user's lock held, so that no `undo` comes between."""
        from memctl.storage.files import transcript_scan as scan

        folder = self._engine.folder
        if dry_run or not folder.transcripts.is_dir():
            return scan.finished(folder, before, dry_run=True), len(scan.unused_attachments(folder))
        with transcripts.locked(folder, timeout=self._engine.settings.lock_timeout):
            messages = scan.finished(folder, before)
            unused = scan.unused_attachments(folder)
            scan.remove_attachments(folder, unused)
        return messages, len(unused)

    # Reading

    def refresh(self) -> None:
        self._engine.refresh()

    def glances(self) -> Iterator[Memory]:
        self._engine.refresh()
        return (message_memory(found.raw) for found in self._engine.index.all_messages())

    def glance(self, message_id: str) -> Memory | None:
        found = self._engine.index.messages(message_id)
        return message_memory(found[0].raw) if found else None

    def whole(self, message_id: str) -> KeptMessage | None:
        found = self._engine.index.messages(message_id)
        message = self._read(found[0]) if found else None
        return message and transcripts.whole(self._engine.folder, message)

    def _read(self, found: Found) -> KeptMessage | None:
        return transcripts.read_line(self._engine.folder, found.path, found.line)

    def run(self, run: str) -> list[KeptMessage]:
        self._engine.refresh()
        lines = {(found.path, found.line): found for found in self._engine.index.run_of(run)}
        return [message for message in map(self._read, lines.values()) if message]

    def newest(self, run: str, window: Sequence[str], most: int) -> list[KeptMessage]:
        self._catch_up()
        if window and not self._engine.index.messages(window[-1]):
            return []
        ids: dict[str, None] = {}
        for found in self._engine.index.run_of(run, 50 * most, newest=True):
            message_id = message_memory(found.raw).memory_id
            if message_id in window or len(ids) == most:
                break
            ids[message_id] = None
        return [message for message in map(self.whole, reversed(ids)) if message]

    def _catch_up(self) -> None:
        """Index what another process has added and did not come to index."""
        folder, known = self._engine.folder, self._engine.index.files()
        for path in transcripts.files(folder)[-2:]:
            state = known.get(path)
            if state is None or state.stamp != _stamp((folder.root / path).lstat()):
                self._engine.refresh()
                return

    def runs(self, session: str = "") -> list[Run]:
        self._engine.refresh()
        found: dict[str, list[tuple[Memory, Found]]] = {}
        for entry in self._engine.index.all_messages():
            memory = message_memory(entry.raw)
            if session in ("", memory.metadata.get("session")):
                found.setdefault(memory.session_id, []).append((memory, entry))
        return [_run(run, entries) for run, entries in found.items()]

    def place(self, message_id: str) -> Place | None:
        found = self._engine.index.messages(message_id)
        return Place(message_memory(found[0].raw).session_id, (found[0].path, found[0].line)) if found else None

    def mentioned(self, message_ids: Sequence[str]) -> set[str]:
        return transcripts.mentioned(self._engine.folder, message_ids)

    def starting(self, beginning: str) -> list[str]:
        found = self._engine.index.messages_starting(beginning)
        return [*dict.fromkeys(message_memory(each.raw).memory_id for each in found)]

    def size(self) -> int:
        return transcripts.size(self._engine.folder)

    # What the user of this machine decided

    def privacy(self) -> str:
        return transcripts.privacy(self._engine.folder)

    def paused(self) -> Paused:
        return transcripts.read_paused(self._engine.folder)

    def pause(self, paused: Paused) -> None:
        transcripts.write_paused(self._engine.folder, paused)

    def notice(self) -> tuple[float, datetime] | None:
        return transcripts.read_notice(self._engine.folder)

    def announce(self, days: float, at: datetime) -> None:
        transcripts.write_notice(self._engine.folder, days, at)


def deletions(view: View, message_ids: Iterable[str], now: datetime) -> tuple[LogLine, ...]:
    """The lines that delete messages; nothing for one that is not known."""
    places = {message_id: view.index.messages(message_id) for message_id in message_ids}
    return tuple(
        LogLine(path, kept.deletion(message_id, now))
        for message_id, found in places.items()
        for path in dict.fromkeys(each.path for each in found)
    )


def _run(run: str, entries: Sequence[tuple[Memory, Found]]) -> Run:
    times_said = [memory.when for memory, _ in entries if memory.when]
    session = str(entries[0][0].metadata.get("session", ""))
    count = len({memory.memory_id for memory, _ in entries})
    first, last = (min(times_said), max(times_said)) if times_said else (None, None)
    return Run(run, session, first, last, count, sum(len(found.raw) for _, found in entries))


def _stamp(found: os.stat_result) -> tuple[int, int, int, int]:
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
