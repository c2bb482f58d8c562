"""memctl's own records, in lines or in a document, and the plain lines of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memctl.core.formats import codec, reflections
from memctl.core.formats.codec import RecordError
from memctl.core.models import Memory
from memctl.transfer.fields import SOURCE, Item, name_of, need_object, need_text, others, time_of

DETAIL = "detail_content"
"""Field of a line that holds the record's Markdown; the name is the documents'."""

FRONT = "detail_front_matter"
"""Field of a line that holds the front matter of that Markdown, where other programs or people wrote into it."""

_PLAIN = ("id", "text", "time", "session", "store")


def record(value: Any, now: datetime | None) -> list[Item]:
    """One record as it stands in `memory.json`, or as people write it; unknown fields are kept.

    A record without an id is to get a new one; reading it again counts as saying it again.
    """
    given = dict(need_object(value))
    detail, front = given.pop(DETAIL, ""), given.pop(FRONT, "")
    for name, text in ((DETAIL, detail), (FRONT, front)):
        if not isinstance(text, str):
            raise RecordError(f"field {name!r} must be text")
    if problem := reflections.front_problem(front):
        raise RecordError(f"field {FRONT!r}: {problem}")
    if now is not None:
        given["imported_at"] = now
    if detail or front:
        # The Markdown gets a file of its own; the name it had elsewhere may be taken here by another record's.
        given.pop("summary_md_ref", None)
    memory = codec.decode(given)
    if not given.get("memory_id"):
        memory = replace(memory, memory_id="")
    _check(memory)
    return [Item(memory, detail, front, frozenset(name for name, value in given.items() if value is not None))]


def _check(memory: Memory) -> None:
    """Refuse with its line what would stop the whole import later, when lines are no longer known."""
    if not memory.content.strip():
        raise RecordError("field 'content' is blank")
    if memory.summary_md_ref and not reflections.is_reference(memory.summary_md_ref):
        path = memory.summary_md_ref
        raise RecordError(f"field 'summary_md_ref' must name a .md file below {reflections.FOLDER}, found {path!r}")


def plain(value: Any, now: datetime | None, *, with_store: bool = False) -> list[Item]:
    """One line with `text` and, where known, `id`, `time`, `session`, `store`; whatever else it has is metadata.

    A line that has `content` instead is a record.

    Args:
        with_store: put the line's `store` before its id, because ids are unique in one store only.
    """
    line = need_object(value)
    if "text" not in line and "content" in line:
        return record(value, now)
    memory = Memory(
        memory_id="",
        content=need_text(line, "text"),
        source=SOURCE,
        occurred_at=time_of(line, "time"),
        imported_at=now,
        session_id=name_of(line, "session"),
        external_id=_external_id(line, with_store),
        metadata=others(line, _PLAIN),
    )
    return [Item(memory)]


def _external_id(line: Mapping[str, Any], with_store: bool) -> str:
    identity = name_of(line, "id")
    return f"{store_of(line)}/{identity}" if identity and with_store else identity


def store_of(value: Any) -> str:
    """The store a plain line says it belongs to; empty where it says nothing."""
    identity = value.get("store") if isinstance(value, dict) else None
    return str(identity) if isinstance(identity, str | int) else ""
