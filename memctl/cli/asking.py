"""Asking: query, show, list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from memctl.cli import options, render
from memctl.cli.ids import ShownIds, numbered, shown_ids
from memctl.cli.options import Category, Kind, Since, Tag, Until, current
from memctl.cli.reranking import Rerank, reranker
from memctl.present import answer, plain, shapes

if TYPE_CHECKING:
    from datetime import datetime

    from memctl.core.kept import KeptMessage
    from memctl.core.models import Filters, Memory, Owned, Query, QueryResult, Reflection
    from memctl.core.selection import Selection
    from memctl.store import MemoryStore


def query(
    text: Annotated[list[str], typer.Argument(help="The question; - reads standard input.", metavar="TEXT")],
    top: Annotated[int | None, typer.Option("--top", "-n", help="How many hits at most.", min=1, max=1000)] = None,
    category: Category = None,
    kind: Kind = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    as_of: options.AsOf = None,
    valid_at: options.ValidAt = None,
    only: Annotated[
        str,
        typer.Option(
            "--only", help="Only memories, messages or documents.", autocompletion=options.complete_part, metavar="PART"
        ),
    ] = "",
    min_score: Annotated[
        float,
        typer.Option(
            "--min-relevance", "--min-score", help="Leave out hits less relevant than this, 0 to 1.", min=0, max=1
        ),
    ] = 0.0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each hit earned its place, and the route.")
    ] = False,
    no_route: Annotated[bool, typer.Option("--no-route", help="Search everything alike.")] = False,
    md: Annotated[
        bool, typer.Option("--md", help="Print Markdown to paste in a prompt, memories fenced as data.")
    ] = False,
    rerank: Rerank = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail rather than give a degraded answer.")] = False,
    with_: options.With = None,
    now: options.Now = None,
) -> None:
    """Ask what is known about something, and what was said of it.

    The answer holds memories, messages of conversations, and passages of documents; --only chooses.
    With --with the memories of other users are asked too, and nothing of theirs is changed.

    Example: memctl query "what does Alice drink?" --top 5 --explain
    """
    from memctl.core.models import Query

    question = options.standard_input() if text == ["-"] else " ".join(text)
    then, revision = options.time_or_revision(as_of)
    valid = options.end_of_day(valid_at)
    filters = _filters(category, kind, tag, since, until, as_of=then, valid_at=valid, only=_part(only, revision))
    with options.opened_with(with_) as (store, shared):
        stores, ask = (list(shared.stores.values()), shared.query) if shared else ([store], store.query)
        options.check_categories(stores[0], category, *stores[1:])
        options.check_kinds(stores[0], kind, *stores[1:])
        top = top or stores[0].settings.query_top
        asked = Query(question, top, filters, min_score, not no_route, reranker(rerank, stores[0].settings))
        if revision:
            result = _of_revision(stores, asked, revision, strict, options.moment(now))
        else:
            result = ask(asked, strict=strict, now=options.moment(now))
        texts = _texts(stores, result) if md else ()
        numbered(store, [answer.owned_id(hit) for hit in result.hits])
    if md:
        render.query_markdown(result, texts)
    else:
        render.query_result(result, explain)


def _texts(stores: Sequence[MemoryStore], result: QueryResult) -> list[str]:
    """The hits as a prompt shows them; those of another revision without reflections, which are of today."""
    from memctl.context.shown import text_of

    owners = {store.user: store for store in stores}
    if result.origin:
        return [text_of(hit.memory) for hit in result.hits]
    found = [owners.get(hit.owner, stores[0]).context.shown(hit, result.query.text) for hit in result.hits]
    return ["\n".join(filter(None, parts)) for parts in found]


def _part(only: str, revision: str) -> str:
    """What `--only` names.

    Raises:
        UsageError: there is no such part, or a revision does not hold it.
    """
    from memctl.core.models import MEMORIES, PARTS
    from memctl.errors import UsageError

    if only and only not in PARTS:
        raise UsageError(f"an answer has no part {only!r}", hint=f"Parts: {', '.join(PARTS)}.")
    if revision and only not in ("", MEMORIES):
        hint = "Give a date to --as-of: messages are known by when they were received."
        raise UsageError(f"a revision holds memories alone, no {only}", hint=hint)
    return only


def _of_revision(
    stores: Sequence[MemoryStore], asked: Query, revision: str, strict: bool, now: datetime | None
) -> QueryResult:
    from memctl.errors import DegradedError, UsageError

    if len(stores) > 1:
        raise UsageError("the memories of others have other revisions", hint="Ask without --with, or as of a date.")
    result = stores[0].history.query(asked, revision, now=now)
    if strict and result.degraded:
        raise DegradedError("; ".join(result.degraded))
    return result


def show(
    ids: ShownIds,
    history: Annotated[bool, typer.Option("--history", help="Also the earlier values of a fact.")] = False,
) -> None:
    """Print memories with their reflections, and messages with what was said before and after.

    Example: memctl show mem_20251214_1a2b
    """
    from memctl.present.pages import conversation, memory_page

    with options.opened() as store:
        found = [_shown(store, given, history) for given in ids]
    if current.json:
        render.as_json([page for each in found for page in _pages_json(each)])
        return
    for each in found:
        if isinstance(each, Said):
            render.lines(conversation(each.messages, full=True, asked=each.message_id))
        else:
            for memory, reflection, problem in each:
                render.lines(memory_page(memory, reflection, problem))


class Said(NamedTuple):
    """A message and those around it."""

    message_id: str
    messages: list[KeptMessage]


Pages = list[tuple["Memory", "Reflection | None", str]]


def _shown(store: MemoryStore, given: str, history: bool) -> Said | Pages:
    """What an id names: a memory with its reflection, and the earlier values of a fact; or a message."""
    from memctl.errors import NotFoundError

    try:
        memory = store.get(given)
    except NotFoundError:
        if not (message_id := store.conversations.full_id(given)):
            raise
        return Said(message_id, store.conversations.neighbours(message_id))
    shown = store.engine.lineage(memory) if history else [memory]
    return [(one, *store.engine.readable_reflection(one)) for one in shown]


def _pages_json(found: Said | Pages) -> list[dict[str, Any]]:
    if isinstance(found, Said):
        texts = [shapes.message_json(message) for message in found.messages]
        return [{"message_id": found.message_id, "messages": texts}]
    pages = [(shapes.memory_json(m), r.body if r else None, p) for m, r, p in found]
    return [{**m, "reflection": body, "problem": problem} for m, body, problem in pages]


def list_memories(
    category: Category = None,
    kind: Kind = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    as_of: options.AsOf = None,
    valid_at: options.ValidAt = None,
    subcategory: Annotated[str, typer.Option(help="Only this subcategory.")] = "",
    key: Annotated[str, typer.Option(help="Only facts with this key.")] = "",
    source: Annotated[str, typer.Option(help="Only from this source.")] = "",
    pinned: Annotated[bool, typer.Option("--pinned", help="Only pinned ones.")] = False,
    needs_revision: Annotated[bool, typer.Option("--needs-revision", help="Only those marked for revision.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="What has faded; `restore` brings it back.")] = False,
    superseded: Annotated[bool, typer.Option("--superseded", help="Values that others replaced.")] = False,
    candidates: Annotated[bool, typer.Option("--candidates", help="What is not confirmed yet.")] = False,
    trash: Annotated[bool, typer.Option("--trash", help="What was forgotten or has expired.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Whatever the status.")] = False,
    sort: Annotated[
        str,
        typer.Option(
            autocompletion=options.complete_sort,
            help="created, updated, occurred, importance, confidence, reward, used or text.",
        ),
    ] = "created",
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="How many; 0 for all. 50 on a terminal, else all.", min=0)
    ] = None,
    offset: Annotated[int, typer.Option(help="How many to step over.", min=0)] = 0,
    with_: options.With = None,
) -> None:
    """List memories.

    With --with those of other users are listed too, as USER/ID.

    Example: memctl list --category preference --sort importance --limit 20
    """
    from memctl.core.models import ACTIVE, ARCHIVED, CANDIDATE, SUPERSEDED, Owned
    from memctl.core.selection import SORTS, Selection
    from memctl.errors import UsageError

    if sort not in SORTS:
        raise UsageError(f"cannot sort by {sort!r}", hint=f"Sort by {', '.join(SORTS)}.")
    wanted = tuple(s for s, on in ((ARCHIVED, archived), (SUPERSEDED, superseded), (CANDIDATE, candidates)) if on)
    statuses = () if every else wanted or (ACTIVE,)
    flags: dict[str, Any] = {"expired": every, "pinned": pinned or None, "needs_revision": needs_revision or None}
    then, revision = options.time_or_revision(as_of)
    flags |= {"as_of": then, "valid_at": options.end_of_day(valid_at), "statuses": statuses}
    filters = _filters(category, kind, tag, since, until, **flags)
    chosen = Selection(filters, subcategory, key, source, sort, ascending, None, 0)
    if with_ and (trash or revision):
        raise UsageError("of others only the present memories are listed", hint="Leave --with out.")
    with options.opened_with(with_) as (store, shared):
        if trash:
            _list_trash(store)
            return
        others = list(shared.stores.values())[1:] if shared else []
        options.check_categories(store, category, *others)
        options.check_kinds(store, kind, *others)
        if shared:
            _print_list(store, shared.select(chosen), limit, offset, "the records" if then else "")
            return
        found, origin = (
            (store.select(chosen), "the records" if then else "") if not revision else _listed(store, chosen, revision)
        )
        _print_list(store, [Owned(memory) for memory in found], limit, offset, origin)


def _listed(store: MemoryStore, chosen: Selection, revision: str) -> tuple[list[Memory], str]:
    found, past = store.history.select(chosen, revision)
    render.degraded(past.warnings)
    return found, str(past)


ON_A_TERMINAL = 50
"""How many memories a list shows to a person who gave no limit; a program gets all of them."""


def _print_list(store: MemoryStore, found: Sequence[Owned], limit: int | None, offset: int, origin: str) -> None:
    limit = limit if limit is not None or not render.on_terminal() else ON_A_TERMINAL
    page = found[offset : offset + limit if limit else None]
    if current.json:
        told = {"as_of": origin} if origin else {}
        shown = [{**shapes.memory_json(m.memory), **({"user": m.owner} if m.owner else {})} for m in page]
        render.as_json({"total": len(found), "offset": offset, **told, "memories": shown})
        return
    if origin:
        render.warn(f"as of: {origin}")
    from memctl.present.pages import MEMORY_COLUMNS, memory_rows

    rows = memory_rows([owned.memory for owned in page], shown_ids(store, [owned.name for owned in page]))
    render.numbered_table(MEMORY_COLUMNS, rows, right=(4,))
    if offset + len(page) < len(found) and render.on_terminal():
        render.say(f"{offset + 1}–{offset + len(page)} of {len(found)}; more with --offset {offset + len(page)}")


def _list_trash(store: MemoryStore) -> None:
    found = store.engine.storage.trashed()
    if current.json:
        render.as_json(
            [{"memory": shapes.memory_json(t.memory), "trashed_at": t.trashed_at, "reason": t.reason} for t in found]
        )
        return
    from memctl.present.pages import LISTED

    rows = [
        (name, plain.day(t.trashed_at), t.reason, plain.one_line(t.memory.content, LISTED))
        for name, t in zip(shown_ids(store, [t.memory.memory_id for t in found]), found, strict=True)
    ]
    render.numbered_table(("id", "since", "why", "text"), rows)


def _filters(category: Any, kind: Any, tag: Any, since: str | None, until: str | None, **more: Any) -> Filters:
    from memctl.core.models import Filters

    return Filters(
        tuple(category or ()), tuple(kind or ()), options.tags(tag),
        since=options.moment(since), until=options.moment(until), **more,
    )  # fmt: skip
