"""`edit`: a record as YAML, or its reflection as Markdown. An invalid draft is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memctl.cli import choices, inputs, render
from memctl.cli.ids import Id
from memctl.cli.opening import opened
from memctl.cli.options import AllowSecret
from memctl.errors import UsageError

if TYPE_CHECKING:
    from memctl.core.models import Memory


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
    from memctl.cli import drafts
    from memctl.memories import edits

    added, removed = inputs.tags(add_tag), inputs.tags(remove_tag)
    if reflection and (set_ or added or removed):
        raise UsageError("--reflection opens the Markdown, and sets no field", hint="Leave out the other options.")
    with opened() as store:
        memory = store.get(memory_id)
        if set_ or added or removed:
            changed = edits.with_tags(_with_fields(memory, set_) if set_ else memory, added, removed)
            outcome = drafts.save(store, memory, changed, allow_secret)
        elif reflection:
            outcome = drafts.edit_reflection(store, memory, allow_secret)
        else:
            outcome = drafts.edit_record(store, memory, allow_secret)
    render.document({"outcome": outcome, "memory_id": memory.memory_id})
    render.say(f"{outcome} {memory.memory_id}")


def _with_fields(memory: Memory, assignments: Sequence[str]) -> Memory:
    """A memory with each `name=value` set.

    Raises:
        UsageError: an assignment is malformed, or the field cannot be set.
        InvalidDataError: the field cannot have that value.
    """
    from memctl.memories import edits

    texts = {}
    for assignment in assignments:
        name, equals, texts[name] = assignment.partition("=")
        if not equals:
            hint = "Write --set FIELD=VALUE, such as --set importance=0.9."
            raise UsageError(f"cannot set {name!r}", hint=hint)
    return edits.with_fields(memory, texts, "--set")
