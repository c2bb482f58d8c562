"""Writing memories: ids, defaults, the same text twice, and facts with a key."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memctl.core import kinds
from memctl.core.formats import codec, reflections
from memctl.core.kinds import KINDS
from memctl.core.models import LAYERS, Memory
from memctl.errors import InvalidDataError, UsageError, argument

ADDED, MENTIONED, UPDATED, SKIPPED, CANDIDATE_KEPT = "added", "mentioned", "updated", "skipped", "candidate"
PURGED = "purged"

_SUFFIXES = 16**5
REMEMBERED = 100_000


@dataclass(frozen=True)
class Added:
    """What became of one memory given to `add`.

    `outcome`: `added`; `mentioned` (the same text was there and was counted); `updated` (a fact with this key had
    another value, which is superseded); `skipped` (an import of something already imported); `purged` (an import of
    something that was purged, which does not come back); `candidate` (kept apart until it is confirmed). `near` lists
    ids of memories that say almost the same, `against` those that it seems to contradict; nothing is done about either.
    """

    outcome: str
    memory: Memory
    replaced: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


class IdMaker:
    """Makes ids in time order: `mem_YYYYMMDD_`, milliseconds of the day in 7 hex digits, 5 that grow or are random."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def __call__(self, created: datetime, moment: datetime) -> str:
        """The id of a memory written at `created`; `moment` orders those of one second."""
        of_day = (created.hour * 3600 + created.minute * 60 + created.second) * 1000 + moment.microsecond // 1000
        head = f"mem_{created:%Y%m%d}_{of_day:07x}"
        suffix = self._last[head] + 1 if head in self._last else secrets.randbelow(_SUFFIXES // 2)
        if len(self._last) > REMEMBERED:
            self._last.clear()
        self._last[head] = suffix
        return f"{head}{suffix:05x}"


_ID_HEAD, _ID_TAIL = len("mem_20251214_"), 12


def same_second(memory_id: str) -> tuple[str, str]:
    """The first id of the second in which this one was made, and the first of the next."""
    head, second = memory_id[:_ID_HEAD], int(memory_id[_ID_HEAD : _ID_HEAD + 7], 16) // 1000
    return f"{head}{second * 1000:07x}00000", f"{head}{(second + 1) * 1000:07x}00000"


def next_id(memory_id: str) -> str:
    """The id that follows."""
    return f"{memory_id[:_ID_HEAD]}{int(memory_id[_ID_HEAD:], 16) + 1:0{_ID_TAIL}x}"


def completed(memory: Memory, now: datetime, new_id: str, given: frozenset[str]) -> Memory:
    """A new memory with everything filled in that its writer left to us.

    Args:
        given: names of the fields the writer set.
    """
    kind = memory.kind if "kind" in given else kinds.of_category(memory.category)
    return replace(
        memory,
        memory_id=memory.memory_id or new_id,
        kind=kind,
        importance=memory.importance if "importance" in given else kinds.kind(kind).importance,
        created_at=memory.created_at or now,
    )


def check(memory: Memory, categories: Sequence[str], own: Memory | None = None) -> Memory:
    """Validate a memory made in Python as strictly as one read from a file.

    Args:
        categories: those it may have.
        own: a record as a person wrote it; it may keep its kind and layer.

    Raises:
        InvalidDataError: a field has a value it cannot have.
        UsageError: the category is not one of the store's.
    """
    if not memory.content.strip():
        raise UsageError("a memory needs some text", hint='memctl add "Alice prefers tea"')
    if (memory.key and not memory.key.strip()) or any(not tag.strip() for tag in memory.tags):
        raise UsageError("a key or a tag must not be blank")
    kinds, layers = ((*KINDS, own.kind), (*LAYERS, own.layer)) if own else (KINDS, LAYERS)
    if memory.kind not in kinds or memory.layer not in layers:
        hint = f"Kinds: {', '.join(KINDS)}. Layers: {', '.join(LAYERS)}."
        raise UsageError(f"there is no kind {memory.kind!r} in layer {memory.layer!r}", hint=hint)
    try:
        record = codec.encode(memory)
        checked = codec.decode(record)
        if _holds_nul(codec.in_one_line(record), record):
            raise codec.RecordError("a field holds a NUL character")
    except codec.RecordError as problem:
        raise InvalidDataError(str(problem)) from None
    if memory.summary_md_ref and not reflections.is_reference(memory.summary_md_ref):
        raise InvalidDataError(f"summary_md_ref must name a file below reflections/, found {memory.summary_md_ref!r}")
    if memory.category not in categories:
        known = ", ".join(categories)
        more = ",".join((*categories, memory.category))
        hint = f"Categories here: {known}. Add it with `memctl config set categories {argument(more)}`."
        raise UsageError(f"there is no category {memory.category!r}", hint=hint)
    return checked


def can_be_stored(memory: Memory) -> bool:
    """Whether a record can be written and read back."""
    try:
        record = codec.encode(memory)
        text = codec.dump(record)
        return codec.decode(record).memory_id == memory.memory_id and not _holds_nul(text, record)
    except codec.RecordError:
        return False


def _holds_nul(text: str, value: Any) -> bool:
    """Whether a value holds a NUL character; its JSON `text` is looked at first, which costs little."""
    if "\\u0000" not in text:
        return False
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(text, part) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple) and any(_holds_nul(text, part) for part in value)


def mention(memory: Memory, now: datetime, again: Memory | None = None, given: frozenset[str] = frozenset()) -> Memory:
    """The same text was said again.

    Args:
        again: what was said this time; its tags are added, and the fields named in `given` replace those of the record.
    """
    mentioned = replace(memory, mentions=memory.mentions + 1, updated_at=now)
    if again is None:
        return mentioned
    fields = {name: getattr(again, name) for name in given & _RESTATED}
    return replace(mentioned, tags=tuple(dict.fromkeys((*memory.tags, *again.tags))), **fields)


_RESTATED = frozenset(
    {"category", "subcategory", "kind", "importance", "confidence", "occurred_at", "expires_at", "pinned", "metadata"}
)
"""Fields that are taken over when a memory is said again with them."""


def front_matter(memory: Memory) -> dict[str, Any]:
    """What a reflection's file says about the record it belongs to."""
    return {
        "memory_id": memory.memory_id,
        "category": memory.category,
        "tags": list(memory.tags),
        "created_at": memory.created_at,
        "sources": list(memory.sources),
    }
