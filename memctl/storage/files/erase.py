"""Erasing memories from every file of a user's, so that no word of them is left. Safe to repeat after a crash.

What goes is said once, by `Erasure`: ids, files that go as a whole, and lines of logs that lose their text. From the
other files exactly what names the ids goes (`files/naming.py`). `changes` works out what that does to each file; a
dry run shows it, `erase` does it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from memctl.core import kept, naming, operations
from memctl.core.formats import codec, document
from memctl.core.json_merge import CONFLICTS
from memctl.core.naming import Ids, unlinked
from memctl.errors import InvalidDataError
from memctl.storage.files import atomic, edit, local_state, sessions, signing, transcripts
from memctl.storage.files.layout import TRASH, UserFolder

SESSION_TIMEOUT = 10.0
"""Seconds to wait for whoever is writing a session; that takes milliseconds."""

FEEDBACK = "feedback.jsonl"
OPERATIONS = ".memctl/state/operations.jsonl"
RECEIPTS = (".memctl/state/receipts.jsonl", ".memctl/state/receipts.old.jsonl")
DISPLACED = ".memctl/state/displaced/"


@dataclass(frozen=True)
class FileChange:
    """A file, relative to the user's folder, before and after an erasure; None where there is none.

    Args:
        records: of `memory.json`, how many go, and how many change.
    """

    path: str
    before: bytes | None
    after: bytes | None
    records: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Erasure:
    """What is to go: ids, and files relative to the user's folder.

    Args:
        files: what goes as a whole; also lines of a log that lose their text, as `LOG/DIGEST` (`line_name`).
        changes: what it does to files, by path, as far as it was worked out before; of use where one is still the same.
    """

    ids: tuple[str, ...]
    files: tuple[str, ...]
    changes: Mapping[str, FileChange] = field(default_factory=dict)

    @cached_property
    def named(self) -> frozenset[str]:
        return frozenset(self.ids)

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(self.files)


def line_name(path: str, line: bytes) -> str:
    """How an erasure names one line of a log: by the log, and by a hash that tells nothing of what the line says."""
    return f"{path}/{codec.digest(line.strip())}"


def erase(folder: UserFolder, what: Erasure) -> list[str]:
    """Remove every trace; call it with the lock held. Returns the files that were changed."""
    changed = []
    for step in (_memory_changes, _file_changes, _clean_changes, _temporary_changes):
        for change in step(folder, what):
            _write(folder, change)
            changed.append(change.path)
    changed += _erase_sessions(folder, what)
    changed += _erase_transcripts(folder, what)
    for path in _inside(folder.cache):
        atomic.remove(path)
    return changed


def changes(folder: UserFolder, what: Erasure) -> Iterator[FileChange]:
    """What `erase` does to each file: its content after it, None where it goes; the index apart."""
    steps = (_memory_changes, _file_changes, _clean_changes, _temporary_changes, _session_changes, _transcript_changes)
    for step in steps:
        yield from step(folder, what)


def _write(folder: UserFolder, change: FileChange) -> None:
    path = folder.resolve(change.path)
    if change.after is None:
        atomic.remove(path, folder.root)
    else:
        atomic.replace(path, change.after, root=folder.root)


def _memory_changes(folder: UserFolder, what: Erasure) -> Iterator[FileChange]:
    data = atomic.read(folder.memory_file)
    if data is None:
        return
    known = what.changes.get(document.FILE_NAME)
    change = known if known and known.before == data else _memory_file(data, what.named)
    if change.after != data:
        yield change


def _file_changes(folder: UserFolder, what: Erasure) -> Iterator[FileChange]:
    """Files that go as a whole, those of sessions apart."""
    there = (path for path in what.files if not _of_session(path) and _is_there(folder, path))
    yield from (FileChange(path, None, None) for path in there)


def _temporary_changes(folder: UserFolder, what: Erasure) -> Iterator[FileChange]:
    """What interrupted writes left behind: it may hold anything."""
    names = (path.relative_to(folder.root).as_posix() for path in temporary_files(folder))
    yield from (FileChange(path, None, None) for path in names if path not in what.paths)


def _session_changes(folder: UserFolder, what: Erasure) -> Iterator[FileChange]:
    there = (path for path in what.files if _of_session(path) and _is_there(folder, path))
    yield from (FileChange(path, None, None) for path in there)


def _is_there(folder: UserFolder, path: str) -> bool:
    full = folder.erasable(path)
    return full.is_file() or full.is_symlink()


def _of_session(path: str) -> bool:
    return path.startswith("sessions/")


def _clean_changes(folder: UserFolder, what: Erasure) -> Iterator[FileChange]:
    """Files that go on without the memories."""
    for path in _cleaned_files(folder):
        data = atomic.read(folder.root / path) if path not in what.paths else None
        known = what.changes.get(path)
        if data is not None and known and known.before == data:
            yield known
        elif data is not None and (new := cleaned(path, data, what, _signed_again(folder))) != data:
            yield FileChange(path, data, new)


Sign = Callable[[str, bytes, bytes], bytes]
"""Gives an entry that was changed the signature it needs: its kind, what it was, what it is."""


def _as_it_is(kind: str, before: bytes, after: bytes) -> bytes:
    return after


def _signed_again(folder: UserFolder) -> Sign:
    def sign(kind: str, before: bytes, after: bytes) -> bytes:
        """Only what this machine's user wrote is signed again."""
        if after == before or not after:
            return after
        end = b"\n" if after.endswith(b"\n") and b"\n" not in after[:-1] else b""
        bare = signing.unsigned(after.rstrip(b"\n") if end else after)
        return (folder.signer.signed(kind, bare) if folder.signer.verifies(kind, before) else bare) + end

    return sign


def _cleaned_files(folder: UserFolder) -> list[str]:
    private = [*_inside(folder.trash), *_inside(folder.displaced), *_inside(folder.unverified)]
    return [FEEDBACK, OPERATIONS, *RECEIPTS, *(path.relative_to(folder.root).as_posix() for path in private)]


def cleaned(path: str, data: bytes, what: Erasure, sign: Sign = _as_it_is) -> bytes:
    """A file's content without what names the ids; the same bytes where nothing does."""
    of = local_state.origin(path)
    if of == OPERATIONS:
        return _by_line(data, lambda line: sign(signing.OPERATION, line, _operation(path, line, what)))
    if of in RECEIPTS:
        return _by_line(data, lambda line: sign(signing.RECEIPT, line, _receipt(path, line, what)))
    if of.endswith(".jsonl"):
        return _by_line(data, lambda line: _judgement(path, line, what))
    if of.startswith(TRASH):
        return sign(of, data, _trashed(data, what.named))
    return _copy_of_memories(data, what.named) if of.endswith(".json") else data


def _by_line(data: bytes, clean: Callable[[bytes], bytes]) -> bytes:
    return b"".join(clean(line) for line in data.splitlines(keepends=True))


# memory.json


def _memory_file(data: bytes, ids: Ids) -> FileChange:
    parsed = document.parse(data, wanted=lambda raw: naming.may_be_in(raw, ids))
    new = [(record.raw, _without(record, ids)) for record in parsed.records]
    raws = [raw for _, raw in new if raw is not None]
    tombstones = sorted(document.tombstones(parsed.header) | ids)
    content = edit.rebuilt({**_header_without(parsed.header, ids), document.TOMBSTONES: tombstones}, raws)
    changed = sum(after is not None and after != before for before, after in new)
    return FileChange(document.FILE_NAME, data, content, (len(new) - len(raws), changed))


def _copy_of_memories(data: bytes, ids: Ids) -> bytes:
    """A copy of `memory.json` from another time; one that cannot be read is left, or goes as a whole, as planned."""
    try:
        parsed = document.parse(data)
    except InvalidDataError:
        return data
    new = [(record, None if _made_from(record, ids) else _without(record, ids)) for record in parsed.records]
    header = _header_without(parsed.header, ids)
    if header != parsed.header:
        return edit.rebuilt(header, [raw for _, raw in new if raw is not None])
    going = [record for record, raw in new if raw is None]
    changed = [(record, raw) for record, raw in new if raw is not None and raw != record.raw]
    return edit.without(data, parsed, going, changed) if going or changed else data


def _made_from(record: document.RawRecord, ids: Ids) -> bool:
    """Whether a record was made from one of the ids then; one that still is goes by its own id."""
    return record.memory is not None and not ids.isdisjoint(record.memory.sources)


def _header_without(header: Mapping[str, Any], ids: Ids) -> Mapping[str, Any]:
    """The fields beside the records without what merges noted about the ids: it holds their texts."""
    listed = header.get(CONFLICTS)
    if not isinstance(listed, list):
        return header
    kept = [each for each in listed if not naming.in_conflict(each, ids)]
    return header if len(kept) == len(listed) else _with_conflicts(header, kept)


def _with_conflicts(header: Mapping[str, Any], kept: list[Any]) -> Mapping[str, Any]:
    return {name: value if name != CONFLICTS else kept for name, value in header.items() if name != CONFLICTS or kept}


def _without(record: document.RawRecord, ids: Ids) -> bytes | None:
    """The record's bytes without a word about the ids; None where it is itself to go."""
    memory = record.memory
    if memory is None:
        return None if record.problem and _own_id(record.raw) in ids else record.raw
    if memory.memory_id in ids:
        return None
    new = unlinked(memory, ids)
    return record.raw if new == memory else codec.dump(codec.encode(new)).encode()


def _own_id(raw: bytes) -> str:
    """The id of a record that cannot be read otherwise; empty where it has none."""
    parsed = _json_object(raw)
    return next(iter(naming.listed(parsed.get("memory_id"))), "") if parsed else ""


def _json_object(data: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


# The trash


def _trashed(data: bytes, ids: Ids) -> bytes:
    """A forgotten memory of another id, without its references to the ids and a reflection that tells of them."""
    parsed = _json_object(data)
    memory = parsed.get("memory") if parsed else None
    if parsed is None or not isinstance(memory, dict):
        return data
    new = {**parsed, "memory": _record(memory, ids)}
    packed = new.get("reflection")
    if packed is not None and naming.in_reflection(_unpacked(packed), ids):
        del new["reflection"]
    return data if new == parsed else json.dumps(new, ensure_ascii=False, indent=2).encode() + b"\n"


def _record(record: dict[str, Any], ids: Ids) -> dict[str, Any]:
    """A record, as JSON, without its references to the ids; itself where it has none."""
    if not naming.in_record(record, ids):
        return record
    try:
        return codec.encode(unlinked(codec.decode(record), ids))
    except codec.RecordError:
        return record


def _unpacked(value: Any) -> bytes:
    try:
        return codec.unpack(value) or b""
    except (ValueError, KeyError, TypeError):
        return str(value).encode("utf-8", "replace")


# Logs


def _judgement(path: str, line: bytes, what: Erasure) -> bytes:
    """A line of feedback without the ids; empty where it judged nothing else."""
    parsed = _json_object(line)
    if parsed is None:
        return b"" if _broken_line_names(path, line, what) else line
    new = parsed | {name: _others(parsed[name], what.named) for name in ("memory_ids", "shown") if name in parsed}
    if isinstance(texts := parsed.get("texts"), dict):
        new["texts"] = {name: text for name, text in texts.items() if name not in what.named}
    if line_name(path, line) in what.paths:
        new = {name: value for name, value in new.items() if name not in ("query", "reason", "texts")}
    if parsed.get("memory_ids") and not new.get("memory_ids"):
        return b""
    return line if new == parsed else _line({name: value for name, value in new.items() if value not in ([], {})}, line)


def _receipt(path: str, line: bytes, what: Erasure) -> bytes:
    """A receipt without the ids. It stays even where it holds nothing else: uses are counted from a receipt on."""
    parsed = _json_object(line)
    if parsed is None:
        return b"" if _broken_line_names(path, line, what) else line
    new = parsed | {name: _others(parsed[name], what.named) for name in ("ids", "used") if name in parsed}
    if new != parsed or line_name(path, line) in what.paths:
        new["query"] = ""  # it may repeat words of what it found
    return line if new == parsed else _line(new, line)


def _others(value: Any, ids: Ids) -> Any:
    return [each for each in value if str(each) not in ids] if isinstance(value, list) else value


def readable(line: bytes) -> bool:
    """Whether a line of a log is what lines of logs are."""
    return _json_object(line) is not None


def _broken_line_names(path: str, line: bytes, what: Erasure) -> bool:
    text = line.decode("utf-8", "replace")
    return naming.in_broken_json(text, what.named) or line_name(path, line) in what.paths


def _line(value: Mapping[str, Any], before: bytes) -> bytes:
    """A line of a log written again, with the line end it had."""
    end = before[len(before.rstrip(b"\r\n")) :]
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + end


def _operation(path: str, line: bytes, what: Erasure) -> bytes:
    """A line of the operation log without what touched the memories that are erased; all else stays to the byte.

    A record that was made from one of them told of it in that version, even where it was generated again since: such a
    step goes. One that merely refers to one stays without the reference, as the record does in `memory.json`, unless
    the line is named because it would still hold a word.
    """
    parsed = _json_object(line)
    if parsed is None:
        return b"" if _broken_line_names(path, line, what) else line
    if parsed.get("phase") != operations.INTENT or parsed.get("erases"):
        return line
    strict = line_name(path, line) in what.paths
    new = {name: _part(name, value, what, strict) for name, value in parsed.items()}
    if new == parsed:
        return line
    text = json.dumps(new, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _part(name: str, value: Any, what: Erasure, strict: bool) -> Any:
    """A field of an intent without what touches the memories; somebody may have been at the log."""
    if not isinstance(value, list):
        return value
    if name == "header":
        return [_header_without(each, what.named) if isinstance(each, dict) else each for each in value]
    if name == "records":
        return [new for step in value if (new := _record_step(step, what.named, strict)) is not None]
    goes = {"files": _of_file, "lines": _of_line}.get(name)
    return [step for step in value if not goes(step, what)] if goes else value


def left_of_steps(line: bytes, ids: Ids) -> list[str] | None:
    """What a line of the operation log goes on to say of records that merely refer to the ids; None where it cannot be
    read."""
    parsed = _json_object(line)
    if parsed is None or parsed.get("phase") != operations.INTENT or parsed.get("erases"):
        return None if parsed is None else []
    steps = parsed.get("records")
    pairs = [(step, _record_step(step, ids, False)) for step in (steps if isinstance(steps, list) else ())]
    return [str(text) for step, new in pairs if new is not None and new is not step for text in new[1:] if text]


def _record_step(step: Any, ids: Ids, strict: bool) -> list[Any] | None:
    """A record before and after, without references to the ids; None where it tells of one of them."""
    if not isinstance(step, list) or not step or str(step[0]) in ids:
        return None
    naming_them = [version for version in step[1:] if version is not None and _version_names(version, ids)]
    if not naming_them:
        return step
    if strict or any(_version(version, ids) is None for version in naming_them):
        return None
    return [step[0], *(_version(each, ids) if each in naming_them else each for each in step[1:])]


def _version_names(version: Any, ids: Ids) -> bool:
    quick = isinstance(version, str) and not naming.may_be_in(version.encode("utf-8", "surrogatepass"), ids)
    return not quick and naming.in_version(version, ids)


def _version(text: str, ids: Ids) -> str | None:
    """The text of a record without references to the ids; None where it cannot be read, or was made from one."""
    try:
        memory = codec.decode(json.loads(text))
        if memory.memory_id in ids or not ids.isdisjoint(memory.sources):
            return None
        return codec.dump(codec.encode(unlinked(memory, ids)))
    except (ValueError, TypeError, RecursionError):
        return None


def _of_file(step: Any, what: Erasure) -> bool:
    if not isinstance(step, list) or not step or step[0] in what.paths:
        return True
    path = str(step[0])
    return any(_content_names(path, _unpacked(content), what) for content in step[1:] if content is not None)


def _content_names(path: str, data: bytes, what: Erasure) -> bool:
    """Whether what a file held once tells of the ids. Documents are the user's own, and so are the steps of theirs."""
    if path.startswith("reflections/"):
        return naming.in_reflection(data, what.named)
    if path.startswith(TRASH):
        return _trash_names(data, what.named)
    if path == document.FILE_NAME:
        return _copy_of_memories(data, what.named) != data or _broken_copy_names(data, what.named)
    return not path.startswith("knowledge/") and naming.in_text(data.decode("utf-8", "replace"), what.named)


def _trash_names(data: bytes, ids: Ids) -> bool:
    parsed = _json_object(data)
    memory = parsed.get("memory") if parsed else None
    if not isinstance(memory, dict):
        return naming.in_broken_json(data.decode("utf-8", "replace"), ids)
    return naming.in_record(memory, ids) or _trashed(data, ids) != data


def _of_line(step: Any, what: Erasure) -> bool:
    """Whether a line that was added to a log, or taken out of it, names one of the ids."""
    if not isinstance(step, list) or len(step) < 2 or not isinstance(step[1], str):
        return True
    line = step[1].encode("utf-8", "surrogatepass")
    return _judgement(str(step[0]), line, what) != line


# Copies, sessions, and what is left over


def _broken_copy_names(data: bytes, ids: Ids) -> bool:
    try:
        document.parse(data)
    except InvalidDataError:
        return naming.in_broken_json(data.decode("utf-8", "replace"), ids)
    return False


def _erase_sessions(folder: UserFolder, what: Erasure) -> list[str]:
    """Files of sessions that go, and what interrupted writes left among them.

    Under the sessions' locks: a writer that has read the file before would write the words back.
    """
    if not folder.sessions.is_dir():
        return []
    with sessions.all_locked(folder, timeout=SESSION_TIMEOUT):
        changed = [change.path for change in _session_changes(folder, what)]
        left = sessions.temporary_files(folder)
        for path in (*map(folder.resolve, changed), *left):
            atomic.remove(path)
    return changed


def _erase_transcripts(folder: UserFolder, what: Erasure) -> list[str]:
    """Lines of transcripts that go, under the lock of those who add to them."""
    if not transcripts.files(folder):
        return []
    with transcripts.locked(folder, timeout=SESSION_TIMEOUT):
        changes = list(_transcript_changes(folder, what))
        for change in changes:
            _write(folder, change)
    return [change.path for change in changes]


def _transcript_changes(folder: UserFolder, what: Erasure) -> Iterator[FileChange]:
    for path in transcripts.files(folder):
        data = atomic.read(folder.root / path) or b""
        if (new := _by_line(data, lambda line, path=path: _said(path, line, what))) != data:  # type: ignore[misc]
            yield FileChange(path, data, new)


def _said(path: str, line: bytes, what: Erasure) -> bytes:
    """A message's line; where the message goes, the line that says so, so that an old copy does not bring it back."""
    read = next(kept.lines(line), None)
    message = read and read.message
    if line_name(path, line) not in what.paths and not (message and message.message_id in what.named):
        return line
    return kept.purged(message.message_id) + b"\n" if message else b""


def _inside(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file()) if directory.is_dir() else []


def temporary_files(folder: UserFolder) -> list[Path]:
    """What an interrupted write left behind. Sessions are written without the user's lock: theirs are left to them."""
    paths = (path for path in folder.root.rglob(f"{atomic.TEMPORARY_PREFIX}*") if ".git" not in path.parts)
    own = (path for path in paths if path.is_file() and not path.is_symlink())
    return sorted(path for path in own if not path.is_relative_to(folder.sessions))
