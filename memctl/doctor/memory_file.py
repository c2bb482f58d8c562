"""What is wrong with `memory.json` and its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from memctl.core import kinds
from memctl.core.formats import document, reflections
from memctl.core.formats.document import tombstones
from memctl.core.models import LAYER_RECORD, LAYERS, SUPERSEDED, Memory, Problem
from memctl.core.text.shortening import cut
from memctl.doctor import codes, dates, record_ids, user_name
from memctl.doctor.record_ids import ChangedId
from memctl.errors import InvalidDataError, argument
from memctl.storage.files import atomic, succession
from memctl.storage.files.layout import UserFolder
from memctl.storage.folder import housekeeping
from memctl.store import MemoryStore

_LONGEST_SHOWN = 60
"""Characters of a kind or layer that a message shows."""


def findings(store: MemoryStore, indexed: bool) -> Iterator[Problem]:
    """Problems of `memory.json`; `indexed`: whether the index holds its contents."""
    folder = store.folder
    data = atomic.read(folder.memory_file)
    if data is None:
        yield _missing(store)
        return
    try:
        parsed = document.parse(data)
    except InvalidDataError as problem:
        yield Problem(document.FILE_NAME, problem.reason, problem.line, code=codes.UNREADABLE, column=problem.column)
        return
    changed = _changed_ids(store, parsed) if indexed else []
    yield from user_name.problems(folder, parsed)
    moved = housekeeping.relinks(store.engine.files.view()) if indexed else {}
    yield from _records(folder, parsed, {each.old for each in changed}, moved)
    yield from _circles(parsed)
    yield from _own_words(parsed, "kind", kinds.KINDS, f"a {kinds.DEFAULT}")
    yield from _own_words(parsed, "layer", LAYERS, LAYER_RECORD)
    for each in changed:
        message = f"the id {each.new} was {each.old} before, and something still refers to the old one"
        yield Problem(document.FILE_NAME, message, each.line, "update the references", codes.CHANGED_ID)
    yield from dates.problems(parsed)


def _missing(store: MemoryStore) -> Problem:
    many = len(store.engine.files.index.hashes(document.FILE_NAME))
    if not many:
        return Problem(document.FILE_NAME, "is missing", code=codes.INCOMPLETE, fix="write an empty one")
    message = f"is missing; the index still has its {'1 memory' if many == 1 else f'{many} memories'}"
    return Problem(document.FILE_NAME, message, code=codes.GONE, fix="restore it from the index")


def _changed_ids(store: MemoryStore, parsed: document.Document) -> list[ChangedId]:
    return record_ids.changed_ids(
        store.engine.files.view(), parsed, tombstones(parsed.header) | trashed_ids(store.folder)
    )


def _records(
    folder: UserFolder, parsed: document.Document, followed: set[str], moved: Mapping[str, str]
) -> Iterator[Problem]:
    """Problems of the records.

    Args:
        followed: old ids whose new ids are known.
        moved: the paths of reflections that were moved, by record.
    """
    seen: dict[str, document.RawRecord] = {}
    purged = tombstones(parsed.header)
    known = set(parsed.memories) | purged | trashed_ids(folder) | followed
    for record in parsed.records:
        if record.memory is None:
            yield Problem(document.FILE_NAME, record.problem, record.line, code=codes.BAD_RECORD)
            continue
        yield from _one_record(record, record.memory, seen, purged)
        yield from _reference(folder, record.memory, record.line, moved)
        yield from _relations(record.memory, record.line, known)
        seen.setdefault(record.memory.memory_id, record)


def _one_record(
    record: document.RawRecord, memory: Memory, seen: Mapping[str, document.RawRecord], purged: set[str]
) -> Iterator[Problem]:
    name, line = memory.memory_id, record.line
    if name in purged:
        yield Problem(document.FILE_NAME, f"{name} was purged and is back", line, "remove it again", codes.PURGED)
    elif name in seen:
        same = seen[name].memory == memory
        fix = "remove the copy" if same else "give the later one a new id"
        yield Problem(
            document.FILE_NAME, f"{name} occurs twice (first in line {seen[name].line})", line, fix, codes.REPEATED
        )
    if record_ids.has_no_id(record.raw):
        yield Problem(document.FILE_NAME, "a record has no memory_id", line, f"write {name} into it", codes.INCOMPLETE)
    elif memory.created_at is None:
        yield Problem(
            document.FILE_NAME, f"{name} has no date", line, "write the file's date into it", codes.INCOMPLETE
        )


def _reference(folder: UserFolder, memory: Memory, line: int, moved: Mapping[str, str]) -> Iterator[Problem]:
    """A reflection that is not where the record says; the problem of a moved one is reported with its file."""
    reference = memory.summary_md_ref
    if memory.memory_id in moved:
        return
    if reference and not reflections.is_reference(reference):
        message = f"{memory.memory_id}: summary_md_ref {reference!r} is not a file below reflections/"
        yield Problem(document.FILE_NAME, message, line, "remove the reference", codes.MISSING_REFLECTION)
    elif reference and not (folder.root / reference).exists():
        message = f"{memory.memory_id} refers to {reference}, which is missing"
        yield Problem(document.FILE_NAME, message, line, "remove the reference", codes.MISSING_REFLECTION)


def _relations(memory: Memory, line: int, known: set[str]) -> Iterator[Problem]:
    """References to records that do not exist."""
    named = (*memory.supersedes, *memory.conflicts_with, *memory.sources, memory.superseded_by)
    for other in named:
        if other and other not in known:
            message = (
                f"{memory.memory_id} refers to {other}, which is in no file (nothing to do if it was removed by hand)"
            )
            yield Problem(document.FILE_NAME, message, line, code=codes.DANGLING)


def _circles(parsed: document.Document) -> Iterator[Problem]:
    """Memories that supersede each other, so that no answer has any of them."""
    lines = {record.memory.memory_id: record.line for record in parsed.records if record.memory is not None}
    over = {name: memory for name, memory in parsed.memories.items() if memory.status == SUPERSEDED}
    for name, *others in succession.circles(over):
        what = f"{name} and {' and '.join(others)} supersede each other" if others else f"{name} supersedes itself"
        way = f"make one active with `memctl edit --set status=active --set superseded_by= {argument(name)}`"
        yield Problem(document.FILE_NAME, f"{what}, so no answer has them: {way}", lines[name], code=codes.CIRCLE)


def _own_words(parsed: document.Document, field: str, known: Sequence[str], treated_as: str) -> Iterator[Problem]:
    """Kinds or layers that memctl does not know, each at its first record."""
    words: dict[str, list[int]] = {}
    for record in parsed.records:
        if record.memory is not None and (word := getattr(record.memory, field)) not in known:
            words.setdefault(word, []).append(record.line)
    for word, lines in words.items():
        more = f" ({len(lines)} records)" if len(lines) > 1 else ""
        message = f"{field} {cut(word, _LONGEST_SHOWN)!r} is unknown to memctl; it is treated as {treated_as}{more}"
        yield Problem(document.FILE_NAME, message, lines[0], code=codes.OWN_WORD)


def trashed_ids(folder: UserFolder) -> set[str]:
    if not folder.trash.is_dir():
        return set()
    texts = ((atomic.read(path) or b"").decode("utf-8", "replace") for path in folder.trash.glob("*.json"))
    return {part.split('"', 1)[0] for text in texts for part in text.split('"memory_id": "')[1:]}
