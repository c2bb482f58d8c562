"""Looking: inspect, log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import options, render
from memctl.cli.ids import complete_id, meant
from memctl.cli.options import Now, current
from memctl.present import reports, shapes
from memctl.storage.files.layout import path_of

if TYPE_CHECKING:
    from memctl.core.operations import Operation


def inspect(
    memory_id: Annotated[
        str | None,
        typer.Argument(
            help="A memory's id; the whole store otherwise.", autocompletion=complete_id, callback=meant, metavar="[ID]"
        ),
    ] = None,
    now: Now = None,
) -> None:
    """Show the store at a glance, or one memory in full.

    For one memory: its record, reflection, links, history, and when it will fade.

    Example: memctl inspect; memctl inspect mem_20251214_1a2b
    """
    from memctl import overview
    from memctl.core import times
    from memctl.present import pages

    moment = options.moment(now) or times.utc_now()
    with options.opened() as store:
        if memory_id is None:
            found = overview.of_store(store, moment)
            if current.json:
                render.as_json(overview.as_dict(found))
            else:
                render.lines(pages.overview_page(found, pictures=render.on_terminal()))
            return
        portrait = overview.of_memory(store, store.get(memory_id), moment)
    if current.json:
        render.as_json(overview.portrait_dict(portrait) | {"memory": shapes.memory_json(portrait.memory)})
    else:
        render.lines(pages.portrait_page(portrait, pictures=render.on_terminal()))


ON_A_TERMINAL = 20
"""How many operations a person is shown who gave no limit; a program gets all of them."""


def log(
    memory_id: Annotated[
        str | None,
        typer.Argument(help="Only changes of this memory.", autocompletion=complete_id, callback=meant, metavar="[ID]"),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", help="How many, the newest first; 0 for all. 20 on a terminal, else all.", min=0),
    ] = None,
    since: options.Since = None,
    ids: Annotated[bool, typer.Option("--ids", help="Also the id of each operation, for `diff` and --as-of.")] = False,
) -> None:
    """List what was changed, the newest first.

    What `undo` took back is marked as undone.

    Example: memctl log --limit 5 --ids
    """
    from memctl.history import past

    after = options.moment(since)
    with options.opened() as store:
        found = store.history.operations(store.engine.findable(memory_id) if memory_id else "")
        undone = store.history.undone()
        trimmed = store.engine.storage.operations_trimmed
    limit = limit if limit is not None or not render.on_terminal() else ON_A_TERMINAL
    wanted = [op for op in reversed(found) if after is None or past.made(op) >= after]
    shown = wanted[: limit or None]
    if current.json:
        render.as_json([reports.operation(op) | {"undone": op.op in undone} for op in shown])
        return
    rows = [
        (*([op.op] if ids else ()), op.at, op.command + " (undone)" * (op.op in undone), _touched(_names(op)))
        for op in shown
    ]
    render.table((*(["operation"] if ids else ()), "when", "command", "what"), rows)
    if len(shown) < len(wanted) and render.on_terminal():
        render.say(f"the last {len(shown)} of {len(wanted)}; all with --limit 0")
    if trimmed and len(shown) == len(found):
        render.warn("what is older fell out of the log (setting `log_limit_mb`)")


def _names(operation: Operation) -> list[str]:
    from memctl.history import past

    erased = list(operation.erases[0]) if operation.erases else []
    lines = list(dict.fromkeys(line.log for line in operation.lines))
    touched = [*(step.memory_id for step in operation.records), *past.messages(operation)]
    return touched or [path_of(text.name) for text in operation.texts] or erased or lines


def _touched(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
