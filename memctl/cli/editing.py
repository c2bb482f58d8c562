"""`edit`: a record as YAML, or its reflection as Markdown. A draft that is wrong is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memctl.cli import render
from memctl.cli.ids import Id
from memctl.cli.opening import opened
from memctl.cli.options import AllowSecret
from memctl.core.formats import codec, reflections, safe_yaml
from memctl.errors import ConflictError, InvalidDataError, UsageError

if TYPE_CHECKING:
    from memctl.core.models import Memory
    from memctl.store import MemoryStore

EDITED, UNCHANGED = "edited", "unchanged"

_HEAD = "# The record of {id}. Change what you like, save and leave; to leave all as it is, quit without saving.\n"


def edit(
    memory_id: Id,
    reflection: Annotated[bool, typer.Option("--reflection", help="Edit its Markdown instead of the record.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Set a field without an editor.", metavar="FIELD=VALUE")
    ] = None,
    allow_secret: AllowSecret = False,
) -> None:
    """Change a memory in $EDITOR.

    Opens a YAML view of the record, or with --reflection its Markdown. What you write is checked; a wrong draft is
    kept, and opened again the next time.

    Example: memctl edit mem_20251214_1a2b --set importance=0.9
    """
    with opened() as store:
        memory = store.get(memory_id)
        if set_:
            outcome = _save(store, memory, _with_fields(memory, set_), allow_secret)
        elif reflection:
            outcome = _edit_reflection(store, memory, allow_secret)
        else:
            outcome = _edit_record(store, memory, allow_secret)
    render.document({"outcome": outcome, "memory_id": memory.memory_id})
    render.say(f"{outcome} {memory.memory_id}")


def _with_fields(memory: Memory, assignments: Sequence[str]) -> Memory:
    """A memory with each `name=value` set. Values are read as YAML; a list may also be written with commas.

    Raises:
        UsageError: an assignment is malformed, or the field cannot be set.
        InvalidDataError: the field cannot have that value.
    """
    record: dict[str, Any] = codec.encode(memory)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or name not in _SETTABLE:
            raise UsageError(f"cannot set {name!r}", hint=_hint_for(name, bool(equals)))
        record[name] = _value(name, text)
    return _decoded(record, memory, "--set")


_SETTABLE = frozenset(codec.FIELD_ORDER) - {"memory_id"}
_LISTS = {"tags", "sources", "supersedes", "conflicts_with"}


def _hint_for(name: str, well_formed: bool) -> str:
    from difflib import get_close_matches

    if not well_formed:
        return "Write --set FIELD=VALUE, such as --set importance=0.9."
    if name == "memory_id":
        return "The id of a memory cannot be changed."
    near = get_close_matches(name, _SETTABLE, 3)
    return (
        f"Did you mean {' or '.join(near)}?"
        if near
        else "`memctl show ID` shows the fields; docs/file-format.md has all."
    )


def _value(name: str, text: str) -> Any:
    if name == "content":
        return text
    try:
        value = safe_yaml.load(text, times_as_text=True)
    except safe_yaml.UnsafeYamlError:
        return text
    if name in _LISTS and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _decoded(record: object, memory: Memory, place: str) -> Memory:
    try:
        changed = codec.decode(record)
    except codec.RecordError as problem:
        raise InvalidDataError(str(problem), path=place) from None
    if changed.memory_id != memory.memory_id:
        raise InvalidDataError("the id of a memory cannot be changed", path=place)
    return changed


def _save(store: MemoryStore, before: Memory, after: Memory, allow_secret: bool = False) -> str:
    """Write a changed record, unless nothing changed.

    Raises:
        ConflictError: another process changed it meanwhile.
    """
    if after == before:
        return UNCHANGED
    store.put(after, expected=before, allow_secret=allow_secret)
    return EDITED


def _edit_record(store: MemoryStore, memory: Memory, allow_secret: bool = False) -> str:
    """Open the record as YAML, and apply what the draft changes to the record as it is now."""
    from memctl.cli.drafts import Draft

    draft = Draft.of(store, memory, ".yaml")
    draft.start(_HEAD.format(id=memory.memory_id) + _yaml(codec.encode(memory)))
    draft.open()
    wanted = draft.keeping(lambda: _decoded(_parse_yaml(draft.path), memory, draft.path.name))
    base = _decoded(safe_yaml.load(draft.base_text() or "", times_as_text=True), memory, draft.base.name)
    merged = draft.keeping(lambda: _merged(codec.encode(base), codec.encode(wanted), memory))
    outcome: str = draft.keeping(lambda: _save(store, memory, merged, allow_secret))
    draft.discard()
    return outcome


def _merged(base: dict[str, Any], wanted: dict[str, Any], memory: Memory) -> Memory:
    """The fields the draft changed, put into the present record.

    Raises:
        ConflictError: one of them was changed elsewhere meanwhile.
    """
    present = codec.encode(memory)
    changed = {name for name in base.keys() | wanted.keys() if base.get(name) != wanted.get(name)}
    both = [n for n in changed if present.get(n) != base.get(n) and present.get(n) != wanted.get(n)]
    if both:
        raise ConflictError(f"{memory.memory_id}: {', '.join(sorted(both))} changed since the draft was started")
    record = {name: value for name, value in present.items() if name not in changed}
    record |= {name: wanted[name] for name in wanted if name in changed}
    return _decoded(record, memory, "draft")


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
    """The text of a draft, with the front matter at its top, which is added to that of the file.

    Raises:
        InvalidDataError: not UTF-8, broken front matter, or conflict markers.
    """
    data = path.read_bytes()
    reflections.parse(data, path.name)
    return reflections.decode(data, path.name).lstrip("\n")


def _yaml(record: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(record, allow_unicode=True, sort_keys=False, width=110)


def _parse_yaml(path: Path) -> object:
    try:
        return safe_yaml.load(path.read_text("utf-8"), times_as_text=True)
    except safe_yaml.UnsafeYamlError as problem:
        raise InvalidDataError(str(problem), path=path.name, line=problem.line, column=problem.column) from None
    except UnicodeDecodeError:
        raise InvalidDataError("is not valid UTF-8", path=path.name) from None
