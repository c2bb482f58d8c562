"""Editing a record as YAML, or its reflection as Markdown, in the user's editor. A wrong draft is kept."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memctl.errors import InvalidDataError, NotFoundError, UsageError
from memctl.files import atomic, codec, reflections
from memctl.models import Memory

if TYPE_CHECKING:
    from memctl.store import MemoryStore

EDITED, UNCHANGED = "edited", "unchanged"

_HEAD = "# The record of {id}. Change what you like, save and leave; to leave all as it is, quit without saving.\n"


def with_fields(memory: Memory, assignments: Sequence[str]) -> Memory:
    """A memory with `name=value` applied; values are read as YAML, lists also with commas.

    Raises:
        UsageError: not of that form.
        InvalidDataError: a value the field cannot have.
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
        value = load_yaml(text)
    except yaml_error():
        return text
    if name in _LISTS and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def yaml_error() -> type[Exception]:
    import yaml

    return yaml.YAMLError


def load_yaml(text: str) -> Any:
    """YAML with times left as text: a birthday is a value like any other."""
    import yaml

    class Loader(yaml.SafeLoader):
        """The safe loader without its time type."""

    times_tag = "tag:yaml.org,2002:timestamp"
    Loader.yaml_implicit_resolvers = {
        first: [rule for rule in rules if rule[0] != times_tag]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return yaml.load(text, Loader=Loader)


def _decoded(record: object, memory: Memory, place: str) -> Memory:
    try:
        changed = codec.decode(record)
    except codec.RecordError as problem:
        raise InvalidDataError(str(problem), path=place) from None
    if changed.memory_id != memory.memory_id:
        raise InvalidDataError("the id of a memory cannot be changed here", path=place)
    return changed


def save(store: MemoryStore, before: Memory, after: Memory) -> str:
    """Write a changed record unless nothing changed or somebody else changed it meanwhile."""
    if after == before:
        return UNCHANGED
    store.put(after, expected=before)
    return EDITED


def edit_record(store: MemoryStore, memory: Memory) -> str:
    """Open the record as YAML; validate; keep the draft when it is wrong."""
    draft = _draft(store, memory, ".yaml")
    _prepare(draft, _HEAD.format(id=memory.memory_id) + _yaml(codec.encode(memory)))
    _run_editor(draft)
    changed = _keeping(draft, lambda: _decoded(_parse_yaml(draft), memory, draft.name))
    outcome: str = _keeping(draft, lambda: save(store, memory, changed))
    draft.unlink()
    return outcome


def edit_reflection(store: MemoryStore, memory: Memory) -> str:
    """Open the reflection's Markdown; a record without one gets one."""
    before = store.reflection_of(memory)
    draft = _draft(store, memory, ".md")
    _prepare(draft, before.body if before else f"# {memory.title}\n")
    _run_editor(draft)
    body = _keeping(draft, lambda: reflections.parse(draft.read_bytes(), draft.name).body)
    if not body.strip() or (before and body.strip() == before.body.strip()):
        draft.unlink()
        return UNCHANGED
    _keeping(draft, lambda: store.write_reflection(memory, body))
    draft.unlink()
    return EDITED


def _draft(store: MemoryStore, memory: Memory, suffix: str) -> Path:
    name = reflections.path_for(memory.memory_id).removeprefix(reflections.FOLDER).removesuffix(".md")
    return store.folder.drafts / f"{name}{suffix}"


def _prepare(draft: Path, text: str) -> None:
    """A draft that was kept is opened again: it holds somebody's work."""
    if not draft.exists():
        atomic.replace(draft, text.encode())


def _keeping(draft: Path, action: Any) -> Any:
    try:
        return action()
    except InvalidDataError as problem:
        hint = f"Your draft is kept in {draft}; run the command again to go on with it."
        raise InvalidDataError(
            problem.reason, path=problem.path, line=problem.line, column=problem.column, hint=hint
        ) from None


def _run_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
    except FileNotFoundError:
        raise NotFoundError(f"no editor {command!r}", hint="Set EDITOR, for instance EDITOR=nano.") from None
    if code != 0:
        raise UsageError(
            f"the editor ended with code {code}; nothing was changed", hint=f"Your draft is kept in {path}."
        )


def _yaml(record: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(record, allow_unicode=True, sort_keys=False, width=110)


def _parse_yaml(path: Path) -> object:
    try:
        return load_yaml(path.read_text("utf-8"))
    except yaml_error() as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or "cannot be read as YAML"
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise InvalidDataError(reason, path=path.name, line=line, column=column) from None
    except UnicodeDecodeError:
        raise InvalidDataError("is not valid UTF-8", path=path.name) from None
