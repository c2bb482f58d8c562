"""Everyday commands: init, add, query, show, list, edit, forget, restore, undo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import options, render
from memctl.cli.options import Category, DryRun, Id, Ids, Kind, Since, Tag, Until, current

if TYPE_CHECKING:
    from memctl.lifecycle.adding import Added
    from memctl.models import Filters, Memory
    from memctl.store import MemoryStore


def init(
    directory: Annotated[
        Path | None, typer.Argument(help="The store's folder; --store and its default otherwise.", metavar="[DIR]")
    ] = None,
    git: Annotated[bool, typer.Option("--git", help="Also write .gitignore and .gitattributes.")] = False,
) -> None:
    """Make a store and a user.

    Example: memctl init ~/memories --user alice --git
    """
    import os

    from memctl import config
    from memctl.files import atomic, layout

    root = directory.expanduser().absolute() if directory else options.store_root()
    name = current.user or os.environ.get(layout.USER_VARIABLE) or config.load(root).user or _login_name()
    layout.check_user_name(name)
    new = not (root / layout.CONFIG_NAME).exists()
    if new:
        atomic.replace(root / layout.CONFIG_NAME, _CONFIG.encode())
    folder = layout.create_user(root, name)
    written = layout.prepare_git(folder) if git else []
    if current.json:
        render.as_json({"store": str(root), "user": folder.name, "folder": str(folder.root), "git_files": written})
    render.say(f"{'made' if new else 'found'} the store {root}")
    render.say(f"user {folder.name}: {folder.memory_file}")
    if written:
        render.say(f"for git: {', '.join(written)}")
    several = f" --user {folder.name}" if len(layout.users(root)) > 1 else ""
    render.say(f'next: memctl --store {root}{several} add "something to remember"')


_CONFIG = "# Settings of this memctl store. Every one is optional; `memctl config` lists them all.\n"


def _login_name() -> str:
    import getpass

    from memctl.errors import MemctlError
    from memctl.files import layout

    try:
        return layout.check_user_name(getpass.getuser())
    except (OSError, KeyError, MemctlError):
        return "me"


def add(
    text: Annotated[
        list[str] | None, typer.Argument(help="What to remember; - reads standard input.", metavar="TEXT")
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            "--category", "-c", help="work, life, preference, emotion, strategy, or one of yours.",
            autocompletion=options.complete_category,
        ),
    ] = None,
    subcategory: Annotated[str, typer.Option(help="A finer category, of your own.")] = "",
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="A tag; may be repeated.", autocompletion=options.complete_tag),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", "-k", help="fact, preference, episode, knowledge or strategy.",
            autocompletion=options.complete_kind,
        ),
    ] = None,
    key: Annotated[str, typer.Option(help="Name of a fact with one value at a time, such as city.")] = "",
    value: Annotated[str | None, typer.Option(help="The value of that fact.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.", min=0, max=1, metavar="NUMBER")] = None,
    confidence: Annotated[float | None, typer.Option(help="0 to 1.", min=0, max=1, metavar="NUMBER")] = None,
    source: Annotated[str, typer.Option(help="Where it comes from; user otherwise.", metavar="TEXT")] = "",
    occurred_at: Annotated[str | None, typer.Option(help="When it happened.", metavar="TIME")] = None,
    expires_at: Annotated[str | None, typer.Option(help="From when on it is no longer true.", metavar="TIME")] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Never let it fade.")] = False,
    detail: Annotated[Path | None, typer.Option(help="A Markdown file to keep with it.")] = None,
    jsonl: Annotated[
        Path | None, typer.Option(help="Add one memory a line from this file (- for standard input).")
    ] = None,
    allow_duplicate: Annotated[
        bool, typer.Option("--allow-duplicate", help="Store it even if the same text is there.")
    ] = False,
) -> None:  # fmt: skip
    """Remember something.

    The same text again is counted as a mention. With --key and --value a new value supersedes the old one.

    Example: memctl add "Alice prefers tea to coffee" --category preference --tag drinks
    """
    from memctl.cli import bulk
    from memctl.errors import UsageError

    given = {
        "category": category, "subcategory": subcategory, "tags": tuple(tag or ()), "kind": kind, "key": key,
        "value": value, "importance": importance, "confidence": confidence, "source": source,
        "occurred_at": options.moment(occurred_at), "expires_at": options.expiry(expires_at), "pinned": pin or None,
    }  # fmt: skip
    fields: dict[str, Any] = {name: field for name, field in given.items() if field not in (None, "", ())}
    if jsonl is not None:
        if text or fields or detail:
            raise UsageError(
                "--jsonl brings its own texts and fields", hint="Leave the text and the other options out."
            )
        bulk.add_jsonl(jsonl, allow_duplicate)
        return
    content = _content(text, key, value)
    with options.opened() as store:
        added = store.add(content, detail=_detail(detail), allow_duplicate=allow_duplicate, **fields)
        _tell_added(store, added)


def _content(text: list[str] | None, key: str, value: str | None) -> str:
    from memctl.errors import UsageError

    if bool(key) != (value is not None):
        raise UsageError("--key and --value belong together", hint="memctl add --key city --value Lisbon")
    if text == ["-"]:
        return _standard_input()
    if text:
        return " ".join(text)
    if key:
        return f"{key}: {value}"
    raise UsageError("nothing to add", hint='memctl add "Alice prefers tea", or - to read standard input')


def _standard_input() -> str:
    from memctl.errors import InvalidDataError

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip("\n")
    except UnicodeDecodeError as problem:
        raise InvalidDataError(f"standard input is not valid UTF-8 (byte {problem.start})") from None


def _detail(path: Path | None) -> str | None:
    from memctl.errors import InvalidDataError, NotFoundError
    from memctl.files import atomic

    if path is None:
        return None
    data = atomic.read(path)
    if data is None:
        raise NotFoundError(f"no file {path}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidDataError("is not valid UTF-8", path=str(path)) from None


def _tell_added(store: MemoryStore, added: Added) -> None:
    memory = added.memory
    if current.json:
        told_more = {"replaced": list(added.replaced), "near": list(added.near)}
        render.as_json({"outcome": added.outcome, "memory": render.memory_json(memory), **told_more})
        return
    told = {
        "added": f"added {memory.memory_id}",
        "mentioned": f"known already: {memory.memory_id} (mentioned {memory.mentions} times)",
        "updated": f"updated {memory.memory_id}, superseding {', '.join(added.replaced)}",
    }
    render.say(told[added.outcome])
    for near in added.near:
        render.say(f"  much like {near}: {render.one_line(store.get(near).content, 80)}")


def _filters(category: Any, kind: Any, tag: Any, since: str | None, until: str | None, **more: Any) -> Filters:
    from memctl.errors import UsageError
    from memctl.models import KINDS, Filters

    for name in kind or ():
        if name not in KINDS:
            raise UsageError(f"there is no kind {name!r}", hint=f"Kinds: {', '.join(KINDS)}.")
    return Filters(
        tuple(category or ()), tuple(kind or ()), tuple(tag or ()),
        since=options.moment(since), until=options.moment(until), **more,
    )  # fmt: skip


def query(
    text: Annotated[list[str], typer.Argument(help="The question; - reads standard input.", metavar="TEXT")],
    top: Annotated[int | None, typer.Option("--top", "-n", help="How many hits at most.", min=1, max=1000)] = None,
    category: Category = None,
    kind: Kind = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    min_score: Annotated[
        float, typer.Option(help="Leave out hits less relevant than this, 0 to 1.", min=0, max=1)
    ] = 0.0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each hit earned its place, and the route.")
    ] = False,
    no_route: Annotated[bool, typer.Option("--no-route", help="Search everything alike.")] = False,
    md: Annotated[
        bool, typer.Option("--md", help="Print Markdown to paste in a prompt, memories fenced as data.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail rather than give a degraded answer.")] = False,
    now: options.Now = None,
) -> None:
    """Ask what is known about something.

    Example: memctl query "what does Alice drink?" --top 5 --explain
    """
    from memctl.models import Query

    question = _standard_input() if text == ["-"] else " ".join(text)
    filters = _filters(category, kind, tag, since, until)
    with options.opened() as store:
        options.check_categories(store, category)
        asked = Query(question, top or store.settings.query_top, filters, min_score, not no_route)
        result = store.query(asked, strict=strict, now=options.moment(now))
    if md:
        render.query_markdown(result)
    else:
        render.query_result(result, explain)


def show(
    ids: Ids,
    history: Annotated[bool, typer.Option("--history", help="Also the earlier values of a fact.")] = False,
) -> None:
    """Print memories with their reflections.

    Example: memctl show mem_20251214_1a2b
    """
    with options.opened() as store:
        shown = [store.get(memory_id) for memory_id in ids]
        if history:
            shown = [one for memory in shown for one in store.lineage(memory)]
        documents = [(memory, *store.readable_reflection(memory)) for memory in shown]
    if current.json:
        pages = [(render.memory_json(m), r.body if r else None, p) for m, r, p in documents]
        render.as_json([{**m, "reflection": body, "problem": problem} for m, body, problem in pages])
        return
    from memctl.cli.views import memory_page

    for memory, reflection, problem in documents:
        memory_page(memory, reflection, problem)


def list_memories(
    category: Category = None,
    kind: Kind = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
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
        str, typer.Option(help="created, updated, occurred, importance, confidence, reward, used or text.")
    ] = "created",
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many; 0 for all.", min=0)] = 50,
    offset: Annotated[int, typer.Option(help="How many to step over.", min=0)] = 0,
) -> None:
    """List memories.

    Example: memctl list --category preference --sort importance --limit 20
    """
    from memctl.errors import UsageError
    from memctl.models import ACTIVE, ARCHIVED, CANDIDATE, SUPERSEDED
    from memctl.selection import SORTS, Selection

    if sort not in SORTS:
        raise UsageError(f"cannot sort by {sort!r}", hint=f"Sort by {', '.join(SORTS)}.")
    wanted = tuple(s for s, on in ((ARCHIVED, archived), (SUPERSEDED, superseded), (CANDIDATE, candidates)) if on)
    statuses = () if every else wanted or (ACTIVE,)
    flags = {"pinned": pinned or None, "needs_revision": needs_revision or None}
    filters = _filters(category, kind, tag, since, until, statuses=statuses, **flags)
    chosen = Selection(filters, subcategory, key, source, sort, ascending, None, 0)
    with options.opened() as store:
        if trash:
            _list_trash(store)
            return
        options.check_categories(store, category)
        found = store.select(chosen)
    _print_list(found[offset : offset + limit if limit else None], len(found), offset)


def _print_list(page: list[Memory], total: int, offset: int) -> None:
    if current.json:
        render.as_json({"total": total, "offset": offset, "memories": [render.memory_json(m) for m in page]})
        return
    from memctl.cli.views import memory_table

    memory_table(page)
    if offset + len(page) < total and render.on_terminal():
        render.say(f"{offset + 1}–{offset + len(page)} of {total}; more with --offset {offset + len(page)}")


def _list_trash(store: MemoryStore) -> None:
    found = store.trashed()
    if current.json:
        render.as_json(
            [{"memory": render.memory_json(t.memory), "trashed_at": t.trashed_at, "reason": t.reason} for t in found]
        )
        return
    rows = [
        (t.memory.memory_id, render.day(t.trashed_at), t.reason, render.one_line(t.memory.content, 80)) for t in found
    ]
    render.table(("id", "since", "why", "text"), rows)


def edit(
    memory_id: Id,
    reflection: Annotated[bool, typer.Option("--reflection", help="Edit its Markdown instead of the record.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Set a field without an editor.", metavar="FIELD=VALUE")
    ] = None,
) -> None:
    """Change a memory in $EDITOR.

    Opens a YAML view of the record, or with --reflection its Markdown. What you wrote is checked first; if it is wrong,
    the draft is kept and opened again the next time.

    Example: memctl edit mem_20251214_1a2b --set importance=0.9
    """
    from memctl.cli import editing

    with options.opened() as store:
        memory = store.get(memory_id)
        if set_:
            changed = editing.with_fields(memory, set_)
            outcome = editing.save(store, memory, changed)
        elif reflection:
            outcome = editing.edit_reflection(store, memory)
        else:
            outcome = editing.edit_record(store, memory)
    if current.json:
        render.as_json({"outcome": outcome, "memory_id": memory.memory_id})
    render.say(f"{outcome} {memory.memory_id}")


def forget(
    ids: Ids,
    purge: Annotated[
        bool, typer.Option("--purge", help="Really remove it, from every file; cannot be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a purge.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for the trash.")] = "forgotten",
    dry_run: DryRun = False,
) -> None:
    """Move memories to the trash.

    `restore` and `undo` bring them back; --purge really removes them.

    Example: memctl forget mem_20251214_1a2b
    """
    with options.opened() as store:
        wanted = [store.findable(memory_id) for memory_id in ids] if purge else [store.get(m).memory_id for m in ids]
        if purge:
            _purge(store, wanted, yes, dry_run)
            return
        gone = [store.get(m) for m in wanted] if dry_run else store.forget(wanted, reason=reason)
    if current.json:
        render.as_json({"forgotten": [m.memory_id for m in gone], "dry_run": dry_run})
    for memory in gone:
        render.say(
            f"{'would forget' if dry_run else 'forgot'} {memory.memory_id}: {render.one_line(memory.content, 80)}"
        )
    if not dry_run:
        render.say("bring back with `memctl undo`, or `memctl restore ID`")


def _purge(store: MemoryStore, ids: list[str], yes: bool, dry_run: bool) -> None:
    from memctl.errors import RefusedError

    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise RefusedError("a purge cannot be undone, so it must be confirmed", hint="Add --yes.")
        typer.confirm(
            f"Remove {', '.join(ids)} for good, from every file? This cannot be undone.", abort=True, err=True
        )
    report = store.purge(ids, dry_run=dry_run)
    if current.json:
        render.as_json(vars(report) | {"dry_run": dry_run})
        return
    from memctl.cli.views import purge_report

    purge_report(report, dry_run)


def restore(
    ids: Annotated[list[str], typer.Argument(help="Ids of archived or forgotten memories.", metavar="ID...")],
) -> None:
    """Bring back what was archived or forgotten.

    Example: memctl restore mem_20251214_1a2b
    """
    with options.opened() as store:
        back = store.restore(ids)
    if current.json:
        render.as_json({"restored": [m.memory_id for m in back]})
    for memory in back:
        render.say(f"restored {memory.memory_id}: {render.one_line(memory.content, 80)}")


def undo() -> None:
    """Take back the last change.

    Example: memctl undo
    """
    with options.opened() as store:
        operation = store.undo()
    if current.json:
        render.as_json(
            {"undone": operation.op, "command": operation.command, "records": [s.memory_id for s in operation.records]}
        )
    what = ", ".join(step.memory_id for step in operation.records[:5]) or ", ".join(f.path for f in operation.files[:5])
    more = len(operation.records) - 5
    render.say(f"undid `{operation.command}` of {operation.at}: {what}{f' and {more} more' if more > 0 else ''}")
