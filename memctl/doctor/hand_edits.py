"""What editing by hand leaves in a user's files: dates in other forms, ids changed or pasted, sessions renamed.

`doctor` shows what is found here, and `doctor --fix` makes the changes. Only what has one meaning is mended.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memctl.core import times
from memctl.core.formats import codec, document, reflections
from memctl.core.formats.document import Document, RawRecord, tombstones
from memctl.core.models import Change, Memory, Problem, TextEdit
from memctl.doctor.codes import FORM, NAME, SESSION
from memctl.errors import InvalidDataError, MemctlError
from memctl.storage.files import atomic, edit, journal, queue, sessions, signing
from memctl.storage.files.layout import UserFolder
from memctl.storage.files.merge_sides import header_with_ids, with_ids
from memctl.storage.folder.view import FolderView

LITTER = re.compile(r"~$|^#.*#$|^4913$|___jb_(tmp|old)___$|\.(sw[a-p]|orig|bak|rej|tmp|save)$")
"""Names of files that editors and git leave for a while, or for ever."""

_STRING, _NUMBER = r'"(?:[^"\\]|\\.)*"', r"-?\d[\d.eE+-]*"
_NO_ID = re.compile(rb'"memory_id"\s*:\s*(null|"")')
_REFERENCE = "{}/([0-9a-f]{{32}})"


# Dates


def _loose(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Dates that are written in another way than memctl writes them: field, as it stands, as it would stand."""
    for name in codec.TIMES:
        if (written := record.get(name)) is not None:
            plain = times.to_text(times.from_value(written))
            if plain != written:
                yield name, written, plain


def dates(parsed: Document) -> Iterator[Problem]:
    """One finding on all dates in other forms, at the first of them."""
    readable = [record for record in parsed.records if record.memory is not None]
    found = [(record, *each) for record in readable for each in _loose(_with_id(record))]
    if not found:
        return
    record, name, written, plain = found[0]
    assert record.memory is not None
    more = f" (and {len(found) - 1} more dates are in other forms)" if len(found) > 1 else ""
    shown = written if isinstance(written, str) else json.dumps(written)
    message = f"{record.memory.memory_id}: {name} is written {shown}, read as {plain}{more}"
    fix = "write them as memctl does" if more else "write it as memctl does"
    yield Problem(document.FILE_NAME, message, record.line, fix, FORM)


def _with_id(record: RawRecord) -> Mapping[str, Any]:
    """The fields of a record; none of one that has no id, for it is to be written anew anyway."""
    value: Mapping[str, Any] = json.loads(record.raw)
    return value if value.get("memory_id") else {}


def has_no_id(raw: bytes) -> bool:
    """Whether a record goes without an id: its field is missing, `null` or empty."""
    return b'"memory_id"' not in raw or (_NO_ID.search(raw) is not None and not json.loads(raw).get("memory_id"))


def with_plain_dates(raw: bytes) -> bytes:
    """A record with its dates as memctl writes them; every other byte stays where that can be."""
    value, text = json.loads(raw), raw.decode()
    for name, _, plain in _loose(value):
        pattern = rf'("{name}"\s*:\s*)(?:{_STRING}|{_NUMBER})'
        text = re.sub(pattern, rf'\g<1>"{plain}"', text, count=1)
    return _checked(text, codec.decode(value))


def _checked(text: str, memory: Memory) -> bytes:
    """The text, if it says what the memory says, in plain dates; else the memory written anew."""
    try:
        found = json.loads(text)
        if codec.decode(found) == memory and not any(_loose(found)):
            return text.encode()
    except ValueError:
        pass
    return codec.dump(codec.encode(memory)).encode()


def plain_dates(view: FolderView) -> tuple[list[Memory], dict[str, bytes]]:
    """The records whose dates are in other forms, and how they are to stand in the file."""
    raws: dict[str, bytes] = {}
    memories = []
    for memory in view.all():
        raw = view.index.raws(document.FILE_NAME, [memory.memory_id])[memory.memory_id]
        if any(_loose(json.loads(raw))):
            memories.append(memory)
            raws[memory.memory_id] = with_plain_dates(raw)
    return memories, raws


# Ids that stand twice


def without_repeats(view: FolderView, now: datetime) -> Change:
    """Take out copies and what was purged; give a different record with a taken id a new one."""
    data = view.read(document.FILE_NAME) or b""
    parsed = document.parse(data)
    buried = tombstones(parsed.header)
    held: dict[str, Memory] = {}
    going: list[RawRecord] = []
    again: list[tuple[RawRecord, Memory]] = []
    for record in parsed.records:
        memory = record.memory
        if memory is None:
            continue
        first = held.setdefault(memory.memory_id, memory)
        if memory.memory_id in buried or (first is not memory and first == memory):
            going.append(record)
        elif first is not memory:
            again.append((record, memory))
    drawn = [replace(memory, memory_id=view.ids(memory.created_at or now, datetime.now(UTC))) for _, memory in again]
    changed = [(record, _with_own_id(record, new)) for (record, _), new in zip(again, view.unused(drawn), strict=True)]
    new = edit.without(data, parsed, going, changed)
    return Change("doctor --fix", texts=(TextEdit(document.FILE_NAME, data, new),) if new != data else ())


def _with_own_id(record: RawRecord, memory: Memory) -> bytes:
    """The record under its new id, every other byte as it is."""
    value = json.dumps(memory.memory_id, ensure_ascii=False)
    text = re.sub(rf'("memory_id"\s*:\s*)(?:{_STRING}|{_NUMBER})', lambda m: m[1] + value, record.raw.decode(), count=1)
    try:
        return text.encode() if codec.decode(json.loads(text)) == memory else _dump(memory)
    except ValueError:
        return _dump(memory)


def _dump(memory: Memory) -> bytes:
    return codec.dump(codec.encode(memory)).encode()


# Ids that were changed


@dataclass(frozen=True)
class ChangedId:
    """A record whose id was changed by hand, as far as that is certain: what named it still names the old id."""

    old: str
    new: str
    line: int


def changed_ids(view: FolderView, parsed: Document, gone: set[str]) -> list[ChangedId]:
    """Records that were called otherwise before, found by their reflection, else by what the log knows of the old id.

    Args:
        gone: ids that nobody needs to look for: in the trash, or purged.
    """
    memories = parsed.memories
    named = _named_by_reflections(view, memories, gone)
    missing = _missing(parsed, gone) - named.keys()
    named |= _same_words(view, memories, missing) if missing else {}
    certain = {old: found.pop() for old, found in named.items() if len(found) == 1}
    lines = {record.memory.memory_id: record.line for record in parsed.records if record.memory}
    once = [new for new in certain.values() if list(certain.values()).count(new) == 1]
    return [ChangedId(old, new, lines[new]) for old, new in sorted(certain.items()) if new in once]


def _named_by_reflections(view: FolderView, memories: Mapping[str, Memory], gone: set[str]) -> dict[str, set[str]]:
    """Ids that are in no file, but in the front matter of a reflection that a record refers to."""
    found: dict[str, set[str]] = defaultdict(set)
    for memory in memories.values():
        owner = _owner(view, memory.summary_md_ref) if reflections.is_reference(memory.summary_md_ref) else ""
        if owner and owner not in memories and owner not in gone:
            found[owner].add(memory.memory_id)
    return found


def _owner(view: FolderView, path: str) -> str:
    """The id in the front matter of a reflection; empty where there is none that can be read."""
    try:
        reflection = view.reflection(path)
    except MemctlError:
        return ""
    return reflection.memory_id if reflection else ""


def _missing(parsed: Document, gone: set[str]) -> set[str]:
    """Ids that records name and no record has."""
    memories = parsed.memories
    named = {
        other
        for memory in memories.values()
        for other in (*memory.supersedes, *memory.conflicts_with, *memory.sources, memory.superseded_by)
    }
    return named - memories.keys() - gone - {""}


def _same_words(view: FolderView, memories: Mapping[str, Memory], missing: set[str]) -> dict[str, set[str]]:
    """By what the log knows of the missing: records it does not know, with the same words and the same date."""
    last: dict[str, str] = {}
    for operation in journal.read(view.folder):
        for step in operation.records:
            last[step.memory_id] = step.after or step.before or ""
    strangers = [memory for memory in memories.values() if memory.memory_id not in last]
    found: dict[str, set[str]] = {}
    for old in missing & last.keys():
        try:
            known = codec.decode(json.loads(last[old]))
        except ValueError:
            continue
        found[old] = {m.memory_id for m in strangers if (m.content, m.created_at) == (known.content, known.created_at)}
    return found


def followed(view: FolderView, changed: Sequence[ChangedId]) -> Change:
    """Everything that names an old id names the new one: records, front matter, conflicts."""
    ids = {each.old: each.new for each in changed}
    puts, raws = [], {}
    for memory in view.all():
        if (renamed := with_ids(memory, ids)) != memory:
            raw = view.index.raws(document.FILE_NAME, [memory.memory_id])[memory.memory_id]
            puts.append(renamed)
            raws[memory.memory_id] = _with_ids_in(raw, renamed, ids)
    files = []
    for path in sorted(path for path in view.index.files() if path.startswith(reflections.FOLDER)):
        before = _read(view, path)
        if before is not None and (after := reflections.with_ids(before, ids)) != before:
            files.append(TextEdit(path, before, after))
    header = header_with_ids(view.header, ids)
    return Change(
        "doctor --fix", tuple(puts), texts=tuple(files), raws=raws, header=header if header != view.header else None
    )


def _with_ids_in(raw: bytes, memory: Memory, ids: Mapping[str, str]) -> bytes:
    text = raw.decode()
    for old, new in ids.items():
        text = text.replace(json.dumps(old, ensure_ascii=False), json.dumps(new, ensure_ascii=False))
    try:
        return text.encode() if codec.decode(json.loads(text)) == memory else _dump(memory)
    except ValueError:
        return _dump(memory)


def _read(view: FolderView, path: str) -> bytes | None:
    try:
        return view.read(path)
    except MemctlError:
        return None


# The name of the user


def user_name(folder: UserFolder, parsed: Document) -> Iterator[Problem]:
    """A folder that was renamed, or copied, and whose file has the old name."""
    named = parsed.header.get("user_id")
    if isinstance(named, str) and named != folder.name:
        message = f"`user_id` is {named}, but the folder is called {folder.name}"
        yield Problem(document.FILE_NAME, message, 0, f"write {folder.name} into it", NAME)


def renamed_user(view: FolderView) -> Change:
    """The folder's name written into the file, every other byte as it is."""
    data = view.read(document.FILE_NAME) or b""
    parsed = document.parse(data)
    start, end = parsed.array
    header = {**parsed.header, "user_id": view.folder.name}
    name = json.dumps(view.folder.name, ensure_ascii=False).encode()
    pattern = re.compile(rf'"user_id"\s*:\s*({_STRING})'.encode())
    for found in (*pattern.finditer(data, 0, start), *pattern.finditer(data, end)):
        new = data[: found.start(1)] + name + data[found.end(1) :]
        if document.parse(new).header == header:
            return Change("doctor --fix", texts=(TextEdit(document.FILE_NAME, data, new),))
    return Change("doctor --fix", header=header)


# Sessions


def session_files(folder: UserFolder) -> Iterator[Problem]:
    """Sessions that cannot be read, were renamed, or have lost what was laid aside for them."""
    if not folder.sessions.is_dir():
        return
    for path in sorted(folder.sessions.glob("*.json")):
        if not path.is_file() or path.is_symlink() or path.name.startswith(".") or LITTER.search(path.name):
            continue
        name = f"sessions/{path.name}"
        if path.stem not in sessions.ids(folder):
            yield Problem(name, "is not read: its name cannot be the id of a session; rename it", code=SESSION)
        else:
            yield from _session_file(folder, path.stem, name)
    for aside, owner in _astray(folder).items():
        name = f"sessions/{aside}.d"
        if owner:
            yield Problem(name, f"was renamed: session {owner} refers to what it holds", 0, "rename it back", SESSION)
        else:
            yield Problem(name, "holds what was laid aside for a session that is gone; delete it", code=SESSION)


def _session_file(folder: UserFolder, session_id: str, name: str) -> Iterator[Problem]:
    try:
        sessions.load_if_exists(folder, session_id)
    except InvalidDataError as problem:
        renamed = _named_otherwise(folder, session_id)
        fix = f"write {session_id} into it" if renamed else ""
        reason = f"{problem.reason}, and is called {session_id}" if renamed else problem.reason
        yield Problem(name, f"{reason} (left as it is)", problem.line, fix, SESSION, problem.column)
    except MemctlError as problem:
        yield Problem(name, problem.message, code=SESSION)


def _named_otherwise(folder: UserFolder, session_id: str) -> dict[str, Any] | None:
    """A session's file that is whole but for the name in it."""
    path = sessions.path_of(folder, session_id)
    try:
        found = json.loads((atomic.read(path) or b"").decode("utf-8-sig"))
        other = found.get("sessionId") if isinstance(found, dict) else None
        sessions.parse(json.dumps({**found, "sessionId": session_id}).encode(), session_id, "")
    except (ValueError, MemctlError, TypeError, RecursionError):
        return None
    return found if isinstance(other, str) and other != session_id else None


def _astray(folder: UserFolder) -> dict[str, str]:
    """Folders of content laid aside whose session is not there, and the session that must own each; empty for none."""
    known = set(sessions.ids(folder))
    found: dict[str, str] = {}
    for path in sorted(folder.sessions.glob("*.d")):
        name = path.name.removesuffix(".d")
        if path.is_dir() and not path.is_symlink() and name not in known and any(path.glob("*.txt")):
            held = {file.stem for file in path.glob("*.txt")}
            owners = [one for one in sorted(known) if _refers(folder, one) & held]
            named = any(re.search(_REFERENCE.format(re.escape(name)), _text(folder, one)) for one in known)
            if not named and not queue.waiting(folder, name):
                found[name] = owners[0] if len(owners) == 1 else ""
    return found


def _refers(folder: UserFolder, session_id: str) -> set[str]:
    """What a session refers to as laid aside, where it has no folder for it any more."""
    if (folder.sessions / f"{session_id}.d").exists():
        return set()
    return set(re.findall(_REFERENCE.format(re.escape(session_id)), _text(folder, session_id)))


def _text(folder: UserFolder, session_id: str) -> str:
    return (_bytes(folder, session_id) or b"").decode("utf-8", "replace")


def _bytes(folder: UserFolder, session_id: str) -> bytes | None:
    try:
        return atomic.read(sessions.path_of(folder, session_id))
    except MemctlError:
        return None


def mend_session(folder: UserFolder, problem: Problem, keep: Callable[[str, bytes], None], *, timeout: float) -> None:
    """Write a renamed session's name into it, or give a folder that was renamed its name back.

    Args:
        keep: where what is changed is kept as it was: the path, and the bytes.
    """
    name = problem.path.removeprefix("sessions/")
    if name.endswith(".d"):
        if owner := _astray(folder).get(name.removesuffix(".d")):
            with sessions.locked(folder, owner, timeout=timeout):
                atomic.move_directory(folder.sessions / name, folder.sessions / f"{owner}.d")
        return
    session_id = name.removesuffix(".json")
    with sessions.locked(folder, session_id, timeout=timeout):
        found = _named_otherwise(folder, session_id)
        if found is not None:
            before = _bytes(folder, session_id) or b""
            keep(problem.path, before)
            others = {name: value for name, value in found.items() if name != signing.FIELD}
            data = sessions.encoded({**others, "sessionId": session_id}, f"session {session_id}")
            if folder.signer.verifies(f"sessions/{found['sessionId']}.json", before):  # the user's own, renamed
                data = folder.signer.signed(problem.path, data)
            atomic.replace(sessions.path_of(folder, session_id), data)
