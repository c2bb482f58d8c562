"""Taking back an operation, and taking that back: exactly, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memctl.core.formats import document
from memctl.core.kept import is_transcript
from memctl.core.models import Change, TextEdit
from memctl.core.operations import Operation
from memctl.errors import ConflictError, NotFoundError, RefusedError
from memctl.history import differences, past
from memctl.history.past import FILE, LINE, RECORD, Key, Part

UNDO, REDO = "undo", "redo"


@dataclass(frozen=True)
class Step:
    """Something that can be taken back: the operation that did it last, and the one a person made (`origin`)."""

    operation: Operation
    origin: Operation


@dataclass(frozen=True)
class Stacks:
    """What `undo` and `redo` would take next, the newest last; `lost` was undone, and a later change ended its redo."""

    done: tuple[Step, ...]
    undone: tuple[Step, ...]
    lost: tuple[Step, ...] = ()

    def without(self, ops: set[str]) -> Stacks:
        """The stacks without the steps of some operations."""
        return Stacks(*(tuple(s for s in steps if s.operation.op not in ops) for steps in (self.done, self.undone)))


def stacks(operations: Sequence[Operation], skip: str) -> Stacks:
    """What can be taken back after a history of plain operations, undos and redos.

    An undo takes its operation off `done` and lies on `undone`; a redo takes it off there and lies on `done`, so that
    it can be undone again. A plain operation empties `undone`. memctl's own housekeeping (command `skip`) does nothing
    to either.
    """
    done: list[Step] = []
    undone: list[Step] = []
    lost: list[Step] = []
    for operation in operations:
        if operation.redoes:
            done.append(Step(operation, _taken(undone, operation.redoes, operation)))
        elif operation.undoes:
            undone.append(Step(operation, _taken(done, operation.undoes, operation)))
        elif operation.command != skip and (operation.erases or past.parts(operation)):
            done.append(Step(operation, operation))
            lost += undone
            undone.clear()
    return Stacks(*(tuple(step for step in steps if _something(step.operation)) for steps in (done, undone, lost)))


def _something(operation: Operation) -> bool:
    """Whether there is anything to take back; a purge may have left nothing of an operation."""
    return bool(operation.erases or past.parts(operation))


def _taken(stack: list[Step], op: str, by: Operation) -> Operation:
    """Take the step of an operation off a stack and return what a person made; the log may not hold it any more."""
    for at in reversed(range(len(stack))):
        if stack[at].operation.op == op:
            return stack.pop(at).origin
    return replace(by, command=by.command.removeprefix(f"{UNDO} ").removeprefix(f"{REDO} "))


def next_step(known: Stacks, what: str, before_purge: bool = False) -> Step:
    """The newest step that `undo` or `redo` takes.

    Raises:
        NotFoundError: there is none.
        RefusedError: the newest is a purge, and `before_purge` does not say to step over it.
    """
    for step in reversed(known.done if what == UNDO else known.undone):
        if not step.operation.erases:
            return step
        if not before_purge:
            hint = "What came before it can: `memctl undo --before-purge`."
            raise RefusedError("the last change was a purge, which cannot be undone", hint=hint)
    if what == UNDO:
        raise NotFoundError("there is nothing to undo", hint="`memctl log` lists what was done.")
    hint = "Only what `memctl undo` took back can be redone, and only until something else is changed."
    raise NotFoundError("there is nothing to redo", hint=hint)


def following(known: Stacks, what: str, step: Step) -> str:
    """The operation that comes next once a step was taken; empty where there is none, or a purge stands before it."""
    stack = known.done if what == UNDO else known.undone
    left = [other for other in stack if not other.operation.erases and other != step]
    return left[-1].operation.op if left else ""


def inverse(what: str, step: Step, present: Mapping[Key, bytes | None], later: Sequence[Operation] = ()) -> Change:
    """The change that takes a step back.

    Args:
        what: `UNDO` or `REDO`, for the log.
        present: what each thing it touched is now.
        later: the operations after it, to tell which of them changed something.

    Raises:
        ConflictError: something it touched has changed since; nothing can be taken back exactly.
    """
    for part in past.parts(step.operation):
        if present.get(part.key) != part.after:
            raise _changed(what, step, part, present.get(part.key), later)
    records = [s for s in step.operation.records if s.before is not None]
    return Change(
        command=f"{what} {step.origin.command}",
        puts=tuple(document.decode_raw((s.before or "").encode()) for s in records),
        removes=tuple(s.memory_id for s in step.operation.records if s.before is None),
        texts=tuple(TextEdit(s.name, s.after, s.before) for s in step.operation.texts),
        lines=tuple(replace(line, added=not line.added) for line in step.operation.lines),
        header=_header_back(step.operation),
        undoes=step.operation.op if what == UNDO else "",
        redoes=step.operation.op if what == REDO else "",
        raws={s.memory_id: (s.before or "").encode() for s in records},
    )


def _header_back(operation: Operation) -> dict[str, object] | None:
    """The fields it changed as they were; others may have been changed by another since."""
    before, after = operation.header or ({}, {})
    changed = {name: before.get(name) for name in {*before, *after} if before.get(name) != after.get(name)}
    return changed or None


def _changed(
    what: str, step: Step, part: Part, now: bytes | None, later: Sequence[Operation]
) -> ConflictError:  # fmt: skip
    if part.key.kind == LINE and part.after is not None and is_transcript(part.key.name):
        reason = f"cannot {what} `{step.origin.command}` of {step.origin.at}: the messages were removed for good since"
        return ConflictError(reason, hint="The setting `transcript_deleted_days` says how long deleted messages wait.")
    by = next((op for op in reversed(later) if _left(op, part.key, now)), None)
    who = f"since by `{by.command}` of {by.at}" if by else "outside memctl since"
    reason = f"cannot {what} `{step.origin.command}` of {step.origin.at}: {part.key} was changed {who}{_how(part, now)}"
    where = "" if by else "An editor or git did that. "
    hint = f"{where}It is left as it is; `memctl diff` and `memctl log` show more, `memctl edit` changes it by hand."
    return ConflictError(reason, hint=hint)


def _left(operation: Operation, key: Key, now: bytes | None) -> bool:
    return any(part.key == key and part.after == now for part in past.parts(operation))


def _how(part: Part, now: bytes | None) -> str:
    if part.key.kind == RECORD:
        return f": {differences.told(differences.record(part.key.name, part.after, now))}"
    if part.key.kind == FILE and (now is None or part.after is None):
        return ": it is gone" if now is None else ": it is there again"
    return ""
