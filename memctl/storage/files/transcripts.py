"""Transcripts on disk: `transcripts/YYYY-MM.jsonl`, a line a message, added at the end by the month of its receipt.

Whoever changes one of the files holds the lock of the transcripts, for the milliseconds that takes, and waits for no
other lock. A deletion is a line too, in the file of its message.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memctl.core import kept, times
from memctl.core.kept import KeptMessage, Paused
from memctl.core.models import LogLine
from memctl.errors import InvalidDataError, NotFoundError
from memctl.storage.files import atomic, lock
from memctl.storage.files.layout import UserFolder

FOLDER = "transcripts/"
ATTACHMENTS = "transcripts/attachments/"

_DIGEST = re.compile(r"[0-9a-f]{32}")

LARGE_TEXT = 16_000
"""Characters: a longer text is kept in a file of its own …"""

EXCERPT = 2_000
"""… and this much of its beginning in the message's line."""

TAIL = 4_096
"""Bytes before the end by which a file that only grew is known again."""

MARK = f"{FOLDER}.gitignore"

PRIVATE_MARK = b"# What was said stays on this machine: `memctl git transcripts on` puts it under git.\n*\n"


@dataclass(frozen=True)
class Appended:
    """What was added to a file: its states before (None where there was none) and after, and where the lines begin."""

    path: str
    before: os.stat_result | None
    after: os.stat_result
    data: bytes
    offset: int
    tail: bytes


def path_of(received: datetime, *, local: bool = False) -> str:
    """The file of a message received at this time.

    Args:
        local: the one beside it, for messages of this machine where git tracks the other.
    """
    return f"{FOLDER}{received:%Y-%m}{'.local' if local else ''}.jsonl"


def files(folder: UserFolder) -> list[str]:
    """The transcripts there are, oldest first."""
    place = folder.root / FOLDER
    names = sorted(entry.name for entry in os.scandir(place)) if place.is_dir() else []
    return [FOLDER + name for name in names if kept.is_transcript(FOLDER + name)]


@contextmanager
def locked(folder: UserFolder, *, timeout: float) -> Iterator[None]:
    """Hold the lock of the transcripts.

    Raises:
        LockedError: somebody else holds it for longer than `timeout` seconds.
    """
    with lock.exclusive(folder.session_locks / "transcripts", timeout=timeout):
        yield


def append(folder: UserFolder, messages: Sequence[KeptMessage], now: datetime, *, local: bool = False) -> Appended:
    """Add messages at the end of the month's file, durable when this returns; call it with the lock held.

    Args:
        local: see `path_of`.

    Raises:
        StorageError: the system refuses; nothing of them is in the file then.
        InvalidDataError: a message has no form in JSON; nothing was written.
    """
    path = path_of(now, local=local)
    lines = b"".join(kept.encode(_with_attachments(folder, message)) + b"\n" for message in messages)
    ensure_private(folder)
    full = folder.resolve(path)
    before = _stat(full)
    end = _end_before_next(full, before) if before else b""
    try:
        atomic.append(full, end + lines, folder.root)
    except BaseException:
        _cut_back(full, before)
        raise
    after = full.stat()
    start = after.st_size - len(lines)
    return Appended(path, before, after, lines, start, read_from(full, max(0, after.st_size - TAIL)))


def edit(folder: UserFolder, path: str, lines: Sequence[LogLine]) -> None:
    """Add lines, such as those of deletions, and take others out; what is done already is left. Call it with the lock
    held.

    Raises:
        StorageError: the system refuses.
    """
    full = folder.step(path)
    data = atomic.read(full, folder.root) or b""
    present = {line.strip() for line in data.split(b"\n")}
    going = {each.line for each in lines if not each.added} & present
    if going:
        kept_lines = [line for line in data.split(b"\n") if line.strip() not in going]
        atomic.replace(full, b"\n".join(kept_lines), root=folder.root)
    new = b"".join(each.line + b"\n" for each in lines if each.added and each.line not in present)
    if new:
        ensure_private(folder)
        before = _stat(full)
        atomic.append(full, (_end_before_next(full, before) if before else b"") + new, folder.root)


def size(folder: UserFolder) -> int:
    """How large the transcripts are with their attachments, in bytes."""
    place = folder.transcripts
    paths = (path for path in place.rglob("*") if path.suffix in (".jsonl", ".txt")) if place.is_dir() else ()
    return sum(path.lstat().st_size for path in paths if path.is_file())


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _end_before_next(path: Path, state: os.stat_result) -> bytes:
    """What must stand before the next line: nothing, or a line end. A line that a crash cut off was never acknowledged,
    and goes; what a person wrote without a line end stays."""
    last = _last_line(path, state)
    if _is_torn(last):
        with atomic.writing(path):
            os.truncate(path, state.st_size - len(last))
        return b""
    return b"\n" if last else b""


LARGEST_LINE = 1 << 20


def _last_line(path: Path, state: os.stat_result) -> bytes:
    """What stands behind the last line end."""
    if read_from(path, max(0, state.st_size - 1)) in (b"", b"\n"):
        return b""
    tail = read_from(path, max(0, state.st_size - LARGEST_LINE))
    return tail[tail.rfind(b"\n") + 1 :]


def _is_torn(last: bytes) -> bool:
    """Whether it is what a write that was cut off left: the beginning of a line of memctl's, or zeros."""
    ours = last.startswith(b'{"id": "') or b'{"id": "'.startswith(last) or not last.strip(b"\0")
    return bool(last) and ours and next(kept.lines(last), None) is None


def torn_end(folder: UserFolder, path: str) -> bytes:
    """What a crash left of the last line of a transcript; empty where that is whole."""
    full = folder.root / path
    state = _stat(full)
    last = _last_line(full, state) if state else b""
    return last.strip() if _is_torn(last) else b""


def clear_torn_end(folder: UserFolder, path: str) -> None:
    """Take out what a crash left of the last line; call it with the lock held."""
    full = folder.resolve(path)
    if state := _stat(full):
        _end_before_next(full, state)


def _cut_back(path: Path, before: os.stat_result | None) -> None:
    """Take out what a write that failed left behind; what cannot be is met by the next one."""
    with suppress(OSError):
        if before is not None:
            os.truncate(path, before.st_size)
        else:
            path.unlink(missing_ok=True)


def read_from(path: Path, offset: int) -> bytes:
    """The bytes of a file from an offset on.

    Raises:
        StorageError: it cannot be read.
    """
    try:
        with open(path, "rb", opener=atomic.regular) as file:
            file.seek(offset)
            return file.read()
    except OSError as problem:
        raise atomic.unread(problem, path) from None


def tail_digest(tail: bytes) -> str:
    """What tells the end of a file from another."""
    return blake2b(tail[-TAIL:], digest_size=16).hexdigest()


def ensure_private(folder: UserFolder) -> None:
    """Keep what is said out of git, before the first line is written; unless this user of this machine decided
    otherwise. A mark that lets anything through, as a folder from elsewhere may bring it, is replaced.

    Raises:
        StorageError, RefusedError: the mark cannot be written, or is a link.
    """
    marker = folder.root / MARK
    if is_shared(folder) or is_private_mark(atomic.read(marker, folder.root)):
        return
    atomic.replace(marker, PRIVATE_MARK, root=folder.root)


def is_private_mark(data: bytes | None) -> bool:
    """Whether an ignore file keeps everything beside it out of git."""
    patterns = [line.strip() for line in (data or b"").splitlines()]
    return b"*" in patterns and not any(pattern.startswith(b"!") for pattern in patterns)


def privacy(folder: UserFolder) -> str:
    """Whether git may see the transcripts: one of `PRIVATE`, `SHARED_HERE`, `UNMARKED`."""
    if is_shared(folder):
        return SHARED_HERE
    marked = (folder.root / FOLDER / ".gitignore").exists() or not folder.transcripts.is_dir()
    return PRIVATE if marked else UNMARKED


PRIVATE, SHARED_HERE, UNMARKED = "private", "in git", "unmarked"
"""Kept out of git; under git by a decision of this machine's user; in a folder that came without the mark: the next
message marks it."""


def is_shared(folder: UserFolder) -> bool:
    """Whether this machine's user put the transcripts under git."""
    decision = folder.transcripts_decision
    data = atomic.read(decision) if decision.is_file() and not decision.is_symlink() else None
    return data is not None and folder.signer.verifies(SHARED, data)


SHARED = ".memctl/state/transcripts-in-git"


def share(folder: UserFolder, wanted: bool) -> None:
    """Put the transcripts under git, or take them out again: an act of this machine's user alone. Done again, it
    completes what a crash cut short."""
    if wanted:
        atomic.replace(folder.transcripts_decision, folder.signer.signed(SHARED, b'{"shared": true}'), root=folder.root)
        if is_private_mark(atomic.read(folder.root / MARK, folder.root)):
            atomic.remove(folder.root / MARK)
    else:
        atomic.remove(folder.transcripts_decision)
        ensure_private(folder)


# What this machine's user decided


PAUSED = ".memctl/state/transcripts-paused"


def read_paused(folder: UserFolder) -> Paused:
    """What this machine's user paused."""
    decision = _decided(folder, PAUSED)
    sessions = decision.get("sessions", [])
    return Paused(decision.get("everything") is True, tuple(map(str, sessions)) if isinstance(sessions, list) else ())


def write_paused(folder: UserFolder, paused: Paused) -> None:
    """Decide what is not kept from now on."""
    decided = {"everything": paused.everything, "sessions": list(paused.sessions)}
    _decide(folder, PAUSED, decided if paused != Paused() else None)


RETENTION = ".memctl/state/transcripts-retention"


def read_notice(folder: UserFolder) -> tuple[float, datetime] | None:
    """After how many days messages are going to be deleted, and when that was announced; None where it was not."""
    decision = _decided(folder, RETENTION)
    days, at = decision.get("days"), decision.get("at")
    return (float(days), times.from_value(at)) if isinstance(days, int | float) and at else None


def write_notice(folder: UserFolder, days: float, at: datetime) -> None:
    """Note that a deletion was announced."""
    _decide(folder, RETENTION, {"days": days, "at": times.to_text(at)})


def _decided(folder: UserFolder, path: str) -> Mapping[str, Any]:
    """A decision that this machine's user signed; nothing where there is none."""
    full = folder.resolve(path)
    data = atomic.read(full) if full.is_file() else None
    if data is None or not folder.signer.verifies(path, data):
        return {}
    parsed = json.loads(data)
    return parsed if isinstance(parsed, dict) else {}


def _decide(folder: UserFolder, path: str, value: Mapping[str, Any] | None) -> None:
    full = folder.resolve(path)
    if value is None:
        atomic.remove(full)
        return
    folder.signer.prepare()
    atomic.make_directory(full.parent, folder.root)
    atomic.replace(full, folder.signer.signed(path, json.dumps(value, ensure_ascii=False).encode()), root=folder.root)


# Reading


def read_line(folder: UserFolder, path: str, offset: int) -> KeptMessage | None:
    """The message that begins at a place; None where there is none any more."""
    full = folder.resolve(path)
    try:
        with open(full, "rb", opener=atomic.regular) as file:
            file.seek(offset)
            line = next(kept.lines(file.readline()), None)
    except OSError:
        return None
    return line.message if line else None


def mentioned(folder: UserFolder, message_ids: Sequence[str]) -> set[str]:
    """Those of the ids that any line begins with, in the form in which memctl writes them: of a message, also of one
    without text, or of a deletion."""
    starts = {message_id: kept.line({"id": message_id})[:-1] + b"," for message_id in message_ids}
    texts = (atomic.read(folder.root / path, folder.root) or b"" for path in files(folder) if starts)
    return {message_id for data in texts for message_id, start in starts.items() if start in data}


# Large texts


def _with_attachments(folder: UserFolder, message: KeptMessage) -> KeptMessage:
    """The message with its large texts in files of their own, durable."""
    blocks = tuple(_attached(folder, block) for block in message.content)
    return message if blocks == message.content else replace(message, content=blocks)


def _attached(folder: UserFolder, block: Mapping[str, Any]) -> Mapping[str, Any]:
    text = block.get("text")
    if isinstance(text, str) and len(text) > LARGE_TEXT:
        return {**block, "text": text[:EXCERPT], "attachment": attach(folder, text), "characters": len(text)}
    for name in ("output", "content"):
        inner = block.get(name)
        if isinstance(inner, str) and len(inner) > LARGE_TEXT:
            return {**block, name: [_attached(folder, {"type": "text", "text": inner})]}
        if isinstance(inner, list):
            return {**block, name: [_attached(folder, each) if isinstance(each, Mapping) else each for each in inner]}
    return block


def attach(folder: UserFolder, text: str) -> str:
    """Keep a text in a file that is named after its content; returns the name."""
    data = text.encode("utf-8", "surrogatepass")
    digest = blake2b(data, digest_size=16).hexdigest()
    full = folder.resolve(attachment(digest))
    if not full.is_file():
        atomic.replace(full, data, root=folder.root)
    return digest


def read_attachment(folder: UserFolder, digest: str) -> str:
    """A large text.

    Raises:
        NotFoundError: it is not on this machine.
        InvalidDataError: the file holds something else than what was kept there.
    """
    data = atomic.read(folder.resolve(attachment(digest))) if _DIGEST.fullmatch(digest) else None
    if data is None:
        raise NotFoundError(f"the attachment {digest!r} is not on this machine", hint="It goes with its message.")
    if blake2b(data, digest_size=16).hexdigest() != digest:
        raise InvalidDataError(f"the attachment {digest!r} is not what was kept", hint="Somebody changed it.")
    return data.decode("utf-8", "surrogatepass")


def attachment(digest: str) -> str:
    """The file of a large text, relative to the user's folder."""
    return f"{ATTACHMENTS}{digest}.txt"


def attachments_of(message: KeptMessage) -> list[str]:
    """The names of the large texts of a message."""
    return [name for block in message.content for name in _attachments_in(block)]


def _attachments_in(block: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(name := block.get("attachment"), str) and _DIGEST.fullmatch(name):
        yield name
    for inner in ("output", "content"):
        parts = block.get(inner)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping):
                yield from _attachments_in(part)


def whole(folder: UserFolder, message: KeptMessage) -> KeptMessage:
    """The message with its large texts in full; what is not on this machine stays an excerpt."""
    return replace(message, content=tuple(_whole(folder, block) for block in message.content))


def _whole(folder: UserFolder, block: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(name := block.get("attachment"), str):
        with suppress(NotFoundError, InvalidDataError):
            kept_fields = {key: value for key, value in block.items() if key not in ("attachment", "characters")}
            return {**kept_fields, "text": read_attachment(folder, name)}
    whole = dict(block)
    for inner in ("output", "content"):
        parts = block.get(inner)
        if isinstance(parts, list):
            whole[inner] = [_whole(folder, part) if isinstance(part, Mapping) else part for part in parts]
    return whole
