"""The way back: undo, redo, diff, restore --from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import DryRun, current
from memctl.present import answer, plain, shapes
from memctl.storage.files.layout import path_of

if TYPE_CHECKING:
    from memctl.core.operations import Operation
    from memctl.history.differences import FileChange, MessageChange, RecordChange
    from memctl.history.restoring import Restored
    from memctl.history.service import Differences
    from memctl.history.undoing import Taken

SHOWN_LINES, SHOWN_NEW = 20, 5
"""How many lines of a file's difference are shown, and up to how many those of a file that came or went whole; `--json`
has all."""

Count = Annotated[int, typer.Argument(help="How many, the newest first.", metavar="[N]", min=1, max=10_000)]


def undo(
    count: Count = 1,
    before_purge: Annotated[
        bool, typer.Option("--before-purge", help="Step over a purge, which cannot be taken back.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Take back the last change, or the last N.

    Each is taken back exactly. It stops at the first that cannot be, because what it touched was changed since.

    Example: memctl undo; memctl undo 3 --dry-run
    """
    with options.opened() as store:
        taken = store.history.undo(count, before_purge=before_purge, dry_run=dry_run)
    _tell(taken, count, "undone", "would undo" if dry_run else "undid", dry_run)


def redo(count: Count = 1, dry_run: DryRun = False) -> None:
    """Take back the last undo, or the last N.

    Only while nothing else was changed since.

    Example: memctl redo
    """
    with options.opened() as store:
        taken = store.history.redo(count, dry_run=dry_run)
    _tell(taken, count, "redone", "would redo" if dry_run else "redid", dry_run)


def _tell(taken: Taken, count: int, what: str, verb: str, dry_run: bool) -> None:
    if taken.stopped and not taken.done:
        raise taken.stopped
    if current.json:
        stopped = taken.stopped.as_dict() if taken.stopped else None
        done = [_operation(op) for op in taken.done]
        render.as_json({what: done, "dry_run": dry_run, "stopped": stopped})
    for operation in taken.done:
        render.say(f"{verb} `{operation.command}` of {operation.at}: {_touched(operation)}")
    if taken.stopped:
        render.say(
            f"{'would stop after ' if dry_run else ''}{len(taken.done)} of {count}{'' if dry_run else f' {what}'}"
        )
        raise taken.stopped


def _operation(operation: Operation) -> dict[str, Any]:
    return {
        "op": operation.op,
        "at": operation.at,
        "command": operation.command,
        "records": [step.memory_id for step in operation.records],
        "files": [path_of(text.name) for text in operation.texts],
    }


def _touched(operation: Operation) -> str:
    from memctl.history import past

    texts = [path_of(text.name) for text in operation.texts]
    names = [*(s.memory_id for s in operation.records), *past.messages(operation)] or texts
    names = names or list(dict.fromkeys(line.log for line in operation.lines)) or ["memory.json"]
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more" if more > 0 else "")


def diff(
    revision: Annotated[
        str,
        typer.Argument(
            help="A time or span (2026-03-01, 3d), an operation (op_…), or a git revision (HEAD~2).", metavar="[REV]"
        ),
    ] = "",
) -> None:
    """Show what became of the memories since.

    Without REV since the last commit where the folder is in git, else what the last change did.

    Example: memctl diff 3d; memctl diff HEAD~2
    """
    with options.opened() as store:
        found = store.history.differences(revision)
    if current.json:
        render.as_json(_differences_json(found))
        return
    _differences(found)


def _differences(found: Differences) -> None:
    from memctl.core import times

    render.say(f"since {times.to_text(found.since.at)} ({found.since.source}): {_summary(found)}")
    for record in found.records:
        _record(record)
    for file in found.files:
        _file(file)
    for message in found.messages:
        _message(message)
    for record in found.unsure:
        _unsure(record)
    for note in found.since.notes:
        render.say(f"note: {note}")


def _summary(found: Differences) -> str:
    counts = [(sum(r.outcome == name for r in found.records), name) for name in ("added", "removed", "changed")]
    told = [f"{number} {name}" for number, name in counts if number]
    if found.messages:
        told.append(f"{len(found.messages)} {'message' if len(found.messages) == 1 else 'messages'}")
    if found.files:
        told.append(f"{len(found.files)} {'file' if len(found.files) == 1 else 'files'}")
    if found.unsure:
        told.append(f"{len(found.unsure)} cannot be dated")
    return ", ".join(told) or "nothing is different"


_MARKS = {"added": "+", "removed": "-", "changed": "~"}


def _record(record: RecordChange) -> None:
    memory = record.after or record.before
    assert memory
    render.say(f"{_MARKS[record.outcome]} {plain.memory_line(memory)}".rstrip())
    if record.outcome != "changed" or all(change.name != "content" for change in record.fields):
        render.say(f"    {plain.one_line(memory.content, answer.SHOWN_WIDTH)}")
    _fields(record)


def _fields(record: RecordChange) -> None:
    from memctl.history.differences import short

    for change in record.fields:
        one, other = (short(value, answer.SHOWN_WIDTH) for value in (change.before, change.after))
        if len(one) + len(other) <= 80:
            render.say(f"    {change.name}: {one} → {other}")
        else:
            for line in (f"{change.name}:", f"  {one}", f"  → {other}"):
                render.say(f"    {line}")


def _message(message: MessageChange) -> None:
    render.say(f"{_MARKS[message.outcome]} {message.message_id} message {message.role}".rstrip())
    render.say(f"    {plain.one_line(message.text, answer.SHOWN_WIDTH) or '(its text is gone)'}")


def _file(file: FileChange) -> None:
    if file.outcome != "changed" and len(file.lines) > SHOWN_NEW:
        render.say(f"{_MARKS[file.outcome]} {file.path} ({len(file.lines)} lines)")
        return
    render.say(f"{_MARKS[file.outcome]} {file.path}")
    for line in file.lines[:SHOWN_LINES]:
        render.say(f"    {plain.one_line(line, answer.SHOWN_WIDTH)}")
    if len(file.lines) > SHOWN_LINES:
        render.say(f"    … and {len(file.lines) - SHOWN_LINES} more lines")


def _unsure(record: RecordChange) -> None:
    render.say(f"? {record.memory_id} was changed outside memctl; the log does not know when")
    if record.outcome == "changed":
        _fields(record)
    else:
        render.say(f"    {record.outcome}")


def _differences_json(found: Differences) -> dict[str, Any]:
    of = {name: [r for r in found.records if r.outcome == name] for name in _MARKS}
    return {
        "since": {"source": found.since.source, "at": found.since.at},
        "added": [shapes.memory_json(r.after) for r in of["added"] if r.after],
        "removed": [shapes.memory_json(r.before) for r in of["removed"] if r.before],
        "changed": [_fields_json(r) for r in of["changed"]],
        "messages": [vars(message) for message in found.messages],
        "files": [vars(file) for file in found.files],
        "unsure": [_fields_json(r) | {"outcome": r.outcome} for r in found.unsure],
        "notes": list(found.since.notes),
    }


def _fields_json(record: RecordChange) -> dict[str, Any]:
    fields = {change.name: {"before": change.before, "after": change.after} for change in record.fields}
    return {"memory_id": record.memory_id, "fields": fields}


def restore_from(ids: Sequence[str], revision: str, dry_run: bool) -> None:
    """Make one memory what it was in a revision."""
    from memctl.errors import UsageError

    if not revision.strip():
        raise UsageError(
            "--from needs a revision", hint="A date, an operation (`memctl log --ids`), or a git revision."
        )
    if len(ids) != 1:
        raise UsageError("--from brings back one memory at a time", hint="memctl restore ID --from REV")
    with options.opened() as store:
        found = store.history.restore(ids[0], revision, dry_run=dry_run)
    if current.json:
        change = _fields_json(found.record) | {"outcome": found.record.outcome} if found.record else None
        told = {"dry_run": dry_run, "restored": [found.memory.memory_id], "from": str(found.then), "change": change}
        render.as_json(told | {"files": [file.path for file in found.files], "notes": found.notes})
        return
    _tell_restored(found, dry_run)


def _tell_restored(found: Restored, dry_run: bool) -> None:
    if found.record is None and not found.files:
        render.say(f"{found.memory.memory_id} is what it was then: {found.then}")
        return
    verb = "would restore" if dry_run else "restored"
    render.say(f"{verb} {found.memory.memory_id} as of {found.then}")
    if found.record:
        _record(found.record)
    for file in found.files:
        _file(file)
    for note in found.notes:
        render.say(f"note: {note}")
