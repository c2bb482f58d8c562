"""What every write does first, whatever it is about: expired memories go to the trash, reflections get records."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memctl.core import records
from memctl.core.formats import document, reflections, trash
from memctl.core.formats.document import tombstones
from memctl.core.models import Change, Memory, Reflection, TextEdit
from memctl.core.names import MAINTENANCE
from memctl.errors import argument
from memctl.storage.folder.view import FolderView
from memctl.storage.index import decoding
from memctl.storage.trash import can_go, to_trash


def housekeeping(view: FolderView, now: datetime) -> Change:
    """What every write does first: expired memories go to the trash, reflections written by hand get a record, and
    those of memories that a merge gave a new id follow."""
    due = [entry.memory for entry in view.index.expired(now)]
    repeated = _repeated(view) if due else set()
    expired = [memory for memory in due if memory.memory_id not in repeated and can_go(view, memory)]
    moving = to_trash(MAINTENANCE, view, expired, trash.EXPIRED, now)
    adopted, files = adoptions(view, now)
    moved, moves = followings(view, set(moving.removes))
    return Change(MAINTENANCE, (*adopted, *moved), moving.removes, (*moving.texts, *files, *moves))


def _repeated(view: FolderView) -> set[str]:
    """Ids of several records in the file: none of these is moved by itself, the others would go with it."""
    state = view.index.files().get(document.FILE_NAME)
    if state is None or not state.problem:
        return set()
    return document.repeated(document.parse(view.read(document.FILE_NAME) or b""))


def followings(view: FolderView, going: set[str]) -> tuple[list[Memory], list[TextEdit]]:
    """Reflections that name another record than the one that refers to them, under their own record's id and name.

    It happens where a merge gave the later of two memories with one id a new one: git's driver for one file cannot
    rename another.

    Args:
        going: records that are about to leave.
    """
    moved: list[Memory] = []
    files: list[TextEdit] = []
    for row in view.index.misnamed():
        owners = view.referring(row.path)
        memory = view.get(next(iter(owners))) if len(owners) == 1 and not owners & going else None
        if memory is None:
            continue
        data = reflections.with_ids(row.raw, {row.memory_id: memory.memory_id})
        path = reflections.path_for(memory.memory_id)
        if row.path != reflections.path_for(row.memory_id) or view.read(path) is not None:
            files.append(TextEdit(row.path, row.raw, data))
        else:
            files += [TextEdit(row.path, row.raw, None), TextEdit(path, None, data)]
            moved.append(replace(memory, summary_md_ref=path))
    return moved, files


def adoptions(view: FolderView, now: datetime) -> tuple[list[Memory], list[TextEdit]]:
    """Records of the reflections that have none, and the ids written into those files.

    A reflection that names a forgotten or purged record is left alone: its record must not come back by it.
    """
    adopted: list[Memory] = []
    files: list[TextEdit] = []
    for orphan in view.orphans():
        record = adopt(orphan, view.new_id(now), now)
        if not obstacle(view, orphan, record):
            adopted.append(record)
            files += name_record(view, orphan, record)
    return adopted, files


def obstacle(view: FolderView, reflection: Reflection, record: Memory) -> str:
    """Why a reflection cannot have this record; empty where it can."""
    name = record.memory_id
    if not reflection.body.strip():
        return "is empty; it gets a record once something is in it"
    if name in tombstones(view.header):
        return f"names {name}, which was purged; delete it, or take the `memory_id` out"
    if view.read(trash.name_of(name)) is not None:
        way = f"`memctl restore {argument(name)}`"
        return f"names {name}, which lies in the trash; delete it, or take the `memory_id` out, or {way}"
    return "" if records.can_be_stored(record) else "gets no record: its front matter holds what a record cannot"


def relinks(view: FolderView) -> dict[str, str]:
    """Records whose reflection is missing, or that have none, and the one file in whose front matter each is named: it
    was renamed, or written by hand."""
    named: dict[str, list[str]] = {}
    for row in view.index.unreferred():
        named.setdefault(row.memory_id, []).append(row.path)
    return {name: paths[0] for name, paths in named.items() if len(paths) == 1 and not has_reflection(view, name)}


def has_reflection(view: FolderView, memory_id: str) -> bool:
    """Whether the file that a record refers to is there."""
    path = view.need(memory_id).summary_md_ref
    return reflections.is_reference(path) and (view.folder.root / path).exists()


def adopt(reflection: Reflection, new_id: str, now: datetime) -> Memory:
    """The record of a reflection that was written by hand."""
    seen = decoding.reflection(reflection)
    return replace(
        seen,
        memory_id=reflection.memory_id or new_id,
        layer="L2",
        content=reflection.title,
        source="reflection",
        created_at=seen.created_at or now,
        summary_md_ref=reflection.path,
    )


def name_record(view: FolderView, reflection: Reflection, memory: Memory) -> list[TextEdit]:
    """Write the record's id into a reflection that names none; its text stays as it is."""
    if reflection.memory_id:
        return []
    before = view.read(reflection.path) or b""
    return [TextEdit(reflection.path, before, reflections.with_memory_id(before, memory.memory_id))]
