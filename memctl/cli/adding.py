"""`add`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import choices, inputs, render
from memctl.cli.opening import opened
from memctl.cli.options import AllowSecret, Speaker
from memctl.present import plain, shapes

if TYPE_CHECKING:
    from memctl.core.records import Added
    from memctl.store import MemoryStore


def add(
    text: Annotated[
        list[str] | None, typer.Argument(help="What to remember; - reads standard input.", metavar="TEXT...")
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            "--category", "-c", help="work, life (the default), preference, emotion, strategy, or one of yours.",
            autocompletion=choices.category,
        ),
    ] = None,
    subcategory: Annotated[str, typer.Option(help="A finer category, of your own.")] = "",
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="A tag; a,b are two.", autocompletion=choices.tag),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", "-k", help="fact, preference, episode, knowledge or strategy; by default what fits the category.",
            autocompletion=choices.kind,
        ),
    ] = None,
    key: Annotated[str, typer.Option(help="Name of a fact with one value at a time, such as city.")] = "",
    value: Annotated[str | None, typer.Option(help="The value of that fact.")] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="What a new value does to the old one: overwrite, append (a history), merge (fields of an object).",
            metavar="MODE", autocompletion=choices.mode,
        ),
    ] = "overwrite",
    importance: Annotated[float | None, typer.Option(help="How important.", min=0, max=1, metavar="NUMBER")] = None,
    confidence: Annotated[float | None, typer.Option(help="How sure it is.", min=0, max=1, metavar="NUMBER")] = None,
    source: Annotated[str, typer.Option(help="Where it comes from; default: user.", metavar="TEXT")] = "",
    occurred_at: Annotated[str | None, typer.Option(help="When it happened.", metavar="TIME")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it stops being true.", metavar="TIME")] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Never let it fade.")] = False,
    detail: Annotated[Path | None, typer.Option(help="A Markdown file to keep with it.")] = None,
    jsonl: Annotated[
        Path | None, typer.Option(help="Add one memory a line from this file (- for standard input).")
    ] = None,
    allow_duplicate: Annotated[
        bool, typer.Option("--allow-duplicate", help="Store it even if the text is already known.")
    ] = False,
    allow_secret: AllowSecret = False,
    extract: Annotated[
        bool, typer.Option("--extract", help="Learn about the user from a conversation: text, a file, or -.")
    ] = False,
    speaker: Speaker = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --extract: show what would be learned without storing it.")
    ] = False,
) -> None:  # fmt: skip
    """Remember something.

    Adding a known text again counts as a mention. With --key and --value a new value supersedes the old one.

    With --extract it reads a conversation and stores facts about the user; uncertain ones become candidates.

    Example: memctl add "Alice prefers tea to coffee" --category preference --tag drinks
    """
    from memctl.cli import bulk, extracting
    from memctl.errors import UsageError

    typed = {
        "category": category, "subcategory": subcategory, "tags": inputs.tags(tag), "kind": kind, "key": key,
        "value": _value(value, mode), "importance": importance, "confidence": confidence, "source": source,
        "occurred_at": inputs.moment(occurred_at), "expires_at": inputs.expiry(expires_at), "pinned": pin or None,
    }  # fmt: skip
    fields: dict[str, Any] = {name: field for name, field in typed.items() if field not in (None, "", ())}
    if speaker and not extract:
        raise UsageError("--speaker needs --extract", hint="memctl add --extract chat.txt --speaker Anna")
    if dry_run and not extract:
        raise UsageError("--dry-run needs --extract", hint="memctl add --extract chat.txt --dry-run")
    if extract:
        if fields or detail or jsonl or allow_duplicate:
            raise UsageError("--extract takes no fields and no other input", hint="Leave the other options out.")
        extracting.learn(text or [], speaker, dry_run, allow_secret)
        return
    if jsonl is not None:
        if text or fields or detail:
            raise UsageError("--jsonl takes no text and no fields", hint="Leave the text and the other options out.")
        bulk.add_jsonl(jsonl, allow_duplicate, allow_secret)
        return
    content = _content(text or [], key, value)
    with opened() as store:
        added = store.add(
            content, detail=inputs.file_text(detail) if detail else None, mode=mode,
            allow_duplicate=allow_duplicate, allow_secret=allow_secret, **fields,
        )  # fmt: skip
        _print_added(store, added)


def _content(text: list[str], key: str, value: str | None) -> str:
    from memctl.errors import UsageError

    if value is not None and not value.strip():
        raise UsageError("a fact needs a value", hint="memctl add --key city --value Lisbon")
    if bool(key) != (value is not None):
        raise UsageError("--key and --value must be given together", hint="memctl add --key city --value Lisbon")
    if text:
        return inputs.text_of(text)
    if key:
        return f"{key}: {value}"
    raise UsageError("nothing to add", hint='memctl add "Alice prefers tea", or - to read standard input')


def _value(value: str | None, mode: str) -> Any:
    """The value of a fact: the text as typed, or for `merge` an object in JSON."""
    from memctl.facts.rules import MERGE, MODES

    inputs.check_choice("mode", mode, MODES)
    return inputs.json_object(value, "--value") if mode == MERGE and value is not None else value


def _print_added(store: MemoryStore, added: Added) -> None:
    memory = added.memory
    related = {"replaced": list(added.replaced), "near": list(added.near), "contradicts": list(added.against)}
    render.document({"outcome": added.outcome, "memory": shapes.memory_json(memory), **related})
    sentences = {
        "added": f"added {memory.memory_id}",
        "mentioned": f"already known: {memory.memory_id} (mentioned {memory.mentions} times)",
        "updated": f"updated {memory.memory_id}, superseding {', '.join(added.replaced)}",
    }
    render.say(sentences[added.outcome])
    for word, ids in (("similar to", added.near), ("seems to contradict", added.against)):
        for each in ids:
            render.say(f"  {word} {each}: {plain.one_line(store.get(each).content, 80)}")
    if added.against:
        render.say("  `memctl conflicts` shows what differs, and how to resolve it")
