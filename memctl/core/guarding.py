"""Likely secrets in what is about to be stored: refused or masked, by setting."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memctl.core import sensitive
from memctl.core.formats import codec, reflections
from memctl.core.models import COUNTED, TRASH, Change, LogLine, Memory, TextEdit
from memctl.errors import InvalidDataError, RefusedError

_FIELDS = ("content", "key", "subcategory", "tags", "source", "archived_reason", "metadata", "extra")
_IDS = ("session_id", "external_id")
"""Drawn at random more often than not: only what has the form of a secret is taken for one."""


def guarded(
    memory: Memory, policy: str, *, before: Memory | None = None, known: str = "", can_insist: bool = True
) -> Memory:
    """A memory as it may be stored: as it is, or with its likely secrets masked.

    Args:
        policy: `refuse`, `mask` or `allow`.
        before: the record it replaces; what it holds already is left.
        known: further text that is stored already.
        can_insist: whether there is an `allow_secret` to say that it is meant.

    Raises:
        RefusedError: it holds a likely secret, and these are refused. The message does not repeat it.
    """
    if policy == sensitive.ALLOW:
        return memory
    known += codec.dump(codec.encode(before)) if before else ""

    def look(value: Any, where: str, name: str = "") -> Any:
        return sensitive.guarded(value, policy, where, name=name, known=known, can_insist=can_insist)

    held = {name: value for name in (*_FIELDS, *_IDS) if (value := getattr(memory, name))}
    for name in _IDS:
        if name in held and all(one.kind == "a random key" for one in sensitive.found(held[name])):
            del held[name]
    fields = {name: look(value, _said(name)) for name, value in held.items()}
    fields["value"] = look(memory.value, "the value", memory.key)
    changed = {name: value for name, value in fields.items() if value is not getattr(memory, name)}
    return replace(memory, **changed) if changed else memory


def _said(name: str) -> str:
    return "the text" if name == "content" else f"the field {name}"


def refused(memory: Memory, detail: str = "") -> str:
    """Why a memory, or the Markdown that goes with it, is not to be stored; empty where it may be."""
    try:
        guarded(memory, sensitive.REFUSE)
        sensitive.guarded(detail, sensitive.REFUSE, "its Markdown")
    except RefusedError as problem:
        return problem.message.partition(";")[0]
    return ""


# Whole changes


def guarded_change(change: Change, policy: str, stored: Callable[[], str]) -> Change:
    """A change as it may be made: the last look at whatever command wrote it.

    What goes to the trash or comes out of the log (undo) was there before; so was what `stored` gives: the text of
    `memory.json`, asked for only where there is something to compare.

    Raises:
        RefusedError: it would store a likely secret, and these are refused.
    """
    if policy == sensitive.ALLOW or change.undoes or change.redoes:
        return change
    try:
        for memory in change.puts:
            guarded(memory, sensitive.REFUSE)
        for file in change.texts:
            _guarded_file(file, sensitive.REFUSE, "")
        for line in change.lines:
            _guarded_line(line, sensitive.REFUSE, "")
    except RefusedError:
        known = stored()
        puts = tuple(guarded(memory, policy, known=known, can_insist=False) for memory in change.puts)
        files = tuple(_guarded_file(file, policy, known) for file in change.texts)
        lines = tuple(_guarded_line(line, policy, known) for line in change.lines)
        return replace(change, puts=puts, texts=files, lines=lines)
    return change


def _guarded_file(file: TextEdit, policy: str, known: str) -> TextEdit:
    if file.after is None or file.name.startswith((TRASH, COUNTED)):
        return file
    before, after = ((data or b"").decode("utf-8", "surrogateescape") for data in (file.before, file.after))
    safe = sensitive.guarded(after, policy, file.name, known=known + before, can_insist=False)
    if safe == after:
        return file
    return replace(file, after=_with_its_hash(file, safe).encode("utf-8", "surrogateescape"))


def _with_its_hash(file: TextEdit, safe: str) -> str:
    """A reflection that memctl made stays one: its hash is that of the masked body."""
    if not reflections.is_reference(file.name):
        return safe
    try:
        made, masked = (reflections.parse(data, file.name) for data in (file.after or b"", safe.encode()))
    except (InvalidDataError, UnicodeEncodeError):
        return safe
    if reflections.hand_edited(made):
        return safe
    return reflections.render_generated(masked.fields, masked.body, safe.encode()).decode()


def _guarded_line(line: LogLine, policy: str, known: str) -> LogLine:
    if not line.added:
        return line
    value = json.loads(line.line)
    safe = sensitive.guarded(value, policy, line.log, known=known, can_insist=False)
    written = json.dumps(safe, ensure_ascii=False).encode("utf-8", "replace")
    return line if safe == value else replace(line, line=written)
