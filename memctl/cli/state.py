"""`state`: what lies below `.memctl/` and was not written by this user on this machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import DryRun, current
from memctl.core import operations
from memctl.present import plain, reports

if TYPE_CHECKING:
    from memctl.storage.files.adopting import Adopted
    from memctl.storage.files.local_state import Entry

_WIDTH = 160
_CUT_OFF = ", was cut off: to be finished"


def _show_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show()


def show() -> None:
    """Show what came with the folder and is ignored.

    memctl signs what it keeps for itself: the log, receipts, the trash, drafts, sessions. What came with a folder, an
    archive or a branch is ignored, and kept.

    Example: memctl state show
    """
    with options.opened() as store:
        store.refresh()
        found = store.local_state.unverified()
        where = {"key": str(store.folder.signer.key_file), "folder": store.folder.signer.folder_id}
    if current.json:
        render.as_json({**where, **reports.adopted(found)})
        return
    _list(found)


def adopt(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Believe what came with the folder: sign it.

    For a restored backup, an archive with its log, a folder from another machine of yours, or the log of an earlier
    version. Its operations can then be undone, its receipts count, and sessions are learned from. An operation that was
    cut off is finished. Do not adopt what a stranger sent you.

    Example: memctl state adopt --dry-run
    """
    from memctl.errors import RefusedError

    with options.opened() as store:
        store.refresh()
        found = store.local_state.unverified()
        if not current.json:
            _list(found)
        if found.entries and not dry_run:
            if not yes and not sys.stdin.isatty():
                raise RefusedError("to believe what came with a folder must be confirmed", hint="Add --yes.")
            if not yes:
                render.must_confirm("Do you know where all of this comes from, and adopt it?")
            found = store.local_state.adopt()
    if current.json:
        render.as_json(reports.adopted(found) | {"dry_run": dry_run})
    if found.entries and not dry_run:
        render.say(f"adopted {len(found.entries)} entries")


def _list(found: Adopted) -> None:
    for line in _lines(found.entries):
        render.say(line)
    for entry, reason in ((entry, reason) for entry, reason in found.left if not _end_of(entry)):
        render.say(f"{'left':<9}  {_described(entry)}: {plain.one_line(reason, _WIDTH)}")
    if not found.entries and not found.left:
        render.say("nothing here was written by anybody else")


def _lines(entries: Sequence[Entry]) -> list[str]:
    """A line for each entry; the end of an operation is told with its beginning."""
    finished = {op for entry in entries if (op := _end_of(entry))}
    lines = Counter(f"{entry.kind:<9}  {_described(entry, finished)}" for entry in entries if not _end_of(entry))
    # What is not finished yet first: adopting does something with it.
    shown = sorted(lines, key=lambda line: not line.endswith(_CUT_OFF))
    return [f"{line} ({lines[line]} of them)" if lines[line] > 1 else line for line in shown]


def _end_of(entry: Entry) -> str:
    from memctl.storage.files import journal
    from memctl.storage.files.local_state import OPERATIONS

    found = journal.parsed(entry.data) if entry.kind == OPERATIONS else None
    return str(found["op"]) if found and found["phase"] != operations.INTENT else ""


def _described(entry: Entry, finished: set[str] | None = None) -> str:
    from memctl.storage.files import journal
    from memctl.storage.files.local_state import OPERATIONS

    found = journal.parsed(entry.data) if entry.kind == OPERATIONS else None
    if not found or found["phase"] != operations.INTENT:
        return plain.one_line(entry.data.decode("utf-8", "replace") if entry.kind == OPERATIONS else entry.path, _WIDTH)
    cut = "" if finished is None or found["op"] in finished else _CUT_OFF
    return plain.one_line(f"{found.get('at', '')}  {found.get('command', '')}: {_touched(found)}", _WIDTH) + cut


def _touched(found: dict[str, Any]) -> str:
    """What an operation does, by what it holds: its command is only a name."""
    from memctl.storage.files import journal
    from memctl.storage.files.layout import path_of

    try:
        operation = journal.from_json(found)
    except (KeyError, TypeError, ValueError, AttributeError):
        return "cannot be read"
    records, files = operation.records, operation.texts
    parts = [
        ("purges for good", [*operation.erases[0], *operation.erases[1]] if operation.erases else []),
        ("removes", [s.memory_id for s in records if s.after is None]),
        ("deletes", [path_of(s.name) for s in files if s.after is None]),
        ("writes", [s.memory_id for s in records if s.after is not None]),
        ("writes", [path_of(s.name) for s in files if s.after is not None]),
        ("adds lines to", [line.log for line in operation.lines if line.added]),
        ("takes lines out of", [line.log for line in operation.lines if not line.added]),
        ("settles conflicts in", ["memory.json"] if operation.header else []),
    ]
    return "; ".join(f"{verb} {_few(names)}" for verb, names in parts if names) or "nothing"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


GROUP = options.Commands(
    "Show and adopt what this user did not write on this machine.\n\nExample: memctl state adopt --dry-run",
    {"show": show, "adopt": adopt},
    alone=_show_without_command,
)
