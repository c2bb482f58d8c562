"""What every write does first, whatever it is about: expired memories go to the trash, reflections get records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memctl.core import records
from memctl.core.formats import document, reflections
from memctl.core.formats.document import tombstones
from memctl.core.models import Change, Memory, Reflection, TextEdit
from memctl.errors import RefusedError, StorageError, argument
from memctl.storage.files import trash
from memctl.storage.folder.entries import memory_of, reflection_memory
from memctl.storage.folder.sync import FUSE_LEAST, FUSE_SHARE
from memctl.storage.folder.view import View

MAINTENANCE = "maintenance"
"""Command name of changes memctl makes by itself (moving what has expired); `undo` steps over them."""


def housekeeping(view: View, now: datetime) -> Change:
    """What every write does first: expired memories go to the trash, reflections written by hand get a record, and
    those of memories that a merge gave a new id follow."""
    due = [memory_of(entry) for entry in view.index.expired(now)]
    repeated = _repeated(view) if due else set()
    expired = [memory for memory in due if memory.memory_id not in repeated and _can_go(view, memory)]
    moving = to_trash(MAINTENANCE, view, expired, trash.EXPIRED, now)
    adopted, files = adoptions(view, now)
    moved, moves = followings(view, set(moving.removes))
    return Change(MAINTENANCE, (*adopted, *moved), moving.removes, (*moving.texts, *files, *moves))


def _repeated(view: View) -> set[str]:
    """Ids of several records in the file: none of these is moved by itself, the others would go with it."""
    state = view.index.files().get(document.FILE_NAME)
    if state is None or not state.problem:
        return set()
    return document.repeated(document.parse(view.read(document.FILE_NAME) or b""))


def followings(view: View, going: set[str]) -> tuple[list[Memory], list[TextEdit]]:
    """Reflections that name another record than the one that refers to them, under their own record's id and name.

    It happens where a merge gave the later of two memories with one id a new one: git's driver for one file cannot
    rename another.

    Args:
        going: records that are about to leave.
    """
    moved: list[Memory] = []
    files: list[TextEdit] = []
    for found in view.index.misnamed():
        owners = view.referring(found.path)
        memory = view.get(next(iter(owners))) if len(owners) == 1 and not owners & going else None
        if memory is None:
            continue
        data = reflections.with_ids(found.raw, {found.memory_id: memory.memory_id})
        path = reflections.path_for(memory.memory_id)
        if found.path != reflections.path_for(found.memory_id) or view.read(path) is not None:
            files.append(TextEdit(found.path, found.raw, data))
        else:
            files += [TextEdit(found.path, found.raw, None), TextEdit(path, None, data)]
            moved.append(replace(memory, summary_md_ref=path))
    return moved, files


def adoptions(view: View, now: datetime) -> tuple[list[Memory], list[TextEdit]]:
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


def obstacle(view: View, reflection: Reflection, record: Memory) -> str:
    """Why a reflection cannot have this record; empty where it can."""
    name = record.memory_id
    if not reflection.body.strip():
        return "is empty; it gets a record once something stands in it"
    if name in tombstones(view.header):
        return f"names {name}, which was purged; delete it, or take the `memory_id` out"
    if view.read(trash.name_of(name)) is not None:
        way = f"`memctl restore {argument(name)}`"
        return f"names {name}, which lies in the trash; delete it, or take the `memory_id` out, or {way}"
    return "" if records.can_be_stored(record) else "gets no record: its front matter holds what a record cannot"


def relinks(view: View) -> dict[str, str]:
    """Records whose reflection is missing, or that have none, and the one file in whose front matter each is named: it
    was renamed, or written by hand."""
    named: dict[str, list[str]] = {}
    for found in view.index.unreferred():
        named.setdefault(found.memory_id, []).append(found.path)
    return {name: paths[0] for name, paths in named.items() if len(paths) == 1 and not has_reflection(view, name)}


def has_reflection(view: View, memory_id: str) -> bool:
    """Whether the file that a record refers to is there."""
    path = view.need(memory_id).summary_md_ref
    return reflections.is_reference(path) and (view.folder.root / path).exists()


def adopt(reflection: Reflection, new_id: str, now: datetime) -> Memory:
    """The record of a reflection that was written by hand."""
    seen = reflection_memory(reflection)
    return replace(
        seen,
        memory_id=reflection.memory_id or new_id,
        layer="L2",
        content=reflection.title,
        source="reflection",
        created_at=seen.created_at or now,
        summary_md_ref=reflection.path,
    )


def name_record(view: View, reflection: Reflection, memory: Memory) -> list[TextEdit]:
    """Write the record's id into a reflection that names none; its text stays as it is."""
    if reflection.memory_id:
        return []
    before = view.read(reflection.path) or b""
    return [TextEdit(reflection.path, before, reflections.with_memory_id(before, memory.memory_id))]


def to_trash(command: str, view: View, memories: Sequence[Memory], reason: str, now: datetime) -> Change:
    """Move records to the trash, and the reflections nothing else refers to.

    Raises:
        StorageError: such a reflection cannot be read, and so not be kept.
    """
    going = {memory.memory_id for memory in memories}
    files: list[TextEdit] = []
    for memory in memories:
        own = _own_reflection(view, memory, going)
        in_trash = view.read(trash.name_of(memory.memory_id))
        files += trash.to_trash(memory, own, in_trash, reason, now)
    return Change(
        command, removes=tuple(dict.fromkeys(memory.memory_id for memory in memories)), texts=tuple(_once(files))
    )


def _own_reflection(view: View, memory: Memory, going: set[str]) -> bytes | None:
    path = memory.summary_md_ref
    if not reflections.is_reference(path) or not view.referring(path) <= going:
        return None
    try:
        return view.read(memory.summary_md_ref)
    except RefusedError:
        return None  # a link out of the folder is left where it is


def _can_go(view: View, memory: Memory) -> bool:
    """Whether nothing stands in the way; what cannot be read today must not stop what somebody else writes."""
    try:
        _own_reflection(view, memory, {memory.memory_id})
    except StorageError:
        return False
    return True


def _once(files: Sequence[TextEdit]) -> list[TextEdit]:
    return list({file.name: file for file in files}.values())


def fuse(going: int, active: int, done: str, command: str) -> RefusedError | None:
    """The refusal to change more than a quarter of the memories at once without being told to; None where it holds."""
    if active < FUSE_LEAST or going <= FUSE_SHARE * active:
        return None
    return RefusedError(
        f"{going} of {active} memories would be {done} at once; nothing was changed",
        hint=f"Look at them with `{command} --dry-run`; go on with --allow-mass-change.",
    )
