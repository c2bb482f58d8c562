"""`memctl conflicts`: list memories that contradict each other, and settle them."""

from __future__ import annotations

from typing import Annotated

import typer

from memctl.cli import commands, inputs, options, render
from memctl.cli.ids import complete_id, of_rows
from memctl.cli.opening import opened, opened_with
from memctl.cli.options import DryRun, Now
from memctl.present import conflicts as shapes


def list_conflicts(context: typer.Context, with_: options.With = None, now: Now = None) -> None:
    """List memories that contradict each other."""
    if context.invoked_subcommand:
        return
    with opened_with(with_) as (store, shared):
        conflicts = (shared.conflicts if shared else store.conflicts.open)(now=inputs.moment(now))
    render.document(shapes.open_json(conflicts))
    render.lines(shapes.open_page(conflicts))


def resolve(
    first: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A memory, or what a merge left.", autocompletion=complete_id, callback=of_rows
        ),
    ],
    second: Annotated[
        str, typer.Argument(metavar="[ID]", help="The other memory.", autocompletion=complete_id, callback=of_rows)
    ] = "",
    keep: Annotated[
        str,
        typer.Option(
            "--keep", metavar="ID", help="Keep this one; newest means the newer one.",
            autocompletion=complete_id, callback=of_rows,
        ),
    ] = "",
    merge: Annotated[str, typer.Option("--merge", help="Replace both by this text.", metavar="TEXT")] = "",
    both: Annotated[bool, typer.Option("--both", help="Both are true; do not list them again.")] = False,
    until: Annotated[
        str | None, typer.Option("--until", help="With --both: when the older one ended.", metavar="TIME")
    ] = None,
    ours: Annotated[bool, typer.Option("--ours", help="Of a merge: take our side.")] = False,
    theirs: Annotated[bool, typer.Option("--theirs", help="Of a merge: take the other side.")] = False,
    text: Annotated[
        str | None, typer.Option("--text", help="Of a merge: take this text.", metavar="TEXT")
    ] = None,
    dry_run: DryRun = False,
    now: Now = None,
) -> None:  # fmt: skip
    """Settle a conflict of two memories, or one that a merge left.

    What is not kept stays readable as superseded; a candidate that is not kept is archived. For a merge, give the id
    of the conflict (mrg_…) or of the memory. `undo` takes it back.

    Example: memctl conflicts resolve mem_20250402 mem_20260519 --keep mem_20260519
    """
    from memctl.errors import UsageError

    moment = inputs.moment(now)
    if ours or theirs or text is not None or not second:
        if second or keep or merge or both or until:
            hint = "Two ids with --keep, --merge or --both; or what a merge left, with --ours, --theirs or --text."
            raise UsageError("a conflict of two memories and one of a merge are settled differently", hint=hint)
        if ours and theirs:
            raise UsageError("--ours and --theirs exclude each other")
        side = "ours" if ours else "theirs" if theirs else ""
        with opened() as store:
            settled = store.conflicts.resolve_merge(first, side=side, text=text, dry_run=dry_run, now=moment)
        render.document(shapes.merge_json(settled, dry_run=dry_run))
        render.lines(shapes.merge_page(settled, dry_run=dry_run))
        return
    with opened() as store:
        resolved = store.conflicts.resolve(
            first, second, keep=keep, merge=merge, both=both, until=inputs.moment(until), dry_run=dry_run, now=moment
        )
    render.document(shapes.resolved_json(resolved, dry_run=dry_run))
    render.lines(shapes.resolved_page(resolved, dry_run=dry_run))


GROUP = commands.Commands(
    "List memories that contradict each other, and settle them.\n\n"
    "Found by rules, without a model, in facts and preferences; listing changes nothing.\n\n"
    "Example: memctl conflicts",
    {"resolve": resolve},
    callback=list_conflicts,
)
