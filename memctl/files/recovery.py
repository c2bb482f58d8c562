"""After a crash: finish what was begun, clear what was left, lose nothing a person saved. Call with the lock held."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from memctl.errors import InvalidDataError
from memctl.files import atomic, codec, document, edit, journal
from memctl.files.journal import Operation
from memctl.files.layout import UserFolder
from memctl.models import LineEdit

_LONGEST_NAME = 200
"""Bytes; systems allow 255, and `hand-edit-…-` may be put before it."""


def recover(folder: UserFolder) -> None:
    """Complete the operation that was under way when a process died, or find that it had not begun."""
    with atomic.told(folder.root):
        _sweep(folder)
    operation = journal.unfinished(folder.operations)
    if operation is None:
        return
    if operation.erases:
        from memctl.files.erase import Erasure, erase

        erase(folder, Erasure(*operation.erases))
        journal.finish(folder.operations, operation.op)
        return
    begun = _any_written(folder, operation)
    if begun:
        _complete(folder, operation)
    else:
        for line in operation.lines:
            _clear_torn(folder, line)
    journal.finish(folder.operations, operation.op, journal.DONE if begun else journal.DROPPED)


def write_file(folder: UserFolder, path: str, data: bytes | None, before: bytes | None) -> None:
    """Write one of the user's files, or delete it; what is displaced and is not `before` is laid aside, not lost.

    Raises:
        StorageError: nothing was changed, or the hint is `atomic.UNSURE`.
    """
    full = folder.resolve(path)
    keep = folder.displaced / displaced_name(path)
    if not path.startswith(".memctl/"):
        atomic.make_directory(keep.parent)
    if data is None:
        with atomic.told(full):
            if not path.startswith(".memctl/") and full.exists():
                full.rename(keep)
        atomic.remove(full)
    else:
        atomic.replace(full, data, keep=None if path.startswith(".memctl/") else keep)
    displaced = atomic.read(keep)
    if displaced is not None and displaced != before:
        keep_hand_edit(keep)
    elif displaced is not None:
        atomic.discard(keep)


def displaced_name(path: str) -> str:
    """A file's name for where it lies meanwhile: its path, or a hash of it where that is too long for a name."""
    flat = path.replace("/", "__")
    return flat if len(os.fsencode(flat)) <= _LONGEST_NAME else codec.digest(os.fsencode(flat)) + Path(path).suffix


def write_line(folder: UserFolder, line: LineEdit) -> None:
    """Add a line to a log, or take it out; nothing where that is done already. What a torn write left of it is used."""
    path = folder.resolve(line.path)
    data = atomic.read(path) or b""
    tail = data[data.rfind(b"\n") + 1 :]
    # A power cut may leave the length of what was written, with zeros for its bytes.
    torn = tail if line.line.startswith(tail.rstrip(b"\0")) else b""
    if line.added and b"\0" in torn:
        atomic.replace(path, data.removesuffix(torn) + line.line + b"\n")
    elif line.added and (torn or not has_line(folder, line)):
        atomic.make_directory(path.parent)
        atomic.append(path, (b"\n" if tail and not torn else b"") + line.line[len(torn) :] + b"\n")
    elif not line.added:
        _take_out(path, data, data.removesuffix(torn) if torn else data, line)


def _clear_torn(folder: UserFolder, line: LineEdit) -> None:
    """Take out what a write that was cut off left of a line that does not stand in the log."""
    if line.added:
        write_line(folder, replace(line, added=False))


def _take_out(path: Path, data: bytes, untorn: bytes, line: LineEdit) -> None:
    kept = b"".join(found for found in untorn.splitlines(keepends=True) if found.strip() != line.line)
    if not kept and path.exists():
        atomic.remove(path)
    elif kept != data:
        atomic.replace(path, kept)


def has_line(folder: UserFolder, line: LineEdit) -> bool:
    """Whether the line stands in the log."""
    data = atomic.read(folder.resolve(line.path)) or b""
    return line.line in data and any(found.strip() == line.line for found in data.splitlines())


def _any_written(folder: UserFolder, operation: Operation) -> bool:
    """Whether any part of the operation reached its place: then all of it must."""
    if any(s.before != s.after and atomic.read(folder.resolve(s.path)) == s.after for s in operation.files):
        return True
    if any(has_line(folder, line) == line.added for line in operation.lines):
        return True
    data = atomic.read(folder.memory_file) or b""
    if any(s.after is not None and s.after != s.before and s.after.encode() in data for s in operation.records):
        return True
    gone = [s.before.encode() for s in operation.records if s.after is None and s.before is not None]
    return bool(gone) and all(raw not in data for raw in gone)


def _complete(folder: UserFolder, operation: Operation) -> None:
    """Bring what is still in its old state into the new one; what a person changed since is left alone."""
    for step in operation.files:
        if step.before != step.after and atomic.read(folder.resolve(step.path)) == step.before:
            write_file(folder, step.path, step.after, step.before)
    for line in operation.lines:
        write_line(folder, line)
    data = atomic.read(folder.memory_file)
    if data is not None and (new := _completed(data, operation)) != data:
        atomic.replace(folder.memory_file, new)


def _completed(data: bytes, operation: Operation) -> bytes:
    parsed = document.parse(data)
    present = {r.memory.memory_id: r.raw.decode() for r in parsed.records if r.memory}
    left = [s for s in operation.records if present.get(s.memory_id) == s.before and s.before != s.after]
    puts = {s.memory_id: s.after.encode() for s in left if s.after is not None}
    removes = [s.memory_id for s in left if s.after is None]
    plan = edit.plan_from_document(parsed, [document.decode_raw(raw) for raw in puts.values()], removes)
    new = edit.edited(data, plan, puts, removes)
    if operation.header and parsed.header == operation.header[0]:
        return edit.rebuilt(operation.header[1], [record.raw for record in document.parse(new).records])
    return new


def _sweep(folder: UserFolder) -> None:
    """Clear away temporary files, and lay aside a hand edit that lost a race with our write.

    A kill between the two steps of a swap leaves the displaced file under a temporary name: only its content tells it
    from one that was never finished.
    """
    for path in _temporary(folder):
        if path.parent == folder.root and _is_hand_edit(atomic.read(path) or b"", folder):
            _lay_aside(path, _hand_linename(folder.displaced))
        else:
            path.unlink(missing_ok=True)
    keep = folder.displaced / document.FILE_NAME
    # Renaming set its ctime; a later mtime means that an editor went on writing into the file we had displaced.
    if keep.exists() and (found := keep.stat()).st_mtime_ns >= found.st_ctime_ns and not _only_copied(keep, folder):
        keep_hand_edit(keep)


def _only_copied(keep: Path, folder: UserFolder) -> bool:
    """Whether a displaced file says nothing that the present one or the log does not: copying the folder (`cp -r`) gave
    it new times, and nobody wrote into it."""
    operations = journal.read(folder.operations)
    try:
        displaced, present = (document.parse(atomic.read(path) or b"") for path in (keep, folder.memory_file))
    except InvalidDataError:
        return False
    known = {record.raw for record in present.records}
    known |= {text.encode() for op in operations for step in op.records for text in (step.before, step.after) if text}
    headers = [present.header, *(header for op in operations for header in op.header or ())]
    return displaced.header in headers and all(record.raw in known for record in displaced.records)


def _temporary(folder: UserFolder) -> list[Path]:
    """Temporary files, looked for where writes happen."""
    pattern = f"{atomic.TEMPORARY_PREFIX}*"
    places = (folder.root, folder.private, folder.state, folder.trash, folder.drafts, folder.displaced)
    found = [path for place in places if place.is_dir() for path in place.glob(pattern)]
    return [*found, *folder.reflections.rglob(pattern), *folder.knowledge.rglob(pattern)]


def _is_hand_edit(data: bytes, folder: UserFolder) -> bool:
    """Whether a file holds a record that neither the present file nor the log's last operation knows."""
    if not data.rstrip().endswith((b"}", b"]")):
        return False  # torn: a write of ours that never finished
    present = atomic.read(folder.memory_file) or b""
    last = journal.last(folder.operations)
    known = {text for step in last.records for text in (step.before, step.after)} if last else set()
    try:
        raws = [record.raw for record in document.parse(data).records]
    except InvalidDataError:
        return data != present
    return any(raw not in present and raw.decode() not in known for raw in raws)


def keep_hand_edit(path: Path) -> None:
    """An editor saved while we wrote: its version is laid aside, and `doctor` shows it."""
    _lay_aside(path, _hand_linename(path.parent, path.name))


def _lay_aside(path: Path, target: Path) -> None:
    """Durably: it is all that is left of what a person saved."""
    with atomic.told(target):
        path.rename(target)
        with open(target, "rb") as file:
            os.fsync(file.fileno())
    atomic.confirm(target)


def _hand_linename(directory: Path, of: str = document.FILE_NAME) -> Path:
    atomic.make_directory(directory)
    return directory / f"hand-edit-{time.time_ns()}-{of}"
