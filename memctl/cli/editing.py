"""`edit`: a record as YAML, or its reflection as Markdown. An invalid draft is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import choices, inputs, render
from memctl.cli.ids import Id
from memctl.cli.opening import opened
from memctl.cli.options import AllowSecret
from memctl.core.formats import codec, reflections
from memctl.errors import InvalidDataError, UsageError
from memctl.memories import edits

if TYPE_CHECKING:
    from memctl.core.models import Memory
    from memctl.store import MemoryStore

EDITED, UNCHANGED = "edited", "unchanged"

_HEAD = "# The record of {id}. Edit it and save; to change nothing, quit without saving.\n"


def edit(
    memory_id: Id,
    reflection: Annotated[bool, typer.Option("--reflection", help="Edit its Markdown instead of the record.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Set a field without an editor.", metavar="FIELD=VALUE")
    ] = None,
    add_tag: Annotated[
        list[str] | None, typer.Option("--add-tag", help="Add a tag; a,b are two.", autocompletion=choices.tag)
    ] = None,
    remove_tag: Annotated[
        list[str] | None, typer.Option("--remove-tag", help="Remove a tag; a,b are two.", autocompletion=choices.tag)
    ] = None,
    allow_secret: AllowSecret = False,
) -> None:
    """Change a memory: in $EDITOR, or with --set, --add-tag and --remove-tag.

    Opens the record as YAML, or with --reflection its Markdown. The result is checked; an invalid draft is kept, and
    opened again next time.

    Example: memctl edit mem_20251214_1a2b --set importance=0.9 --add-tag work
    """
    added, removed = inputs.tags(add_tag), inputs.tags(remove_tag)
    if reflection and (set_ or added or removed):
        raise UsageError("--reflection opens the Markdown, and sets no field", hint="Leave out the other options.")
    with opened() as store:
        memory = store.get(memory_id)
        if set_ or added or removed:
            changed = edits.with_tags(_with_fields(memory, set_) if set_ else memory, added, removed)
            outcome = _save(store, memory, changed, allow_secret)
        elif reflection:
            outcome = _edit_reflection(store, memory, allow_secret)
        else:
            outcome = _edit_record(store, memory, allow_secret)
    render.document({"outcome": outcome, "memory_id": memory.memory_id})
    render.say(f"{outcome} {memory.memory_id}")


def _with_fields(memory: Memory, assignments: Sequence[str]) -> Memory:
    """A memory with each `name=value` set.

    Raises:
        UsageError: an assignment is malformed, or the field cannot be set.
        InvalidDataError: the field cannot have that value.
    """
    texts = {}
    for assignment in assignments:
        name, equals, texts[name] = assignment.partition("=")
        if not equals:
            hint = "Write --set FIELD=VALUE, such as --set importance=0.9."
            raise UsageError(f"cannot set {name!r}", hint=hint)
    return edits.with_fields(memory, texts, "--set")


def _save(store: MemoryStore, before: Memory, after: Memory, allow_secret: bool = False) -> str:
    """Write a changed record, unless nothing changed.

    Raises:
        ConflictError: another process changed it in the meantime.
    """
    if after == before:
        return UNCHANGED
    store.put(after, expected=before, allow_secret=allow_secret)
    return EDITED


def _edit_record(store: MemoryStore, memory: Memory, allow_secret: bool = False) -> str:
    """Open the record as YAML, and apply the draft's changes to the current record."""
    from memctl.cli.drafts import Draft

    draft = Draft.of(store, memory, ".yaml")
    draft.start(_HEAD.format(id=memory.memory_id) + edits.to_yaml(memory))
    draft.open()
    wanted = draft.keeping(lambda: edits.from_yaml(_text(draft.path), memory, draft.path.name))
    base = edits.from_yaml(draft.base_text() or "", memory, draft.base.name)
    merged = draft.keeping(lambda: edits.merged(codec.encode(base), codec.encode(wanted), memory))
    outcome: str = draft.keeping(lambda: _save(store, memory, merged, allow_secret))
    draft.discard()
    return outcome


def _edit_reflection(store: MemoryStore, memory: Memory, allow_secret: bool = False) -> str:
    """Open the reflection's Markdown; a record without a reflection gets one."""
    from memctl.cli.drafts import Draft

    before = store.engine.reflection_of(memory)
    draft = Draft.of(store, memory, ".md")
    draft.start(before.body if before else f"# {memory.title}\n")
    draft.open()
    body = draft.keeping(lambda: _markdown(draft.path))
    base_text = draft.base_text() or ""
    if not body.strip() or body.strip() == base_text.strip():
        draft.discard()
        return UNCHANGED
    draft.keeping(
        lambda: store.write_reflection(memory, body, expected=base_text if before else None, allow_secret=allow_secret)
    )
    draft.discard()
    return EDITED


def _markdown(path: Path) -> str:
    """The text of a draft, including any front matter, which is merged into that of the file.

    Raises:
        InvalidDataError: not UTF-8, broken front matter, or conflict markers.
    """
    data = path.read_bytes()
    reflections.parse(data, path.name)
    return reflections.decode(data, path.name).lstrip("\n")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise InvalidDataError("is not valid UTF-8", path=path.name) from None
