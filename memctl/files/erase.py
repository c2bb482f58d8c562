"""Erasing memories from every file of a user's, so that no word of them is left. Safe to repeat after a crash."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memctl.files import atomic, codec, document, edit, journal, sessions
from memctl.files.layout import UserFolder
from memctl.files.merge_values import CONFLICTS, json_text
from memctl.models import Memory

SESSION_TIMEOUT = 10.0
"""Seconds to wait for whoever is writing a session; that takes milliseconds."""


@dataclass(frozen=True)
class Erasure:
    """What is to go: ids, and files relative to the user's folder (their reflections, and those made from them)."""

    ids: tuple[str, ...]
    files: tuple[str, ...]


def erase(folder: UserFolder, what: Erasure) -> list[str]:
    """Remove every trace; call it with the lock held. Returns the places that were changed."""
    steps: list[tuple[str, Callable[[], bool]]] = [
        ("memory.json", lambda: _memory_file(folder, set(what.ids))),
        *((path, lambda path=path: _file(folder.resolve(path))) for path in what.files if not _of_session(path)),
        ("sessions", lambda: _sessions(folder, what)),
        ("feedback.jsonl", lambda: _lines_without(folder.feedback_log, what.ids)),
        ("the operation log", lambda: _operations(folder.operations, what)),
        ("receipts", lambda: _files([folder.receipts, folder.receipts.with_suffix(".old.jsonl")])),
        ("the trash", lambda: _files_naming(folder.trash, what.ids)),
        ("drafts", lambda: _files_naming(folder.drafts, what.ids)),
        ("displaced copies", lambda: _files(_inside(folder.displaced))),
        ("the index", lambda: _files(_inside(folder.cache))),
        ("temporary files", lambda: _files(temporary_files(folder))),
    ]
    return [name for name, step in steps if step()]


def _memory_file(folder: UserFolder, ids: set[str]) -> bool:
    data = atomic.read(folder.memory_file)
    if data is None:
        return False
    parsed = document.parse(data)
    raws = [raw for record in parsed.records if (raw := _without(record, ids)) is not None]
    buried = sorted(document.tombstones(parsed.header) | ids)
    new = edit.rebuilt({**_header_without(parsed.header, ids), document.TOMBSTONES: buried}, raws)
    if new != data:
        atomic.replace(folder.memory_file, new)
    return new != data


def _header_without(header: Mapping[str, Any], ids: set[str]) -> Mapping[str, Any]:
    """The fields beside the records without what merges noted about the ids: it holds their texts."""
    listed = header.get(CONFLICTS)
    if not isinstance(listed, list):
        return header
    kept = [each for each in listed if not any(memory_id in json_text(each) for memory_id in ids)]
    return {name: value for name, value in {**header, CONFLICTS: kept}.items() if name != CONFLICTS or value}


def _without(record: document.RawRecord, ids: set[str]) -> bytes | None:
    """The record's bytes without a word about the ids; None where it is itself to go."""
    memory = record.memory
    if memory is None:
        return record.raw
    if memory.memory_id in ids:
        return None
    cleaned = unlinked(memory, ids)
    return record.raw if cleaned == memory else codec.dump(codec.encode(cleaned)).encode()


def unlinked(memory: Memory, ids: set[str]) -> Memory:
    """The memory without references to the ids."""
    return replace(
        memory,
        supersedes=tuple(i for i in memory.supersedes if i not in ids),
        conflicts_with=tuple(i for i in memory.conflicts_with if i not in ids),
        sources=tuple(i for i in memory.sources if i not in ids),
        superseded_by="" if memory.superseded_by in ids else memory.superseded_by,
    )


def _file(path: Path) -> bool:
    there = path.is_file() or path.is_symlink()
    if there:
        atomic.remove(path)
    return there


def _of_session(path: str) -> bool:
    return path.startswith("sessions/")


def _sessions(folder: UserFolder, what: Erasure) -> bool:
    """Sessions, content laid aside and queued messages that name an id, or were found to hold what goes.

    Under the sessions' locks: a writer that has read the file before would write the words back.
    """
    if not folder.sessions.is_dir():
        return False
    with sessions.all_locked(folder, timeout=SESSION_TIMEOUT):
        found = [path for path in sessions.all_files(folder) if any(_names(path, i) for i in what.ids)]
        named = [folder.resolve(path) for path in what.files if _of_session(path)]
        temporary = [path for path in sessions.all_files(folder) if path.name.startswith(atomic.TEMPORARY_PREFIX)]
        return _files(dict.fromkeys((*named, *found, *temporary)))


def _files(paths: Iterable[Path]) -> bool:
    return sum(_file(path) for path in paths) > 0


def _lines_without(path: Path, ids: Sequence[str]) -> bool:
    data = atomic.read(path)
    if data is None:
        return False
    kept = [line for line in data.splitlines(keepends=True) if not any(i.encode() in line for i in ids)]
    if len(kept) == len(data.splitlines()):
        return False
    atomic.replace(path, b"".join(kept))
    return True


def _operations(path: Path, what: Erasure) -> bool:
    data = atomic.read(path)
    if data is None:
        return False
    new = b"".join(_cleaned_lines(data, what))
    if new != data:
        atomic.replace(path, new)
    return new != data


def _cleaned_lines(data: bytes, what: Erasure) -> Iterator[bytes]:
    """Lines of the operation log without the steps that touched what is erased.

    A kept record may have named it, and told of it, in a version before: a summary that was made anew since. Such steps
    go too; nothing is undone across a purge.
    """
    ids = set(what.ids)
    for line in data.splitlines(keepends=True):
        try:
            found: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(found, dict):
            continue
        if found.get("phase") == journal.INTENT and not found.get("erases"):
            found["records"] = [step for step in _steps(found, "records") if not _tells_of(step, ids)]
            found["files"] = [step for step in _steps(found, "files") if not _touches(step, what)]
            if "lines" in found:
                found["lines"] = [step for step in _steps(found, "lines") if not _touches(step, what)]
            if isinstance(headers := found.get("header"), list):
                found["header"] = [_header_without(h, ids) if isinstance(h, dict) else h for h in headers]
        yield json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _steps(found: Mapping[str, Any], name: str) -> list[list[Any]]:
    """The steps of an intent; somebody may have been at the log."""
    steps = found.get(name)
    return [step for step in steps if isinstance(step, list) and step] if isinstance(steps, list) else []


_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def _tells_of(step: Sequence[Any], ids: set[str]) -> bool:
    """Whether a step is about a record that is erased, or one that names it as its source or the like."""
    memory_id, *versions = step
    return memory_id in ids or any(_names_one(version, ids) for version in versions if version is not None)


def _names_one(version: Any, ids: set[str]) -> bool:
    """Whether the JSON of a record names one of the ids; what somebody has spoilt cannot be read, and can be spared.

    Every text is looked up, which costs the same for one id and for thousands.
    """
    try:
        json.loads(version)
    except (ValueError, TypeError, RecursionError):
        return True
    return any((json.loads(text) if "\\" in text else text[1:-1]) in ids for text in _TEXT.findall(version))


def _touches(step: Sequence[Any], what: Erasure) -> bool:
    path, *contents = step
    if path in what.files or any(isinstance(content, Mapping) for content in contents):
        return True  # what is no text is packed: nobody looks into it, and it can be spared
    return any(i in str(content) for i in what.ids for content in (path, *contents))


def _files_naming(directory: Path, ids: Sequence[str]) -> bool:
    """Delete the files in a folder that name an id, in their name or inside."""
    return _files(path for path in _inside(directory) if any(_names(path, i) for i in ids))


def _names(path: Path, memory_id: str) -> bool:
    return memory_id in path.name or memory_id.encode() in (atomic.read(path) or b"")


def _inside(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file()) if directory.is_dir() else []


def temporary_files(folder: UserFolder) -> list[Path]:
    """What an interrupted write left behind. Sessions are written without the user's lock: theirs are left to them."""
    found = folder.root.rglob(f"{atomic.TEMPORARY_PREFIX}*")
    return sorted(path for path in found if not path.is_relative_to(folder.sessions))
