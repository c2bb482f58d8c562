"""What of memctl's own files in a folder this machine's user wrote, and what becomes of the rest.

A folder may come from a stranger, a backup or an older version. What is not signed with this user's key is inert: it is
not read, completed, undone or counted. The next change moves it to `unverified/`, where it is kept until somebody looks
at it and adopts it, which signs it. Sessions and what waits in their queue are shown where they are, and nothing is
learned from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memctl.core.operations import Operation
from memctl.errors import MemctlError, StorageError
from memctl.storage.files import atomic, journal, receipts, watermark
from memctl.storage.files.layout import COUNTED, TRASH, UserFolder, path_of
from memctl.storage.files.signing import OPERATION, RECEIPT

DRAFTS, ASIDE = ".memctl/state/drafts/", ".memctl/state/unverified/"

OPERATIONS, RECEIPTS, TRASHED, DRAFT, COUNT, SESSION, UNKNOWN = KINDS = (
    "operation", "receipt", "trash", "draft", "count", "session", "unknown",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """An entry that this machine's user did not write.

    Args:
        kind: one of `KINDS`; `unknown` for what can be read as none of them, and is never adopted.
        path: the file it is in, relative to the user's folder.
        data: a line, or the whole file.
    """

    kind: str
    path: str
    data: bytes


# Reading


def is_own(folder: UserFolder, path: str, data: bytes | None) -> bool:
    """Whether this machine's user wrote what stands in a file of memctl's own."""
    return data is not None and folder.signer.verifies(path, data)


def suspicious(folder: UserFolder) -> bool:
    """Whether somebody else may have written into the log: a look at its size, not into it."""
    size = _size(folder.operations)
    return size > 0 and size != watermark.of(folder).log_size


def check(folder: UserFolder) -> str:
    """A sentence on what is not believed, for those who read; empty where there is nothing of the kind."""
    if not suspicious(folder):
        return ""
    try:
        lines = (atomic.read(folder.operations) or b"").splitlines(keepends=True)
    except StorageError:
        return ""  # `doctor` says what is wrong with it
    foreign = sum(not folder.signer.verifies(OPERATION, line) for line in lines)
    if not foreign:
        watermark.note(folder, log_size=_size(folder.operations))
        return ""
    return (
        f"this user did not write {foreign} lines of the operation log on this machine: they are ignored "
        "(`memctl state` shows them)"
    )


def unverified(folder: UserFolder) -> list[Entry]:
    """Every entry that this machine's user did not write, in its place or moved aside, oldest first."""
    return [*_in_place(folder), *aside(folder)]


def is_own_entry(folder: UserFolder, entry: Entry) -> bool:
    """Whether this machine's user wrote an entry that was moved aside."""
    kinds = {OPERATIONS: OPERATION, RECEIPTS: RECEIPT}
    return folder.signer.verifies(kinds.get(entry.kind) or origin(entry.path), entry.data)


def _in_place(folder: UserFolder) -> Iterator[Entry]:
    for path, kind, entry in logs(folder):
        for line in lines_of(path):
            if not folder.signer.verifies(kind, line):
                yield Entry(entry, name_of(folder, path), line)
    for name in [*_files(folder), *session_files(folder)]:
        data = atomic.read(folder.root / name)
        if data is not None and not is_own(folder, name, data):
            yield Entry(_kind(name), name, data)


def aside(folder: UserFolder) -> Iterator[Entry]:
    """What was moved aside: logs by their lines, the rest by files."""
    place = folder.unverified
    for path in sorted(place.rglob("*")) if place.is_dir() else ():
        if not _regular(path) or (path.suffix == ".txt" and path.is_relative_to(place / "sessions")):
            continue  # texts of a session go with its file
        name = name_of(folder, path)
        log = next((entry for log, _, entry in logs(folder) if log.name == path.name and path.parent == place), "")
        if log:
            yield from (Entry(log, name, line) for line in lines_of(path))
        else:
            yield Entry(_kind(origin(name)), name, atomic.read(path) or b"")


def logs(folder: UserFolder) -> list[tuple[Path, str, str]]:
    """Logs: the file, the kind its lines are signed as, and the kind of entry."""
    return [(folder.operations, OPERATION, OPERATIONS), *((path, RECEIPT, RECEIPTS) for path in receipts.files(folder))]


def _files(folder: UserFolder) -> list[str]:
    """Files that are signed as a whole."""
    trash = folder.trash.glob("*.json") if folder.trash.is_dir() else ()
    bases = folder.drafts.glob("*.base") if folder.drafts.is_dir() else ()
    counted = [folder.root / COUNTED]
    return [name_of(folder, path) for path in sorted([*trash, *bases, *counted]) if _regular(path)]


def session_files(folder: UserFolder) -> list[str]:
    """Files of sessions, and what waits in their queue."""
    paths = [path for place in (folder.sessions, folder.pending) if place.is_dir() for path in place.glob("*.json")]
    return [name_of(folder, path) for path in sorted(paths) if path.is_file() and not path.is_symlink()]


def _regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _kind(path: str) -> str:
    if path.startswith("sessions/"):
        return SESSION
    if path == COUNTED:
        return COUNT
    return TRASHED if path.startswith(TRASH) else DRAFT if path.startswith(DRAFTS) else UNKNOWN


def lines_of(path: Path) -> list[bytes]:
    """The lines of a log; none where something else stands in its place, which `doctor` tells of."""
    if path.is_symlink() or not path.is_file():
        return []
    return [line for line in (atomic.read(path) or b"").splitlines(keepends=True) if line.strip()]


def name_of(folder: UserFolder, path: Path) -> str:
    return path.relative_to(folder.root).as_posix()


def origin(path: str) -> str:
    """Where a file stood before it was moved aside; the path itself of one that was not."""
    if not path.startswith(ASIDE):
        return path
    place = "" if path.startswith(f"{ASIDE}sessions/") else ".memctl/state/"
    return re.sub(r"\.\d+$", "", place + path.removeprefix(ASIDE))


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def foreign_step(folder: UserFolder, operation: Operation) -> str:
    """What an operation names that no operation of memctl's names; empty where there is nothing."""
    try:
        for name in (*(path_of(s.name) for s in operation.texts), *(line.log for line in operation.lines)):
            folder.step(name)
        for name in operation.erases[1] if operation.erases else ():
            folder.erasable(name)
    except MemctlError as problem:
        return problem.message
    return ""


# Moving aside; with the lock held


def set_aside(folder: UserFolder, *, unfinished: str = "") -> int:
    """Move everything that this machine's user did not write out of the way; nothing is deleted.

    Returns:
        how many entries were moved.

    Args:
        unfinished: an operation of the log whose intent goes too, though it is signed: it was finished before.

    Raises:
        StorageError: something cannot be moved; no line is lost, but some may be in both places.
    """
    moved = sum(_set_lines_aside(folder, path, kind, unfinished) for path, kind, _ in logs(folder))
    moved += sum(set_file_aside(folder, name) for name in _files(folder))
    if _size(folder.operations):
        watermark.note(folder, log_size=_size(folder.operations))
    return moved


def _set_lines_aside(folder: UserFolder, path: Path, kind: str, unfinished: str) -> int:
    lines = (atomic.read(path) or b"").splitlines(keepends=True)
    foreign = [line for line in lines if _is_foreign(folder, kind, line, unfinished)]
    if not foreign:
        return 0
    target = folder.unverified / path.name
    there = set(lines_of(target))
    ended = [line if line.endswith(b"\n") else line + b"\n" for line in foreign]
    if new := [line for line in ended if line not in there]:
        atomic.append(target, b"".join(new), folder.root)
    gone = set(foreign)
    atomic.replace(path, b"".join(line for line in lines if line not in gone), root=folder.root)
    return len(foreign)


def _is_foreign(folder: UserFolder, kind: str, line: bytes, unfinished: str) -> bool:
    """Whether a line goes. What is neither whole nor anybody's entry is a line that a crash cut off: it never was."""
    if folder.signer.verifies(kind, line):
        return bool(unfinished) and (journal.parsed(line) or {}).get("op") == unfinished
    return line.endswith(b"\n") or is_object(line)


def is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def set_file_aside(folder: UserFolder, path: str) -> bool:
    """Move one of memctl's own files out of the way, if this machine's user did not write it; says whether it did."""
    full = folder.root / path
    if not full.is_file() or is_own(folder, path, atomic.read(full, folder.root)):
        return False
    target = folder.unverified / path.removeprefix(".memctl/state/")
    atomic.make_directory(target.parent, folder.root)
    names = (target.with_name(f"{target.name}.{number}") if number else target for number in range(1_000_000))
    atomic.move(full, next(name for name in names if not name.exists()), folder.root)
    return True


def set_session_aside(folder: UserFolder, path: Path) -> None:
    """Move a session out of the way, which somebody else wrote, with what was offloaded for it; call it with the
    session's lock held."""
    offloaded = path.with_suffix(".d")
    if offloaded.is_dir() and not offloaded.is_symlink():
        target = folder.unverified / "sessions" / offloaded.name
        atomic.make_directory(target.parent, folder.root)
        names = (target.with_name(f"{target.name}.{number}") if number else target for number in range(1_000_000))
        atomic.move_directory(offloaded, next(name for name in names if not name.exists()))
    set_file_aside(folder, name_of(folder, path))


def set_draft_aside(folder: UserFolder, name: str) -> None:
    """Move a draft out of the way, and what it was begun from: somebody else began it."""
    for each in (name, f"{name}.base"):
        set_file_aside(folder, DRAFTS + each)


def begun(text: str) -> bytes:
    """The file that says what a draft was begun from, before it is signed."""
    return json.dumps({"text": text}, ensure_ascii=False).encode("utf-8", "surrogatepass")
