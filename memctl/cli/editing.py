"""Editing a record as YAML, or its reflection as Markdown, in the user's editor. A wrong draft is kept."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memctl.cli import progress, render
from memctl.core.formats import codec, reflections, safe_yaml
from memctl.core.models import Memory
from memctl.errors import ConflictError, InvalidDataError, MemctlError, RefusedError, UsageError
from memctl.storage.files import atomic, local_state

if TYPE_CHECKING:
    from memctl.storage.files.layout import UserFolder
    from memctl.store import MemoryStore

T = TypeVar("T")

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
        raise InvalidDataError("the id of a memory cannot be changed here", path=place)
    return changed


def save(store: MemoryStore, before: Memory, after: Memory, allow_secret: bool = False) -> str:
    """Write a changed record unless nothing changed or somebody else changed it meanwhile."""
    if after == before:
        return UNCHANGED
    store.put(after, expected=before, allow_secret=allow_secret)
    return EDITED


def edit_record(store: MemoryStore, memory: Memory, allow_secret: bool = False) -> str:
    """Open the record as YAML; validate; keep the draft when it is wrong.

    What the draft changed against the record it was begun from is applied to the record as it is now.
    """
    draft = Draft.of(store, memory, ".yaml")
    draft.begin(_HEAD.format(id=memory.memory_id) + _yaml(codec.encode(memory)))
    draft.open()
    wanted = draft.keeping(lambda: _decoded(_parse_yaml(draft.path), memory, draft.path.name))
    base = _decoded(safe_yaml.load(draft.begun_from() or "", times_as_text=True), memory, draft.base.name)
    merged = draft.keeping(lambda: _merged(codec.encode(base), codec.encode(wanted), memory))
    outcome: str = draft.keeping(lambda: save(store, memory, merged, allow_secret))
    draft.discard()
    return outcome


def _merged(base: dict[str, Any], wanted: dict[str, Any], memory: Memory) -> Memory:
    """The fields the draft changed, put into the present record.

    Raises:
        ConflictError: somebody else changed one of them meanwhile.
    """
    present = codec.encode(memory)
    changed = {name for name in base.keys() | wanted.keys() if base.get(name) != wanted.get(name)}
    both = [n for n in changed if present.get(n) != base.get(n) and present.get(n) != wanted.get(n)]
    if both:
        raise ConflictError(f"{memory.memory_id}: {', '.join(sorted(both))} changed since the draft was begun")
    record = {name: value for name, value in present.items() if name not in changed}
    record |= {name: wanted[name] for name in wanted if name in changed}
    return _decoded(record, memory, "draft")


def edit_reflection(store: MemoryStore, memory: Memory, allow_secret: bool = False) -> str:
    """Open the reflection's Markdown; a record without one gets one."""
    before = store.engine.reflection_of(memory)
    draft = Draft.of(store, memory, ".md")
    draft.begin(before.body if before else f"# {memory.title}\n")
    draft.open()
    body = draft.keeping(lambda: _markdown(draft.path))
    begun_from = draft.begun_from() or ""
    if not body.strip() or body.strip() == begun_from.strip():
        draft.discard()
        return UNCHANGED
    draft.keeping(
        lambda: store.write_reflection(memory, body, expected=begun_from if before else None, allow_secret=allow_secret)
    )
    draft.discard()
    return EDITED


def _markdown(path: Path) -> str:
    """The text of a draft; front matter at its top stays, and goes to that of the file.

    Raises:
        InvalidDataError: not UTF-8, broken front matter, or conflict markers.
    """
    data = path.read_bytes()
    reflections.parse(data, path.name)
    return reflections.decode(data, path.name).lstrip("\n")


@dataclass(frozen=True)
class Draft:
    """Somebody's unfinished edit, and what it was begun from."""

    folder: UserFolder
    path: Path

    @staticmethod
    def of(store: MemoryStore, memory: Memory, suffix: str) -> Draft:
        name = reflections.path_for(memory.memory_id).removeprefix(reflections.FOLDER).removesuffix(".md")
        return Draft(store.folder, store.folder.drafts / f"{name}{suffix}")

    @property
    def base(self) -> Path:
        return self.path.with_name(self.path.name + ".base")

    def begin(self, text: str) -> None:
        """Start from `text`, or go on with a draft that was kept, and say so."""
        if self.path.exists() and self.begun_from() is not None:
            begun = datetime.fromtimestamp(self.base.stat().st_mtime, UTC)
            render.warn(f"going on with your draft of {begun:%Y-%m-%d %H:%M} UTC")
            return
        local_state.set_draft_aside(self.folder, self.path.name)
        signed = self.folder.signer.signed(self._kind, local_state.begun(text))
        atomic.replace(self.base, signed, root=self.folder.root)
        atomic.replace(self.path, text.encode(), root=self.folder.root)

    @property
    def _kind(self) -> str:
        return local_state.DRAFTS + self.base.name

    def begun_from(self) -> str | None:
        """The text it was begun from; None where this machine's user began none."""
        data = atomic.read(self.base, self.folder.root)
        return str(json.loads(data)["text"]) if data and self.folder.signer.verifies(self._kind, data) else None

    def open(self) -> None:
        """Run the editor; a draft nobody touched is not kept when it fails."""
        try:
            _run_editor(self.path)
        except MemctlError as problem:
            if self.path.exists() and self.path.read_bytes() == (self.begun_from() or "").encode():
                self.discard()
                raise
            raise UsageError(f"{problem.message}; your draft is kept in {self.path}") from None
        if not self.path.exists():
            self.discard()
            raise UsageError("the editor left no file; nothing was changed")

    def keeping(self, action: Callable[[], T]) -> T:
        """Do something with the draft; if that is refused, say where the draft is kept."""
        hint = f"Your draft is kept in {self.path}; run the command again to go on with it."
        try:
            return action()
        except InvalidDataError as problem:
            place = {"path": problem.path, "line": problem.line, "column": problem.column}
            raise InvalidDataError(problem.reason, hint=hint, **place) from None  # type: ignore[arg-type]
        except (UsageError, ConflictError) as problem:
            raise type(problem)(problem.message, hint=hint) from None
        except RefusedError as problem:
            raise RefusedError(problem.message, hint=f"{problem.hint} {hint}") from None

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self.base.unlink(missing_ok=True)


def _run_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _default_editor()
    progress.clear()
    try:
        code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
    except (OSError, ValueError) as problem:
        hint = "Set EDITOR, for instance EDITOR=nano, or use --set."
        reason = getattr(problem, "strerror", None) or str(problem)
        raise UsageError(f"the editor {command!r} cannot be run: {reason}", hint=hint) from None
    if code != 0:
        raise UsageError(f"the editor ended with code {code}; nothing was changed")


def _default_editor() -> str:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("there is no terminal to edit on", hint="Use --set FIELD=VALUE, or set EDITOR.")
    return "vi"


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
