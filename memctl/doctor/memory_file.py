"""What is wrong with `memory.json` and its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memctl.core import kinds
from memctl.core.formats import document, reflections
from memctl.core.formats.document import tombstones
from memctl.core.models import LAYER_RECORD, LAYERS, SUPERSEDED, Memory, Problem
from memctl.core.text.shortening import cut
from memctl.doctor import hand_edits
from memctl.doctor.codes import (
    BAD_RECORD,
    CHANGED_ID,
    CIRCLE,
    DANGLING,
    GONE,
    INCOMPLETE,
    MISSING_REFLECTION,
    OWN_WORD,
    PURGED,
    REPEATED,
    UNREADABLE,
)
from memctl.doctor.hand_edits import ChangedId
from memctl.errors import InvalidDataError, argument
from memctl.storage.files import atomic, succession
from memctl.storage.files.layout import UserFolder
from memctl.storage.folder import housekeeping
from memctl.store import MemoryStore

_LONGEST_SHOWN = 60
"""Characters of a kind or layer that a finding shows."""


def findings(store: MemoryStore, indexed: bool) -> Iterator[Problem]:
    """What is wrong with `memory.json`; `indexed`: whether the index holds what it says."""
    folder = store.folder
    data = atomic.read(folder.memory_file)
    if data is None:
        yield _missing(store)
        return
    try:
        parsed = document.parse(data)
    except InvalidDataError as problem:
        yield Problem(document.FILE_NAME, problem.reason, problem.line, code=UNREADABLE, column=problem.column)
        return
    changed = _changed_ids(store, parsed) if indexed else []
    yield from hand_edits.user_name(folder, parsed)
    moved = housekeeping.relinks(store.engine.files.view()) if indexed else {}
    yield from _records(folder, parsed, {each.old for each in changed}, moved)
    yield from _circles(parsed)
    yield from _own_words(parsed, "kind", kinds.KINDS, f"a {kinds.DEFAULT}")
    yield from _own_words(parsed, "layer", LAYERS, LAYER_RECORD)
    for each in changed:
        message = f"{each.new} was called {each.old} before, and something still names it so"
        yield Problem(document.FILE_NAME, message, each.line, "let that follow", CHANGED_ID)
    yield from hand_edits.dates(parsed)


def _missing(store: MemoryStore) -> Problem:
    many = len(store.engine.files.index.hashes(document.FILE_NAME))
    if not many:
        return Problem(document.FILE_NAME, "is missing", code=INCOMPLETE, fix="write an empty one")
    message = f"is gone; the index still knows its {'1 memory' if many == 1 else f'{many} memories'}"
    return Problem(document.FILE_NAME, message, code=GONE, fix="write them again")


def _changed_ids(store: MemoryStore, parsed: document.Document) -> list[ChangedId]:
    return hand_edits.changed_ids(
        store.engine.files.view(), parsed, tombstones(parsed.header) | trashed_ids(store.folder)
    )


def _records(
    folder: UserFolder, parsed: document.Document, followed: set[str], moved: Mapping[str, str]
) -> Iterator[Problem]:
    """What is wrong with the records.

    Args:
        followed: ids of which it is known what has become of them.
        moved: where the reflections of some records are now.
    """
    seen: dict[str, document.RawRecord] = {}
    buried = tombstones(parsed.header)
    known = set(parsed.memories) | buried | trashed_ids(folder) | followed
    for record in parsed.records:
        if record.memory is None:
            yield Problem(document.FILE_NAME, record.problem, record.line, code=BAD_RECORD)
            continue
        yield from _one_record(record, record.memory, seen, buried)
        yield from _reference(folder, record.memory, record.line, moved)
        yield from _relations(record.memory, record.line, known)
        seen.setdefault(record.memory.memory_id, record)


def _one_record(
    record: document.RawRecord, memory: Memory, seen: Mapping[str, document.RawRecord], buried: set[str]
) -> Iterator[Problem]:
    name, line = memory.memory_id, record.line
    if name in buried:
        yield Problem(document.FILE_NAME, f"{name} was purged and is back", line, "remove it again", PURGED)
    elif name in seen:
        same = seen[name].memory == memory
        fix = "remove the copy" if same else "give the later one a new id"
        yield Problem(document.FILE_NAME, f"{name} stands twice (first in line {seen[name].line})", line, fix, REPEATED)
    if hand_edits.has_no_id(record.raw):
        yield Problem(document.FILE_NAME, "a record has no memory_id", line, f"write {name} into it", INCOMPLETE)
    elif memory.created_at is None:
        yield Problem(document.FILE_NAME, f"{name} has no date", line, "write the file's date into it", INCOMPLETE)


def _reference(folder: UserFolder, memory: Memory, line: int, moved: Mapping[str, str]) -> Iterator[Problem]:
    """A reflection that is not where the record says; where it was moved to is told with the file."""
    reference = memory.summary_md_ref
    if memory.memory_id in moved:
        return
    if reference and not reflections.is_reference(reference):
        message = f"{memory.memory_id}: summary_md_ref {reference!r} is not a file below reflections/"
        yield Problem(document.FILE_NAME, message, line, "take the reference out", MISSING_REFLECTION)
    elif reference and not (folder.root / reference).exists():
        message = f"{memory.memory_id} refers to {reference}, which is missing"
        yield Problem(document.FILE_NAME, message, line, "take the reference out", MISSING_REFLECTION)


def _relations(memory: Memory, line: int, known: set[str]) -> Iterator[Problem]:
    """Other records that a record names, and that are not there."""
    named = (*memory.supersedes, *memory.conflicts_with, *memory.sources, memory.superseded_by)
    for other in named:
        if other and other not in known:
            message = (
                f"{memory.memory_id} refers to {other}, which is in no file (nothing to do if it was removed by hand)"
            )
            yield Problem(document.FILE_NAME, message, line, code=DANGLING)


def _circles(parsed: document.Document) -> Iterator[Problem]:
    """Memories that supersede each other: none of them is in an answer, which nobody can have meant."""
    lines = {record.memory.memory_id: record.line for record in parsed.records if record.memory is not None}
    over = {name: memory for name, memory in parsed.memories.items() if memory.status == SUPERSEDED}
    for name, *others in succession.circles(over):
        what = f"{name} and {' and '.join(others)} supersede each other" if others else f"{name} supersedes itself"
        way = f"let one stand with `memctl edit --set status=active --set superseded_by= {argument(name)}`"
        yield Problem(document.FILE_NAME, f"{what}, so no answer has them: {way}", lines[name], code=CIRCLE)


def _own_words(parsed: document.Document, field: str, known: Sequence[str], treated_as: str) -> Iterator[Problem]:
    """Kinds or layers of a person's own, each at the first record that has it; nothing is wrong with them."""
    found: dict[str, list[int]] = {}
    for record in parsed.records:
        if record.memory is not None and (word := getattr(record.memory, field)) not in known:
            found.setdefault(word, []).append(record.line)
    for word, lines in found.items():
        more = f" ({len(lines)} records)" if len(lines) > 1 else ""
        message = f"{field} {cut(word, _LONGEST_SHOWN)!r} is not one memctl knows; it is treated as {treated_as}{more}"
        yield Problem(document.FILE_NAME, message, lines[0], code=OWN_WORD)


def trashed_ids(folder: UserFolder) -> set[str]:
    if not folder.trash.is_dir():
        return set()
    texts = ((atomic.read(path) or b"").decode("utf-8", "replace") for path in folder.trash.glob("*.json"))
    return {part.split('"', 1)[0] for text in texts for part in text.split('"memory_id": "')[1:]}
