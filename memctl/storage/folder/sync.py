"""Bringing the index up to date with the files: check every file, read those that differ, keep what is unreadable.

Nothing here writes the user's files.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memctl.core import fuse, kept
from memctl.core.formats import codec, document, knowledge, reflections
from memctl.core.formats.document import tombstones
from memctl.core.operations import Operation
from memctl.errors import InvalidDataError, MemctlError, ProviderError, RefusedError, StorageError, located
from memctl.providers.base import Embedder
from memctl.storage.entries.making import (
    message_entries,
    passage_entries,
    record_entry,
    reflection_entry,
    text_of,
)
from memctl.storage.entries.rows import Entry
from memctl.storage.entries.vectors import Packed, pack
from memctl.storage.files import atomic, journal, transcripts
from memctl.storage.files.layout import UserFolder
from memctl.storage.index.rows import FileState, FileUpdate
from memctl.storage.index.sqlite import SqliteIndex
from memctl.storage.ports.storage import Progress, SyncReport

SUSPECT_NS = 2_000_000_000
"""A file that changed this shortly before it was read may change again without a change of its times."""

OWN_WRITE = 2**62
"""`seen_ns` of a file that memctl wrote under the lock: never suspect."""


EMBED_BATCH = 256


def sweep(folder: UserFolder) -> tuple[dict[str, FileState], list[str]]:
    """The files to index, as the directory lists them now; opens none.

    Returns:
        their states, and the folders that cannot be listed, whose files keep their last known state.
    """
    states: dict[str, FileState] = {}
    closed: list[str] = []
    for path in _paths(folder, closed):
        try:
            stat = os.lstat(folder.root / path)
        except FileNotFoundError:
            continue
        state = FileState(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
        problem = _unfit(path, stat)
        states[path] = replace(state, problem=problem, readable=False) if problem else state
    return {p: s for p, s in states.items() if not p.startswith(tuple(closed))}, closed


def _named_in_unicode(name: str) -> bool:
    """Whether a name is valid UTF-8; a file with another name is skipped, as the index cannot hold it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unfit(path: str, status: os.stat_result) -> str:
    """Why a file must not be opened; empty if it may be. Links may lead anywhere, and pipes never end."""
    if stat.S_ISREG(status.st_mode):
        large = path.startswith(knowledge.FOLDER) and status.st_size > knowledge.LARGEST_FILE
        return f"{path}: {knowledge.too_large()}" if large else ""
    what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a regular file"
    return f"{path} is {what}, which memctl does not read; put the real file there"


def _paths(folder: UserFolder, closed: list[str]) -> Iterator[str]:
    yield document.FILE_NAME
    yield from _below(folder.reflections, reflections.FOLDER, _is_reflection, closed)
    yield from _below(folder.knowledge, knowledge.FOLDER, knowledge.is_document, closed)
    yield from _flat(folder.transcripts, transcripts.FOLDER, kept.is_transcript, closed)


def _flat(directory: Path, prefix: str, wanted: Callable[[str], bool], closed: list[str]) -> Iterator[str]:
    """As `_below`, without subfolders: attachments are many, and are reached through their messages."""
    try:
        names = sorted(entry.name for entry in os.scandir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        closed.append(prefix)
        return
    yield from (prefix + name for name in names if _named_in_unicode(name) and wanted(prefix + name))


def _is_reflection(path: str) -> bool:
    return path.endswith(".md") and not path.endswith(".proposed.md")


def _below(directory: Path, prefix: str, wanted: Callable[[str], bool], closed: list[str]) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        closed.append(prefix)
        return
    for entry in entries:
        if entry.name.startswith(".") or not _named_in_unicode(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), f"{prefix}{entry.name}/", wanted, closed)
        elif wanted(prefix + entry.name):
            yield prefix + entry.name


def sync(
    folder: UserFolder,
    index: SqliteIndex,
    embedder: Embedder | None,
    *,
    deep: bool = False,
    allow_mass_change: bool = False,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring the index up to date with the files.

    Args:
        deep: hash every file, even if its times are unchanged.
        allow_mass_change: accept that more than a quarter of the records are gone.
        progress: called with the number of indexed entries.
    """
    index.drop_if_damaged()
    outcomes, notes = _outcomes(folder, index, deep)
    blocked = None if allow_mass_change else _accident(index, outcomes)
    if blocked and _take_over_log(folder, index, embedder):
        outcomes, notes = _outcomes(folder, index, deep)
        blocked = _accident(index, outcomes)
    accepted = [outcome for outcome in outcomes if not (blocked and outcome.path == document.FILE_NAME)]
    if accepted and not index.meta("model") and embedder and not index.total():
        index.forget_vectors(embedder.identity)
    if accepted:
        _write(index, accepted, embedder, progress)
    return _report(index, accepted, blocked, notes)


def _outcomes(folder: UserFolder, index: SqliteIndex, deep: bool) -> tuple[list[_Outcome], list[str]]:
    """The outcomes of files that differ from the index, and notes on folders that cannot be listed."""
    known = index.files()
    present, closed = sweep(folder)
    looked = (_look(folder, index, state, known.get(path), deep) for path, state in present.items())
    outcomes = [outcome for outcome in looked if outcome is not None]
    outcomes += [
        _gone(index, path, known[path]) for path in known if path not in present and not path.startswith(tuple(closed))
    ]
    notes = [f"{prefix} cannot be listed; its last known state is kept" for prefix in closed]
    if document.FILE_NAME not in present and document.FILE_NAME not in known and _was_used(folder):
        notes.append(_MISSING)
    return outcomes, notes


def _was_used(folder: UserFolder) -> bool:
    """Whether the operation log tells of memories, so that a missing `memory.json` is no beginning."""
    return folder.operations.is_file() and folder.operations.stat().st_size > 0


_MISSING = (
    "memory.json is missing, and the operation log tells of changes to it: restore it (git, backup), or let "
    "`memctl doctor --fix` write an empty one"
)


@dataclass(frozen=True)
class _Outcome:
    """The update of the index for one file."""

    update: FileUpdate
    changed: bool = True

    @property
    def path(self) -> str:
        return self.update.path


def _look(
    folder: UserFolder, index: SqliteIndex, now: FileState, before: FileState | None, deep: bool
) -> _Outcome | None:
    """The outcome for a file; None if it is unchanged."""
    if before and before.stamp == now.stamp and not deep and not _suspect(before):
        return None
    if now.readable and kept.is_transcript(now.path):
        return _look_at_transcript(folder, index, now, before, deep)
    seen = time.time_ns()
    logged = _newest_logged(folder) if now.path == document.FILE_NAME else ""
    if not now.readable:
        return None if before and before.stamp == now.stamp else _unreadable(now, before, located(now.problem))
    try:
        data = _read(folder, now.path)
    except MemctlError as problem:
        return _unreadable(replace(now, seen_ns=seen), before, problem)
    if data is None:
        return _gone(index, now.path, before) if before else None
    state = replace(now, hash=codec.digest(data), seen_ns=seen)
    if before and before.hash == state.hash:
        return _Outcome(
            FileUpdate(now.path, before, replace(state, problem=before.problem, readable=before.readable)),
            changed=False,
        )
    try:
        return _read_entries(index, state, before, data, logged)
    except InvalidDataError as problem:
        return _unreadable(state, before, problem)


def _look_at_transcript(
    folder: UserFolder, index: SqliteIndex, now: FileState, before: FileState | None, deep: bool
) -> _Outcome | None:
    """The outcome for a transcript. A file that only grew is read from its former end, any other from the start."""
    full, seen = folder.resolve(now.path), time.time_ns()
    try:
        if before and not deep and before.hash and before.inode == now.inode and now.size >= before.size:
            start = max(0, before.size - transcripts.TAIL)
            data = transcripts.read_from(full, start)[: now.size - start]
            if transcripts.tail_digest(data[: before.size - start]) == before.hash:
                if now.size == before.size and before.stamp == now.stamp:
                    return None
                if now.size > before.size:
                    return _grown(folder, index, replace(now, seen_ns=seen), before, data[before.size - start :], data)
        data = transcripts.read_from(full, 0)[: now.size]
    except MemctlError as problem:
        return _unreadable(replace(now, seen_ns=seen), before, problem)
    return _read_transcript(folder, index, replace(now, seen_ns=seen), before, data)


def _grown(
    folder: UserFolder, index: SqliteIndex, now: FileState, before: FileState, new: bytes, data: bytes
) -> _Outcome:
    return _Outcome(transcript_update(folder, index, before, replace(now, problem=before.problem), new, data))


def transcript_update(
    folder: UserFolder, index: SqliteIndex, before: FileState | None, now: FileState, new: bytes, tail: bytes
) -> FileUpdate:
    """The update for lines at the end of a transcript.

    Args:
        new: the lines.
        tail: the end of the file, at least as long as the lines; its digest identifies the file later.
    """
    entries, gone, broken = _message_entries(folder, new, now.size - len(new), now.path)
    removed = [ref for message_id in gone for ref in index.refs_of_message(now.path, message_id)]
    digest = transcripts.tail_digest(tail) if new.endswith(b"\n") else ""  # an unfinished line is read again
    state = replace(now, hash=digest, problem=now.problem or _unreadable_lines(broken))
    return FileUpdate(now.path, before, state, entries, removed)


def _message_entries(folder: UserFolder, data: bytes, offset: int, path: str) -> tuple[list[Entry], list[str], int]:
    """The entries of a part of a transcript, the ids of deleted messages, and the number of broken lines. If two lines
    have one id, the last counts. A deletion holds, wherever its line is."""
    last: dict[str, kept.Line] = {}
    deleted: dict[str, None] = {}
    broken = 0
    for line in kept.lines(data, offset):
        if line is None:
            broken += 1
        elif line.message is None:
            deleted[line.deleted] = None
        else:
            last[line.message.message_id] = line
    held = [line for message_id, line in last.items() if message_id not in deleted]
    entries = [entry for line in held for entry in message_entries(line, path, _full_text(folder, line))]
    return entries, [*deleted], broken


def _full_text(folder: UserFolder, line: kept.Line) -> str:
    return transcripts.full(folder, line.message).text if line.message else ""


def _unreadable_lines(broken: int) -> str:
    many = "1 line" if broken == 1 else f"{broken} lines"
    return f"{many} cannot be read as a message (`memctl doctor`)" if broken else ""


def _read_transcript(
    folder: UserFolder, index: SqliteIndex, now: FileState, before: FileState | None, data: bytes
) -> _Outcome:
    update = transcript_update(folder, index, before, replace(now, problem=""), data, data)
    known = index.hashes(now.path)
    moved = _moved(update.entries, index.lines(now.path))
    fresh = [entry for entry in update.entries if known.get(entry.ref) != entry.hash]
    removed = known.keys() - {entry.ref for entry in update.entries}
    return _Outcome(replace(update, entries=fresh, removed=sorted(removed), lines=moved))


def _newest_logged(folder: UserFolder) -> str:
    """The newest finished operation. Called before the file is read, so the file holds everything up to it."""
    try:
        return journal.newest(folder)
    except MemctlError:
        return ""


def _suspect(state: FileState) -> bool:
    return state.seen_ns - max(state.mtime_ns, state.ctime_ns) < SUSPECT_NS


def _read(folder: UserFolder, path: str) -> bytes | None:
    full = folder.resolve(path)
    return atomic.read(full)


def _unreadable(state: FileState, before: FileState | None, problem: MemctlError) -> _Outcome:
    same = before is not None and before.problem == problem.message
    return _Outcome(
        FileUpdate(state.path, before, replace(state, problem=problem.message, readable=False)), changed=not same
    )


def _gone(index: SqliteIndex, path: str, before: FileState | None) -> _Outcome:
    header: Mapping[str, object] | None = {} if path == document.FILE_NAME else None
    return _Outcome(FileUpdate(path, before, None, removed=tuple(index.hashes(path)), header=header))


def _read_entries(index: SqliteIndex, state: FileState, before: FileState | None, data: bytes, logged: str) -> _Outcome:
    known = index.hashes(state.path)
    lines: Mapping[str, int] = {}
    if state.path == document.FILE_NAME:
        return _Outcome(_memory_update(state, before, data, {digest: ref for ref, digest in known.items()}, logged))
    if knowledge.is_document(state.path):
        entries = passage_entries(data, state.path)
        lines = _moved(entries, index.lines(state.path))
    else:
        entries = [reflection_entry(reflections.parse(data, state.path), data)]
    fresh = [entry for entry in entries if known.get(entry.ref) != entry.hash]
    removed = known.keys() - {entry.ref for entry in entries}
    return _Outcome(FileUpdate(state.path, before, replace(state, problem=""), fresh, sorted(removed), lines=lines))


def _moved(entries: Sequence[Entry], known: Mapping[str, int]) -> dict[str, int]:
    """The new lines of known entries that have moved."""
    return {entry.ref: entry.line for entry in entries if known.get(entry.ref, entry.line) != entry.line}


def _memory_update(
    state: FileState, before: FileState | None, data: bytes, known: Mapping[str, str], logged: str
) -> FileUpdate:
    """The update for `memory.json`.

    Args:
        known: the ids of known records by the hash of their bytes; these are not read again.
    """

    def is_new(raw: bytes) -> bool:
        return codec.digest(raw) not in known

    records = _Records(known)
    header, _ = document.walk(data, records.take, state.path, wanted=is_new, known=lambda raw: not is_new(raw))
    entries, left_out = records.without(tombstones(header))
    many = "1 record is" if left_out == 1 else f"{left_out} records are"
    problem = f"{many} left out: unreadable, with a repeated id, or purged (`memctl doctor`)" if left_out else ""
    gone = sorted(set(known.values()) - records.present)
    return FileUpdate(state.path, before, replace(state, problem=problem), entries, gone, header, logged=logged)


class _Records:
    """The records of `memory.json` as they go by: entries of those that are not known, and the ids of all."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        self._entries: list[Entry] = []
        self.present: set[str] = set()
        self._left_out = 0

    def take(self, record: document.RawRecord, _: Any) -> None:
        memory_id = record.memory.memory_id if record.memory else self._known.get(codec.digest(record.raw), "")
        if record.problem or memory_id in self.present:
            self._left_out += 1
            return
        self.present.add(memory_id)
        if record.memory:
            self._entries.append(record_entry(record.memory, record.raw))

    def without(self, tombstoned: set[str]) -> tuple[list[Entry], int]:
        """The entries without those that were purged, and how many records are left out."""
        purged = self.present & tombstoned
        self.present -= purged
        return [entry for entry in self._entries if entry.ref not in purged], self._left_out + len(purged)


def renew(folder: UserFolder, index: SqliteIndex, embedder: Embedder | None) -> None:
    """Write a new index file, and copy into it only the entries that the files still hold."""
    known, (present, _) = index.files(), sweep(folder)
    updates = {outcome.path: outcome.update for outcome in _outcomes(folder, index, deep=False)[0]}
    states = {path: updates[path].state if path in updates else known[path] for path in known.keys() & present.keys()}
    kept = {path for path, state in states.items() if state and state.readable}
    mine = [update for path, update in updates.items() if path in kept]
    gone = {(u.path, ref) for u in mine for ref in (*u.removed, *(entry.ref for entry in u.entries))}
    index.renew(kept, gone, header=all(update.header is None for update in mine))
    _write(index, [_Outcome(update) for update in mine], embedder)


def _accident(index: SqliteIndex, outcomes: Sequence[_Outcome]) -> MemctlError | None:
    """Why the change of `memory.json` looks like an accident; None if it does not."""
    return next((error for outcome in outcomes if (error := _fuse(index, outcome))), None)


def _fuse(index: SqliteIndex, outcome: _Outcome) -> MemctlError | None:
    if outcome.path != document.FILE_NAME or not outcome.update.removed:
        return None
    before, going = len(index.hashes(document.FILE_NAME)), len(outcome.update.removed)
    if outcome.update.state is None:
        return RefusedError(
            "memory.json is gone: that looks like an accident, so the last good state is kept",
            hint="Restore it (git, backup, `memctl doctor --fix`), or accept it: `memctl sync --allow-mass-change`.",
        )
    if not fuse.exceeded(going, before):
        return None
    what = f"holds {before - going} of the {before} memories it had"
    return RefusedError(
        f"memory.json {what}: that looks like an accident, so the last good state is kept",
        hint="Restore the file (git, backup), or accept it with `memctl sync --allow-mass-change`.",
    )


def _take_over_log(folder: UserFolder, index: SqliteIndex, embedder: Embedder | None) -> bool:
    """Apply to the index the operations that the log holds since its last update: these removals are no accident.

    A process that died after writing the file and before updating the index leaves the index behind. A step is skipped
    if its record is not as the operation expects it: something else has changed it since.

    Returns:
        whether the index was behind the log.
    """
    base = index.files().get(document.FILE_NAME)
    try:
        update = _logged_update(index, base, journal.since(folder, index.logged()))
    except (InvalidDataError, StorageError):
        return False
    if not (update.entries or update.removed):
        return False
    _write(index, [_Outcome(replace(update, logged=_newest_logged(folder)))], embedder)
    return True


def _logged_update(index: SqliteIndex, base: FileState | None, operations: Sequence[Operation]) -> FileUpdate:
    """The update that the operations amount to. It keeps the file's state, so the file is read again."""
    steps = [step for operation in operations for step in operation.records]
    erased = [memory_id for operation in operations for memory_id in (operation.erases or ((), ()))[0]]
    before = index.raws(document.FILE_NAME, list(dict.fromkeys([*(step.memory_id for step in steps), *erased])))
    now: dict[str, bytes | None] = dict(before)
    for step in steps:
        if now.get(step.memory_id) == _encoded(step.before):
            now[step.memory_id] = _encoded(step.after)
    now |= dict.fromkeys(erased)
    puts = [raw for ref, raw in now.items() if raw is not None and raw != before.get(ref)]
    entries = [record_entry(document.decode_raw(raw), raw) for raw in puts]
    removed = [ref for ref, raw in now.items() if raw is None and ref in before]
    return FileUpdate(document.FILE_NAME, base, base, entries, removed, _logged_header(index.header(), operations))


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _logged_header(header: Mapping[str, Any], operations: Sequence[Operation]) -> Mapping[str, Any]:
    for before, after in (operation.header for operation in operations if operation.header):
        header = after if header == before else header
    return header


def last_good(folder: UserFolder, index: SqliteIndex) -> bytes:
    """`memory.json` as the index holds it: the header, and the records byte for byte."""
    start = document.empty(folder.name, index.header())
    lines = index.lines(document.FILE_NAME)
    raws = index.raws(document.FILE_NAME, sorted(lines, key=lambda ref: lines[ref]))
    return document.apply_splices(start, [document.fill(document.parse(start).array, [*raws.values()])])


def _write(
    index: SqliteIndex, outcomes: Sequence[_Outcome], embedder: Embedder | None, progress: Progress | None = None
) -> None:
    entries = [entry for outcome in outcomes for entry in outcome.update.entries]
    vectors = embed_entries(entries, embedder, index, progress)
    index.update([outcome.update for outcome in outcomes], vectors)


def embed_entries(
    entries: Sequence[Entry], embedder: Embedder | None, index: SqliteIndex, progress: Progress | None = None
) -> dict[tuple[str, str], Packed]:
    """The vectors of new entries. A slow model makes them later, without a lock."""
    if embedder is None or embedder.slow or index.meta("model") != embedder.identity:
        return {}
    packed: dict[tuple[str, str], Packed] = {}
    for start in range(0, len(entries), EMBED_BATCH):
        batch = entries[start : start + EMBED_BATCH]
        if progress:
            progress("indexing", start, len(entries))
        vectors = embedder.embed([entry.text for entry in batch])
        packed |= {(e.path, e.ref): pack(vector) for e, vector in zip(batch, vectors, strict=True)}
    return packed


def _report(
    index: SqliteIndex, outcomes: Sequence[_Outcome], blocked: MemctlError | None, notes: list[str]
) -> SyncReport:
    broken = [state for state in index.files().values() if state.problem]
    notes += [s.problem if s.problem.startswith(s.path) else f"{s.path}: {s.problem}" for s in broken]
    unreadable = next((s for s in index.files().values() if s.path == document.FILE_NAME and not s.readable), None)
    if unreadable and not blocked:
        marked = document.MARKED in unreadable.problem
        hint = document.MARKED_HINT if marked else "Fix it by hand, then run `memctl doctor`. Nothing was changed."
        closed = unreadable.problem.startswith("cannot read ")
        blocked = (
            StorageError(unreadable.problem, hint="Check its permissions.")
            if closed
            else located(unreadable.problem, hint)
        )
    if blocked and not unreadable:
        notes.append(blocked.message)
    return SyncReport(
        changed=sum(len(outcome.update.entries) for outcome in outcomes),
        removed=sum(len(outcome.update.removed) for outcome in outcomes),
        notes=tuple(notes),
        blocked=blocked,
    )


def embed_pending(
    index: SqliteIndex, embedder: Embedder | None, progress: Progress | None = None, *, at_most: int | None = None
) -> tuple[int, str]:
    """Make the missing vectors, batch by batch; an interruption loses no finished batch.

    Args:
        at_most: make none if a slow model would have to make more than this.

    Returns:
        how many are still missing, and why.
    """
    if embedder is None:
        return 0, ""
    ready = index.meta("model") == embedder.identity
    missing = index.pending_count() if ready else index.total()
    if ready and not missing:
        return 0, ""
    if embedder.slow and at_most is not None and missing > at_most:
        return missing, "`memctl sync` makes them"
    try:
        if not ready:
            index.forget_vectors(embedder.identity)
        _embed_batches(index, embedder, progress, missing)
    except ProviderError as problem:
        return index.pending_count(), problem.message
    return 0, ""


def _embed_batches(index: SqliteIndex, embedder: Embedder, progress: Progress | None, total: int) -> None:
    done = 0
    while batch := index.pending(EMBED_BATCH):
        if progress:
            progress("embedding", done, max(done + len(batch), total))
        vectors = embedder.embed([text_of(row) for row in batch])
        index.put_vectors(zip(batch, map(pack, vectors), strict=True))
        done += len(batch)
