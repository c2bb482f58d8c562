"""The operation log: what every change did, before and after. Crash recovery, undo and history read the same lines.

A line `{"op": …, "phase": "intent", …}` is durable before the first file is touched, and `{"op": …, "phase": "done"}`
follows when all are written. So at most the last intent can be unfinished, and it holds all that is needed to finish.

Every line is signed, and only lines that this machine's user wrote are read: see `signing`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from memctl.core.formats.codec import pack, unpack
from memctl.core.models import LogLine
from memctl.core.operations import INTENT, Operation, RecordStep, TextStep
from memctl.errors import MemctlError
from memctl.storage.files import atomic, layout, watermark
from memctl.storage.files.layout import UserFolder
from memctl.storage.files.signing import OPERATION

DONE, DROPPED = "done", "dropped"
TRIMMED = "trimmed"
"""Phase of the first line of a log that has lost what was older."""

_CHUNK = 65536
_LOOKED_AT = 8


def write_intent(folder: UserFolder, operation: Operation) -> Operation:
    """Make the operation durable before it begins; returns it with its number.

    Raises:
        StorageError: it cannot be written, or not be signed.
    """
    folder.signer.prepare()
    _cut_torn_line(folder.operations)
    number = max(watermark.of(folder).finished, _last_number(folder)) + 1
    numbered = replace(operation, number=number, place=watermark.place(folder))
    atomic.append(folder.operations, _line(folder, to_json(numbered)), folder.root)
    return numbered


def finish(folder: UserFolder, operation: Operation, phase: str = DONE) -> None:
    """Note that the operation is complete (or was dropped).

    Not synced, and never an error: the change itself is on disk, and the next opening finds out the same.
    """
    try:
        _cut_torn_line(folder.operations)
        with open(folder.operations, "ab", opener=atomic.regular) as log:
            log.write(_line(folder, {"op": operation.op, "phase": phase}))
            size = log.tell()
    except (OSError, MemctlError):
        return
    watermark.note_finished(folder, operation.place, operation.number, size)


def _last_number(folder: UserFolder) -> int:
    """The number of the newest operation in the log, 0 where none has one."""
    numbers = (line.get("n") for line in islice(_newest(folder), _LOOKED_AT))
    return next((number for number in numbers if isinstance(number, int)), 0)


def _line(folder: UserFolder, value: Mapping[str, Any]) -> bytes:
    return folder.signer.signed(OPERATION, plain_line(value)) + b"\n"


def plain_line(value: Mapping[str, Any]) -> bytes:
    """A line as it is signed, without its end."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _cut_torn_line(path: Path) -> None:
    """Cut a torn last line: its operation never began."""
    atomic.unshare(path)
    try:
        with open(path, "rb+", opener=atomic.regular) as log:
            end = log.seek(0, os.SEEK_END)
            if end and not _ends_line(log, end):
                log.truncate(_last_line_start(log, end))
    except FileNotFoundError:
        return
    except OSError as problem:
        raise atomic.storage_error(problem, path) from None


def _ends_line(log: Any, end: int) -> bool:
    log.seek(end - 1)
    return bool(log.read(1) == b"\n")


def _last_line_start(log: Any, end: int) -> int:
    at = end
    while at > 0:
        start = max(0, at - _CHUNK)
        log.seek(start)
        if (line_end := log.read(at - start).rfind(b"\n")) >= 0:
            return int(start + line_end + 1)
        at = start
    return 0


def unfinished(folder: UserFolder) -> Operation | None:
    """The operation that was under way when a process died, if there is one. Reads the last lines only.

    Behind it may lie what a power cut left of lines that were not synced, and what others put there.
    """
    newest = next(_newest(folder), None)
    return _operation(newest) if newest and newest["phase"] == INTENT else None


def last(folder: UserFolder) -> Operation | None:
    """The newest operation in the log, whatever became of it."""
    operations = [operation for line in _lines(folder) if line["phase"] == INTENT and (operation := _operation(line))]
    return operations[-1] if operations else None


def _newest(folder: UserFolder) -> Iterator[dict[str, Any]]:
    """The newest verified lines, the last one first."""
    for line in islice(_from_the_end(folder.operations), _LOOKED_AT):
        if entry := verified(folder, line):
            yield entry


def _from_the_end(path: Path) -> Iterator[bytes]:
    """The whole lines, the last one first."""
    try:
        with open(path, "rb", opener=atomic.regular) as log:
            end = log.seek(0, os.SEEK_END)
            if end and not _ends_line(log, end):
                end = _last_line_start(log, end)
            while end:
                start = _last_line_start(log, end - 1)
                log.seek(start)
                yield log.read(end - start)
                end = start
    except FileNotFoundError:
        return
    except OSError as problem:
        raise atomic.unread(problem, path) from None


def read(folder: UserFolder) -> list[Operation]:
    """All operations that took effect, oldest first."""
    operations: dict[str, Operation] = {}
    phases: dict[str, str] = {}
    for line in _lines(folder):
        if line["phase"] != INTENT:
            phases[line["op"]] = line["phase"]
        elif operation := _operation(line):
            operations[operation.op] = operation
    return [operation for op, operation in operations.items() if phases.get(op) == DONE]


def newest(folder: UserFolder) -> str:
    """The id of the newest operation that is known to be finished; empty where there is none."""
    return next((line["op"] for line in _newest(folder) if line["phase"] == DONE), "")


def since(folder: UserFolder, op: str) -> list[Operation]:
    """The operations after the one with that id, oldest first; one that is still under way is the last of them.

    All of the log where it does not hold that operation: it loses the oldest lines first.
    """
    under_way = unfinished(folder)
    operations = [*read(folder), *((under_way,) if under_way else ())]
    return operations[next((at for at, operation in enumerate(operations, 1) if operation.op == op), 0) :]


def _lines(folder: UserFolder) -> Iterator[dict[str, Any]]:
    try:
        with open(folder.operations, "rb", opener=atomic.regular) as log:
            yield from (entry for line in log if (entry := verified(folder, line)))
    except FileNotFoundError:
        return
    except OSError as problem:
        raise atomic.unread(problem, folder.operations) from None


def verified(folder: UserFolder, line: bytes) -> dict[str, Any] | None:
    """A line of the log, if this machine's user wrote it."""
    return parsed(line) if folder.signer.verifies(OPERATION, line) else None


def parsed(line: bytes) -> dict[str, Any] | None:
    """What a line says, whoever wrote it; None where it is no line of a log."""
    try:
        entry = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    whole = isinstance(entry, dict) and isinstance(entry.get("op"), str) and isinstance(entry.get("phase"), str)
    return entry if whole else None


def _operation(line: Mapping[str, Any]) -> Operation | None:
    """The operation of an intent's line; None where a later version of memctl wrote it."""
    try:
        return from_json(line)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def trim(folder: UserFolder, limit: int) -> None:
    """Drop the oldest operations so that the log stays below `limit` bytes; call it with the lock held.

    The last one stays if it is not larger than that by itself. A log that cannot be trimmed (no room for the copy) is
    trimmed another time.
    """
    path = folder.operations
    try:
        size = path.stat().st_size
        if size > limit:
            data = atomic.read(path) or b""
            half = data.find(b"\n", size - limit // 2) + 1 or size
            last = _last_operation(data)
            kept = data[half if size - last > limit else min(half, last) :]
            written = atomic.replace(path, _line(folder, {"op": "", "phase": TRIMMED}) + kept, root=folder.root)
            watermark.note(folder, log_size=written.st_size)
    except (OSError, MemctlError):
        return


def _last_operation(data: bytes) -> int:
    """Where the last operation begins: with the line before the last one."""
    end = data.rfind(b"\n", 0, len(data) - 1)
    return data.rfind(b"\n", 0, max(end, 0)) + 1


def trimmed(folder: UserFolder) -> bool:
    """Whether the log has lost what was older than its first operation."""
    first = next(_lines(folder), None)
    return first is not None and first["phase"] == TRIMMED


def to_json(operation: Operation) -> dict[str, Any]:
    return {
        "op": operation.op,
        "phase": operation.phase,
        **({"n": operation.number, "place": operation.place} if operation.number else {}),
        "at": operation.at,
        "command": operation.command,
        "records": [[s.memory_id, s.before, s.after] for s in operation.records],
        "files": [[layout.path_of(s.name), pack(s.before), pack(s.after)] for s in operation.texts],
        **({"lines": [[s.log, s.line.decode(), s.added] for s in operation.lines]} if operation.lines else {}),
        **({"header": list(operation.header)} if operation.header else {}),
        **({"undoes": operation.undoes} if operation.undoes else {}),
        **({"redoes": operation.redoes} if operation.redoes else {}),
        **({"erases": [list(part) for part in operation.erases]} if operation.erases else {}),
    }


def from_json(entry: Mapping[str, Any]) -> Operation:
    """An intent's operation.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is not as memctl writes it.
    """
    header = entry.get("header")
    _check_types(entry, header)
    return Operation(
        op=entry["op"],
        at=entry["at"],
        command=entry["command"],
        records=tuple(RecordStep(*step) for step in entry["records"]),
        texts=tuple(TextStep(layout.text_of(path), unpack(old), unpack(new)) for path, old, new in entry["files"]),
        lines=tuple(LogLine(path, line.encode(), added) for path, line, added in entry.get("lines", ())),
        header=(header[0], header[1]) if header else None,
        undoes=entry.get("undoes", ""),
        redoes=entry.get("redoes", ""),
        erases=(tuple(entry["erases"][0]), tuple(entry["erases"][1])) if entry.get("erases") else None,
        number=number if isinstance(number := entry.get("n", 0), int) else 0,
        place=str(entry.get("place", "")),
    )


def _check_types(line: Mapping[str, Any], header: Any) -> None:
    texts = [line["at"], line["command"], *(step[0] for name in ("records", "files") for step in line[name])]
    states = [state for step in line["records"] for state in step[1:]]
    legal = all(isinstance(text, str) for text in texts) and all(isinstance(s, str | None) for s in states)
    if not legal or (header and not all(isinstance(part, dict) for part in header)):
        raise ValueError("not what memctl writes")
