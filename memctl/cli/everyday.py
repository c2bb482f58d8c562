"""Everyday commands that change something: init, add, edit, forget, restore."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import TyperPath

from memctl.cli import options, render
from memctl.cli.ids import Id, ShownIds, complete_trashed, meant
from memctl.cli.options import AllowSecret, DryRun, current
from memctl.core.names import check_user_name
from memctl.present import plain, shapes

if TYPE_CHECKING:
    from memctl.core.records import Added
    from memctl.store import MemoryStore


def init(
    directory: Annotated[
        str | None,  # as it is typed: a Path would make `./x` and `x` the same
        typer.Argument(
            help="The store's folder; --store and its default otherwise.",
            metavar="[DIR]",
            click_type=TyperPath(path_type=str),
        ),
    ] = None,
    git: Annotated[bool, typer.Option("--git", help="Also make it ready for git, as `memctl git init` does.")] = False,
) -> None:
    """Make a store and a user.

    Example: memctl init ~/memories --user alice --git
    """
    import os
    import shlex

    from memctl import config
    from memctl.cli.git import made_ready
    from memctl.storage.files import layout

    current.store = directory or current.store
    root = options.store_root()
    name = current.user or os.environ.get(layout.USER_VARIABLE) or config.load(root).user or _login_name()
    check_user_name(name)
    new = make_settings(root)
    folder = layout.create_user(root, name)
    ready = made_ready(folder) if git else {}
    written = ready.get("files", [])
    if current.json:
        render.as_json({"store": str(root), "user": folder.name, "folder": str(folder.root), "git_files": written})
    render.say(f"{'made' if new else 'found'} the store {root}")
    render.say(f"user {folder.name}: {folder.memory_file}")
    if written:
        render.say(f"for git: {', '.join(written)}")
    if ready and ready["repository"]:
        render.say(f"{'made' if ready['new'] else 'found'} the repository {ready['repository']}")
    several = f" --user {folder.name}" if len(layout.users(root)) > 1 else ""
    render.say(f'next: memctl --store {shlex.quote(str(root))}{several} add "something to remember"')


_CONFIG = "# Settings of this memctl store. Every one is optional; `memctl config` lists them all.\n"


def make_settings(root: Path) -> bool:
    """Write the settings of a new store, which set nothing; False where there are any."""
    from memctl.storage.files import atomic, layout

    return atomic.create(root / layout.CONFIG_NAME, _CONFIG.encode())


def _login_name() -> str:
    import getpass

    from memctl.errors import MemctlError

    try:
        return check_user_name(getpass.getuser())
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
        typer.Option("--tag", "-t", help="A tag; a,b are two.", autocompletion=options.complete_tag),
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
    mode: Annotated[
        str,
        typer.Option(
            help="What a new value does to the old one: overwrite, append (a history), merge (fields of an object).",
            metavar="MODE", autocompletion=options.complete_mode,
        ),
    ] = "overwrite",
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
    allow_secret: AllowSecret = False,
    extract: Annotated[
        bool, typer.Option("--extract", help="Learn what a conversation tells about the user: text, a file, or -.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --extract: show what would be learned, and do nothing.")
    ] = False,
) -> None:  # fmt: skip
    """Remember something.

    The same text again is counted as a mention. With --key and --value a new value supersedes the old one.

    With --extract it reads a conversation, keeps what the user said about themselves, and sets apart as candidates what
    is not sure enough.

    Example: memctl add "Alice prefers tea to coffee" --category preference --tag drinks
    """
    from memctl.cli import bulk, extracting
    from memctl.errors import UsageError

    given = {
        "category": category, "subcategory": subcategory, "tags": options.tags(tag), "kind": kind, "key": key,
        "value": _value(value, mode), "importance": importance, "confidence": confidence, "source": source,
        "occurred_at": options.moment(occurred_at), "expires_at": options.expiry(expires_at), "pinned": pin or None,
    }  # fmt: skip
    fields: dict[str, Any] = {name: field for name, field in given.items() if field not in (None, "", ())}
    if dry_run and not extract:
        raise UsageError("--dry-run goes with --extract", hint="memctl add --extract chat.txt --dry-run")
    if extract:
        if fields or detail or jsonl or allow_duplicate:
            raise UsageError("--extract finds the fields itself", hint="Leave the other options out.")
        extracting.learn(text or [], dry_run, allow_secret)
        return
    if jsonl is not None:
        if text or fields or detail:
            raise UsageError(
                "--jsonl brings its own texts and fields", hint="Leave the text and the other options out."
            )
        bulk.add_jsonl(jsonl, allow_duplicate, allow_secret)
        return
    content = _content(text, key, value)
    with options.opened() as store:
        allowed: dict[str, Any] = {"allow_duplicate": allow_duplicate, "allow_secret": allow_secret}
        added = store.add(content, detail=_detail(detail), mode=mode, **allowed, **fields)
        _tell_added(store, added)


def _content(text: list[str] | None, key: str, value: str | None) -> str:
    from memctl.errors import UsageError

    if value is not None and not value.strip():
        raise UsageError("a fact needs a value", hint="memctl add --key city --value Lisbon")
    if bool(key) != (value is not None):
        raise UsageError("--key and --value belong together", hint="memctl add --key city --value Lisbon")
    if text == ["-"]:
        return options.standard_input()
    if text:
        return " ".join(text)
    if key:
        return f"{key}: {value}"
    raise UsageError("nothing to add", hint='memctl add "Alice prefers tea", or - to read standard input')


def _value(value: str | None, mode: str) -> Any:
    """The value of a fact as it was typed: text, or for `merge` an object in JSON."""
    import json

    from memctl.errors import UsageError
    from memctl.facts.rules import MERGE, MODES

    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}", hint=f"Modes: {', '.join(MODES)}.")
    if mode != MERGE or value is None:
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f"--mode merge needs an object in JSON, found {value!r}", hint="""--value '{"city": "Lisbon"}'"""
        )
    return found


def _detail(path: Path | None) -> str | None:
    from memctl.errors import InvalidDataError, NotFoundError
    from memctl.storage.files import atomic

    if path is None:
        return None
    data = atomic.read_given(path)
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
        render.as_json({"outcome": added.outcome, "memory": shapes.memory_json(memory), **told_more})
        return
    told = {
        "added": f"added {memory.memory_id}",
        "mentioned": f"known already: {memory.memory_id} (mentioned {memory.mentions} times)",
        "updated": f"updated {memory.memory_id}, superseding {', '.join(added.replaced)}",
    }
    render.say(told[added.outcome])
    for near in added.near:
        render.say(f"  much like {near}: {plain.one_line(store.get(near).content, 80)}")


def edit(
    memory_id: Id,
    reflection: Annotated[bool, typer.Option("--reflection", help="Edit its Markdown instead of the record.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Set a field without an editor.", metavar="FIELD=VALUE")
    ] = None,
    allow_secret: AllowSecret = False,
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
            outcome = editing.save(store, memory, changed, allow_secret)
        elif reflection:
            outcome = editing.edit_reflection(store, memory, allow_secret)
        else:
            outcome = editing.edit_record(store, memory, allow_secret)
    if current.json:
        render.as_json({"outcome": outcome, "memory_id": memory.memory_id})
    render.say(f"{outcome} {memory.memory_id}")


def forget(
    ids: ShownIds,
    purge: Annotated[
        bool, typer.Option("--purge", help="Really remove it, from every file; cannot be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a purge.")] = False,
    reason: Annotated[str, typer.Option(help="Why, for the trash.")] = "forgotten",
    dry_run: DryRun = False,
) -> None:
    """Move memories to the trash, and delete the messages that say them.

    The id of a message deletes it, with what was learned from it alone. `undo` brings all of it back, `restore` the
    memories; --purge really removes them.

    Example: memctl forget mem_20251214_1a2b
    """
    with options.opened() as store:
        if purge:
            _purge(store, [_findable(store, given) for given in ids], yes, dry_run)
            return
        wanted = [_memory_or_message(store, given) for given in ids]
        messages = [name for name in wanted if store.conversations.known([name])]
        memories = [name for name in wanted if name not in messages]
        said = store.messages_saying(wanted)
        gone = [store.get(m) for m in memories] if dry_run else store.forget(wanted, reason=reason)
    if current.json:
        going = [*messages, *said]
        render.as_json({"forgotten": [m.memory_id for m in gone], "messages": going, "dry_run": dry_run})
    for name in messages:
        render.say(f"{'would delete' if dry_run else 'deleted'} {name}, and what was learned from it alone")
    for memory in gone:
        render.say(
            f"{'would forget' if dry_run else 'forgot'} {memory.memory_id}: {plain.one_line(memory.content, 80)}"
        )
    for name in said:
        render.say(f"{'would delete' if dry_run else 'deleted'} {name}, which says it")
    if not dry_run:
        render.say(f"bring back with `memctl undo`{', or `memctl restore ID`' if gone else ''}")


def _findable(store: MemoryStore, given: str) -> str:
    """The whole id of what can be purged: a memory, also one in the trash, or a message, also a deleted one."""
    from memctl.errors import NotFoundError

    try:
        return store.engine.findable(given)
    except NotFoundError:
        if message_id := store.conversations.full_id(given) or (re.fullmatch(r"msg_[0-9a-f]{16}", given) and given):
            return message_id
        raise


def _memory_or_message(store: MemoryStore, given: str) -> str:
    """The whole id of a memory, else of a message.

    Raises:
        NotFoundError: there is neither.
    """
    from memctl.errors import NotFoundError

    try:
        return store.get(given).memory_id
    except NotFoundError:
        if message_id := store.conversations.full_id(given):
            return message_id
        raise


def _purge(store: MemoryStore, ids: list[str], yes: bool, dry_run: bool) -> None:
    """Show what a purge touches and leaves, ask, do it, and say what is left."""
    from memctl.errors import RefusedError
    from memctl.present.pages import purge_left, purge_plan, some_of

    if not yes and not dry_run and not sys.stdin.isatty():
        raise RefusedError("a purge cannot be undone, so it must be confirmed", hint="Add --yes.")
    report = store.purge(ids, dry_run=True, look=dry_run or not yes)
    render.lines((*purge_plan(report, dry_run), *purge_left(report)))
    if not dry_run:
        if not yes:
            files = "".join(f"\n  {each.path} {each.action}" for each in report.files) if current.json else ""
            question = f"Remove {some_of(ids)} for good, from every file?{files}\nThis cannot be undone."
            render.must_confirm(question)
        report = store.purge(ids, expected=report)
    if current.json:
        render.as_json(vars(report) | {"files": [vars(each) for each in report.files], "dry_run": dry_run})
    elif not dry_run:
        render.lines((f"purged {some_of(report.ids)}", *purge_left(report)))


def restore(
    ids: Annotated[
        list[str],
        typer.Argument(
            help="Ids of archived or forgotten memories.",
            metavar="ID...",
            autocompletion=complete_trashed,
            callback=meant,
        ),
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", help="Make it what it was: at a time, after an operation, in a git revision.", metavar="REV"
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Bring back what was archived or forgotten.

    With --from one memory becomes what it was in any revision, its reflection with it.

    Example: memctl restore mem_20251214_1a2b; memctl restore mem_20251214_1a2b --from HEAD~3
    """
    if from_ is not None:
        from memctl.cli import history

        history.restore_from(ids, from_, dry_run)
        return
    with options.opened() as store:
        back = store.restore(ids, dry_run=dry_run)
    if current.json:
        render.as_json({"dry_run": dry_run, "restored": [m.memory_id for m in back]})
    for memory in back:
        render.say(
            f"{'would restore' if dry_run else 'restored'} {memory.memory_id}: {plain.one_line(memory.content, 80)}"
        )
