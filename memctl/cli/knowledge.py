"""`memctl knowledge`: documents beside the memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.ids import meant, numbered
from memctl.cli.options import AllowSecret, DryRun, Now, current
from memctl.present import plain, shapes

if TYPE_CHECKING:
    from memctl.documents.service import AddedDocuments

SHOWN_SKIPPED = 5


def complete_document(incomplete: str) -> list[str]:
    """Documents, for the shell."""
    try:
        with options.opened(quiet=True) as store:
            names = [document.path.removeprefix("knowledge/") for document in store.documents.all()]
            return [name for name in names if name.startswith(incomplete)]
    except Exception:
        return []


def add(
    path: Annotated[str, typer.Argument(help="A Markdown or text file, or a folder of them.", metavar="FILE|DIR")],
    as_name: Annotated[
        str,
        typer.Option("--as", help="Its name below knowledge/; with / at the end, the folder for it.", metavar="NAME"),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of a document that says something else.")
    ] = False,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
    now: Now = None,
) -> None:
    """Copy a document, or a folder of documents, into knowledge/.

    Files put there by hand are read just so. PDF, DOCX and HTML become Markdown, with the extra `documents`.

    Example: memctl knowledge add handbook.md --as guides/
    """
    with options.opened() as store:
        done = store.documents.add(
            path, as_name=as_name, replace=replace, allow_secret=allow_secret, dry_run=dry_run, now=options.moment(now)
        )
    if current.json:
        found, skipped = [vars(each) for each in done.documents], [vars(each) for each in done.skipped]
        render.as_json({"dry_run": dry_run, "documents": found, "skipped": skipped})
        return
    _tell_added(done, dry_run)


def _tell_added(done: AddedDocuments, dry_run: bool) -> None:
    for each in done.documents:
        would = "would be " if dry_run and each.outcome != "unchanged" else ""
        origin = f" (converted from {each.converted_from})" if each.converted_from else ""
        render.say(f"{would}{each.outcome} {each.path}, {_passages(each.passages)}{origin}")
    for left in done.skipped[:SHOWN_SKIPPED]:
        render.say(plain.one_line(f"left out {left.name}: {left.reason}", 200))
    if len(done.skipped) > SHOWN_SKIPPED:
        render.say(f"left out {len(done.skipped) - SHOWN_SKIPPED} more; --json names them")
    if not dry_run and any(each.outcome != "unchanged" for each in done.documents):
        render.say("take it back with `memctl undo`")


def _passages(number: int) -> str:
    return f"{number} passage{'' if number == 1 else 's'}"


def list_documents() -> None:
    """List the documents.

    Example: memctl knowledge list
    """
    with options.opened() as store:
        found = store.documents.all()
    if current.json:
        render.as_json([vars(document) for document in found])
        return
    rows = [(d.path, str(d.passages), str(d.size), plain.one_line(d.problem, 200)) for d in found]
    render.table(("document", "passages", "bytes", "problem"), rows, right=(1, 2))


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="A document; with :LINE, one passage.",
            metavar="NAME[:LINE]",
            autocompletion=complete_document,
            callback=meant,
        ),
    ],
) -> None:
    """Print a document, or the passage at a line.

    Example: memctl knowledge show guides/handbook.md:33
    """
    with options.opened() as store:
        found = store.documents.show(name)
    if current.json:
        render.as_json(vars(found))
        return
    if found.heading:
        render.say(f"{found.path}:{found.line}-{found.end_line}  {found.heading}\n")
    render.say_text(found.text.rstrip("\n"))


def search(
    text: Annotated[list[str], typer.Argument(help="What to look for; - reads standard input.", metavar="TEXT...")],
    top: Annotated[int | None, typer.Option("--top", "-n", help="How many passages.", min=1, max=1000)] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each passage earned its place.")] = False,
) -> None:
    """Search the documents alone.

    `memctl query` finds them too, beside the memories.

    Example: memctl knowledge search "how do we roll back?"
    """
    question = options.standard_input() if text == ["-"] else " ".join(text)
    with options.opened() as store:
        result = store.documents.search(question, top)
        numbered(store, [hit.memory.memory_id for hit in result.hits])
    if current.json:
        whole = shapes.query_json(result)
        render.as_json({name: whole[name] for name in ("query", "hits", "index", "degraded")})
        return
    render.hits(result, explain)
    render.degraded(result.degraded)


def remove(
    names: Annotated[
        list[str],
        typer.Argument(help="Documents, or folders of them.", metavar="NAME...", autocompletion=complete_document),
    ],
    dry_run: DryRun = False,
    now: Now = None,
) -> None:
    """Delete documents; `undo` brings them back.

    Example: memctl knowledge remove guides/handbook.md
    """
    with options.opened() as store:
        gone = store.documents.remove(names, dry_run=dry_run, now=options.moment(now))
    if current.json:
        render.as_json({"dry_run": dry_run, "removed": [document.path for document in gone]})
        return
    for document in gone:
        render.say(f"{'would remove' if dry_run else 'removed'} {document.path}")
    if not dry_run:
        render.say("bring it back with `memctl undo`")


_FUNCTIONS: dict[str, Any] = {
    "add": add,
    "list": list_documents,
    "show": show,
    "search": search,
    "remove": remove,
}
GROUP = options.Commands("Keep and search documents.\n\nExample: memctl knowledge add handbook.md", _FUNCTIONS)
