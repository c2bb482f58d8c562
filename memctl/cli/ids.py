"""Ids on the command line: whole ones, their beginnings and endings, and the rows of the last list."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options
from memctl.cli.options import current
from memctl.present import plain

if TYPE_CHECKING:
    from memctl.core.models import Memory
    from memctl.store import MemoryStore

Offered = list[tuple[str, str]]
"""What a shell may complete, each with a text beside it."""

_ROW = re.compile(r"@\d{1,6}")
_MOST_OFFERED = 50
_EVERY = 10_000_000
_BESIDE = 60
"""Characters of a memory that stand beside its id in a shell."""


def numbered(store: MemoryStore, ids: Sequence[str]) -> None:
    """Remember the rows of a list, for `@1` and so on; not those of a document in JSON."""
    from memctl.storage.files import last_list

    if not current.json:
        last_list.note(store.folder, ids)


def meant(typed: Any) -> Any:
    """The id, or the ids, that were typed, with `@3` as the third row of the last list.

    Raises:
        NotFoundError: that list has no such row.
    """
    if isinstance(typed, str):
        return _of_row(typed) if _ROW.fullmatch(typed) else typed
    return [meant(each) for each in typed] if typed else typed


def _of_row(typed: str) -> str:
    from memctl.bootstrap import open_store
    from memctl.errors import NotFoundError
    from memctl.storage.files import last_list

    with open_store(current.store, current.user) as store:
        rows = last_list.rows(store.folder)
    number = int(typed[1:])
    if 1 <= number <= len(rows):
        return rows[number - 1]
    had = f"the last list has {len(rows)}" if rows else "there is no last list"
    raise NotFoundError(
        f"no row {typed}: {had}", hint="@1 is the first row that `memctl list` or `query` printed last."
    )


def shown_ids(store: MemoryStore, ids: Sequence[str], *, remember: bool = True) -> list[str]:
    """The ids of the rows of a list: whole in a pipe, on a terminal their ends as far as they differ from all others.

    They are remembered, for `@1` and so on, but for those of a dry run, which leaves no trace.
    """
    from memctl.cli import render
    from memctl.core.ids import SHOWN, shortened

    if remember:
        numbered(store, ids)
    if not render.on_terminal():
        return list(ids)
    view = store.engine.view()
    ends = shortened([*view.ids_around(ids, SHOWN), *ids])
    return [name if len(ends[name]) > SHOWN and view.ids_starting(ends[name], 1) else ends[name] for name in ids]


def complete_id(incomplete: str) -> Offered:
    """Memory ids for the shell: their ends, which differ, or whole ones that were begun; `@` for the last list."""
    return _completed(lambda store: _like(store, incomplete))


def complete_shown_id(incomplete: str) -> Offered:
    """As `complete_id`, and, from the first letters on, the ids of messages."""
    return _completed(lambda store: [*_like(store, incomplete), *_messages(store, incomplete)])


def complete_trashed(incomplete: str) -> Offered:
    """Ids of what can be restored, for the shell."""

    def restorable(store: MemoryStore) -> Offered:
        found = [
            *(t.memory for t in store.engine.storage.trashed()),
            *(m for m in store.all() if m.status == "archived"),
        ]
        gone = {memory.memory_id: memory for memory in found}
        return _chosen(gone.get, list(gone), incomplete)

    return _completed(restorable)


def _completed(answer: Callable[[MemoryStore], Offered]) -> Offered:
    """An answer for the shell; nothing where there is an error, for a prompt is no place for it."""
    try:
        with options.opened(quiet=True) as store:
            store.refresh()
            return answer(store)
    except Exception:
        return []


def _like(store: MemoryStore, incomplete: str) -> Offered:
    if incomplete.startswith("@"):
        return _rows(store)
    return _chosen(store.engine.view().get, store.engine.view().ids_starting("", _EVERY), incomplete)


def _chosen(get: Callable[[str], Memory | None], ids: Sequence[str], incomplete: str) -> Offered:
    """The newest ids as a terminal shows them, of those that go on so; else whole ones."""
    from memctl.core.ids import shortened

    newest = sorted(shortened(ids).items(), reverse=True)
    found = [(end, name) for name, end in newest if end.startswith(incomplete)]
    found = found or [(name, name) for name, _ in newest if name.startswith(incomplete)]
    return [(typed, _beside(get(name))) for typed, name in found[:_MOST_OFFERED]]


def _rows(store: MemoryStore) -> Offered:
    from memctl.storage.files import last_list

    rows = enumerate(last_list.rows(store.folder)[:_MOST_OFFERED], 1)
    return [(f"@{number}", _beside(store.engine.view().get(name)) or name) for number, name in rows]


def _messages(store: MemoryStore, incomplete: str) -> Offered:
    found = store.conversations.ids_starting(incomplete)[:_MOST_OFFERED] if incomplete else []
    return [(name, "a message") for name in found]


def _beside(memory: Memory | None) -> str:
    return plain.one_line(memory.content, _BESIDE) if memory else ""


Id = Annotated[
    str,
    typer.Argument(
        help="A memory's id, its end, or @1 for the first row of the last list.",
        autocompletion=complete_id, callback=meant, metavar="ID",
    ),
]  # fmt: skip
Ids = Annotated[
    list[str],
    typer.Argument(
        help="Ids of memories, their ends, or @1 and so on.",
        autocompletion=complete_id, callback=meant, metavar="ID...",
    ),
]  # fmt: skip
ShownIds = Annotated[
    list[str],
    typer.Argument(
        help="Ids of memories or messages, their ends, or @1 and so on.",
        autocompletion=complete_shown_id, callback=meant, metavar="ID...",
    ),
]  # fmt: skip
OptionalIds = Annotated[
    list[str] | None,
    typer.Argument(
        help="Ids of memories, their ends, or @1 and so on.",
        autocompletion=complete_id, callback=meant, metavar="[ID...]",
    ),
]  # fmt: skip
