"""`memctl conflicts`: what contradicts what, and settling it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.ids import complete_id, meant
from memctl.cli.options import DryRun, Now, current
from memctl.present import plain, reports

if TYPE_CHECKING:
    from memctl.conflicts.service import MergeSettled, OpenConflicts, Resolved
    from memctl.core.models import Memory
    from memctl.storage.ports.messages import Differing

SHOWN = 110
"""Characters of a text in the list; `memctl show` prints all of it."""


def list_conflicts(context: typer.Context, with_: options.With = None, now: Now = None) -> None:
    """Show what contradicts what."""
    if context.invoked_subcommand:
        return
    with options.opened_with(with_) as (store, shared):
        open_ones = (shared.conflicts if shared else store.conflicts.open)(now=options.moment(now))
    if current.json:
        found = [reports.contradiction(f) for f in open_ones.found]
        messages = [_message_json(each) for each in open_ones.messages]
        render.as_json({"conflicts": found, "noted": list(open_ones.noted), "messages": messages})
        return
    _page(open_ones)


def _page(open_ones: OpenConflicts) -> None:
    for found in open_ones.found:
        render.say(f"{found.kind} {found.score:.2f}  {plain.one_line('; '.join(found.evidence), 200)}")
        for memory in (found.first, found.second):
            render.say(f"  {memory.memory_id}  {plain.day(memory.when)}  {_marks(memory)}{_text(memory)}")
    for entry in open_ones.noted:
        _noted(entry)
    for message in open_ones.messages:
        render.say(f"message  {message.message_id} was changed on both sides of a merge")
        for place in message.versions:
            render.say(f"  {place.path}:{place.line}  {plain.one_line(place.text, SHOWN)}")
    merges = [entry for entry in open_ones.noted if entry.get("type") == "merge"]
    total = len(open_ones.found) + len(open_ones.noted) + len(open_ones.messages)
    if not total:
        render.say("no conflicts found")
        return
    render.say(f"{total} conflict{'' if total == 1 else 's'}; nothing was changed")
    own = [found for found in open_ones.found if not any("/" in name for name in found.ids)]
    if len(own) + len(open_ones.noted) > len(merges):
        render.say("settle one with `memctl conflicts resolve ID ID` and --keep ID, --merge TEXT or --both")
    if len(own) < len(open_ones.found):
        render.say("what another user says can be read, not changed: correct your own with `memctl edit`, or ask them")
    if merges:
        render.say("settle what a merge left with `memctl conflicts resolve ID` and --ours, --theirs or --text TEXT")
    if open_ones.messages:
        render.say("the last line of a message is in answers: delete the line that is wrong, in an editor")


def _message_json(message: Differing) -> dict[str, Any]:
    versions = [{"path": place.path, "line": place.line, "text": place.text} for place in message.versions]
    return {"message_id": message.message_id, "versions": versions}


def _marks(memory: Memory) -> str:
    """What a person should know before choosing."""
    named = ("candidate" if memory.status == "candidate" else "", "pinned" if memory.pinned else "")
    marks = ", ".join(mark for mark in named if mark)
    return f"[{marks}] " if marks else ""


def _text(memory: Memory) -> str:
    return plain.one_line(memory.content, SHOWN)


def _noted(entry: Any) -> None:
    """An entry of `memory.json`, whatever it holds."""
    import json

    def shown(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

    if entry.get("type") == "merge":
        what = entry.get("field") or "deleted on one side, changed on the other"
        told = f"merge  {shown(entry.get('id'))}  {shown(entry.get('memory_id')) or 'memory.json'}  {shown(what)}"
        render.say(plain.one_line(told, 200))
        for name in ("base", "ours", "theirs"):
            render.say(f"  {name:6}  {_merge_value(entry.get(name))}")
        return
    ids = entry.get("ids")
    named = ", ".join(map(shown, ids)) if isinstance(ids, list) else shown(ids or "")
    render.say(plain.one_line(f"{shown(entry.get('type') or 'noted')}  {named}", 200))
    for name, value in entry.items():
        if name not in ("type", "ids"):
            render.say(f"  {plain.one_line(f'{name}: {shown(value)}', 200)}")


def _merge_value(value: Any) -> str:
    """One side of a merge's conflict; of a whole memory, its text."""
    import json

    if isinstance(value, dict) and "content" in value:
        value = value["content"]
    if value is None:
        return "-"
    return plain.one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), SHOWN)


def resolve(
    first: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="One memory, or what a merge left.", autocompletion=complete_id, callback=meant
        ),
    ],
    second: Annotated[
        str, typer.Argument(metavar="[ID]", help="The other.", autocompletion=complete_id, callback=meant)
    ] = "",
    keep: Annotated[
        str,
        typer.Option(
            "--keep", metavar="ID", help="This one is right; newest means the newer one.",
            autocompletion=complete_id, callback=meant,
        ),
    ] = "",
    merge: Annotated[str, typer.Option("--merge", help="This text takes the place of both.", metavar="TEXT")] = "",
    both: Annotated[bool, typer.Option("--both", help="Both are true; they are not listed again.")] = False,
    until: Annotated[
        str | None, typer.Option("--until", help="With --both: when the older one ended.", metavar="TIME")
    ] = None,
    ours: Annotated[bool, typer.Option("--ours", help="Of a merge: what our side says.")] = False,
    theirs: Annotated[bool, typer.Option("--theirs", help="Of a merge: what the other side says.")] = False,
    text: Annotated[
        str | None, typer.Option("--text", help="Of a merge: this instead of both.", metavar="TEXT")
    ] = None,
    dry_run: DryRun = False,
    now: Now = None,
) -> None:  # fmt: skip
    """Settle a conflict of two memories, or one that a merge left.

    What is not kept stays readable as superseded; a candidate that is not kept is archived. Of a merge, name the
    conflict (mrg_…) or the memory alone. `undo` takes it back.

    Example: memctl conflicts resolve mem_20250402 mem_20260519 --keep mem_20260519
    """
    if ours or theirs or text is not None or not second:
        _check_merge_call(second, keep, merge, both, until)
        _resolve_merge(first, [name for name, on in (("ours", ours), ("theirs", theirs)) if on], text, dry_run, now)
        return
    with options.opened() as store:
        done = store.conflicts.resolve(
            first,
            second,
            keep=keep,
            merge=merge,
            both=both,
            until=options.moment(until),
            dry_run=dry_run,
            now=options.moment(now),
        )
    if current.json:
        render.as_json({"dry_run": dry_run, "changes": [_change_json(done, at) for at in range(len(done.changes))]})
        return
    _tell(done, dry_run)


def _check_merge_call(second: str, keep: str, merge: str, both: bool, until: str | None) -> None:
    from memctl.errors import UsageError

    if second or keep or merge or both or until:
        hint = "Two ids with --keep, --merge or --both; or what a merge left, with --ours, --theirs or --text."
        raise UsageError("a conflict of two memories and one of a merge are settled differently", hint=hint)


def _resolve_merge(given: str, sides: list[str], text: str | None, dry_run: bool, now: str | None) -> None:
    from memctl.errors import UsageError

    if len(sides) > 1:
        raise UsageError("--ours or --theirs, not both")
    with options.opened() as store:
        done = store.conflicts.resolve_merge(
            given, side=sides[0] if sides else "", text=text, dry_run=dry_run, now=options.moment(now)
        )
    if current.json:
        changed = [_record_change(before, after) for before, after in done.changes]
        render.as_json({"dry_run": dry_run, "settled": list(done.entries), "changes": changed, "left": done.left})
        return
    _tell_merge(done, dry_run)


def _record_change(before: Memory | None, after: Memory | None) -> dict[str, Any]:
    either = after or before
    assert either is not None
    told = {name: {"before": was, "after": now} for name, was, now in _fields(before, after)} if after else {}
    return {"memory_id": either.memory_id, "new": before is None, "removed": after is None, "fields": told}


def _tell_merge(done: MergeSettled, dry_run: bool) -> None:
    for before, after in done.changes:
        if after is None and before is not None:
            render.say(f"{'would move' if dry_run else 'moved'} {before.memory_id} to the trash: {_text(before)}")
        elif after is not None:
            render.say(f"{'would change' if dry_run else 'changed'} {after.memory_id}: {_text(after)}")
    if not done.changes:
        render.say("it stands as decided already")
    many = (
        f"{done.left} more to settle"
        if done.left
        else "all is settled; if git waits for it, `memctl git commit` is next"
    )
    render.say("dry run: nothing was changed" if dry_run else many)


def _change_json(done: Resolved, at: int) -> dict[str, Any]:
    before, after = done.changes[at]
    return {
        "memory_id": after.memory_id,
        "new": before is None,
        "fields": {name: {"before": was, "after": now} for name, was, now in _fields(before, after)},
    }


def _fields(before: Memory | None, after: Memory) -> list[tuple[str, Any, Any]]:
    """Each field that is different, in the file's order."""
    from memctl.core.formats import codec

    old = {"status": before.status, **codec.encode(before)} if before else {}
    new = {"status": after.status, **codec.encode(after)}
    names = [name for name in codec.FIELD_ORDER if old.get(name) != new.get(name) and name != "memory_id"]
    return [(name, old.get(name), new.get(name)) for name in names]


def _tell(done: Resolved, dry_run: bool) -> None:
    import json

    def shown(value: Any) -> str:
        return "-" if value in (None, [], "") else json.dumps(value, ensure_ascii=False, default=str)

    changing, writing = ("would change", "would write") if dry_run else ("changed", "wrote")
    for before, after in done.changes:
        render.say(f"{changing if before else writing} {after.memory_id}: {_text(after)}")
        for name, was, now in _fields(before, after):
            told = f"{shown(was)} → {shown(now)}" if before else shown(now)
            render.say(f"  {name}: {plain.one_line(told, 200)}")
    render.say("dry run: nothing was changed" if dry_run else "take it back with `memctl undo`")


GROUP = options.Commands(
    "Show what contradicts what, and settle it.\n\n"
    "Found by rules, without a model, in facts and preferences; nothing is changed by looking.\n\n"
    "Example: memctl conflicts",
    {"resolve": resolve},
    alone=list_conflicts,
)
