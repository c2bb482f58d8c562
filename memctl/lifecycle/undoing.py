"""Taking back an operation: exactly, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memctl.errors import ConflictError, NotFoundError, RefusedError
from memctl.files import document
from memctl.files.journal import Operation
from memctl.models import Change, FileEdit


def last_undoable(operations: Sequence[Operation], skip: str, before_purge: bool = False) -> Operation:
    """The newest operation that is neither undone, nor an undo, nor memctl's own housekeeping (command `skip`).

    Raises:
        NotFoundError: there is nothing to undo.
        RefusedError: the newest is a purge, and `before_purge` does not say to step over it.
    """
    undone = {operation.undoes for operation in operations if operation.undoes}
    for operation in reversed(operations):
        if operation.erases and not before_purge:
            hint = "What came before it can: `memctl undo --before-purge`."
            raise RefusedError("the last change was a purge, which cannot be undone", hint=hint)
        touched = operation.records or operation.files or operation.lines or operation.header
        if touched and operation.op not in undone and not operation.undoes and operation.command != skip:
            return operation
    raise NotFoundError("there is nothing to undo", hint="`memctl log` lists what was done.")


def inverse(operation: Operation, present: dict[str, bytes], files: dict[str, bytes | None]) -> Change:
    """The change that takes an operation back.

    Args:
        present: exact bytes now of the records it touched.
        files: content now of the other files it touched.

    Raises:
        ConflictError: something it touched has changed since; nothing can be taken back exactly.
    """
    for step in operation.records:
        now = present.get(step.memory_id)
        if (now.decode() if now is not None else None) != step.after:
            raise _changed(f"memory {step.memory_id}", operation)
    for file in operation.files:
        if files.get(file.path) != file.after:
            raise _changed(file.path, operation)
    return Change(
        command=f"undo {operation.command}",
        puts=tuple(document.decode_raw(s.before.encode()) for s in operation.records if s.before is not None),
        removes=tuple(s.memory_id for s in operation.records if s.before is None),
        files=tuple(FileEdit(f.path, f.after, f.before) for f in operation.files),
        lines=tuple(replace(line, added=not line.added) for line in operation.lines),
        header=_header_back(operation),
        undoes=operation.op,
        raws={s.memory_id: s.before.encode() for s in operation.records if s.before is not None},
    )


def _header_back(operation: Operation) -> dict[str, object] | None:
    if operation.header is None:
        return None
    before, after = operation.header
    return {name: before.get(name) for name in {*before, *after}}


def _changed(what: str, operation: Operation) -> ConflictError:
    return ConflictError(
        f"cannot undo `{operation.command}`: {what} was changed since",
        hint="Nothing was changed. `memctl log` shows what came after; `memctl edit` changes a memory by hand.",
    )
