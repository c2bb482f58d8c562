"""A LangGraph store whose items are memories of one user: `MemctlStore(open_store("memories", user="alice"))`.

Needs the extra `langgraph`. An item is a record: namespace and key stand in `external_id`, the value in
`value`, its text in `content`, so that every other surface of memctl finds it too.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
)

from memctl.core import records, times
from memctl.core.formats import document, trash
from memctl.core.models import ACTIVE, Change, Filters, Memory
from memctl.core.turns import Turn
from memctl.errors import InvalidDataError
from memctl.storage.ports.view import View
from memctl.storage.trash import to_trash
from memctl.store import MemoryStore

SOURCE = "langgraph"
"""`source` of the records, and the name of this store's own field in their `metadata`."""

ALL_TAG = "store:langgraph"
NAMESPACE_TAG = "namespace:"
"""Tags by which the index finds the items below a namespace. A tag with a colon is no search text."""

DECODED = 20_000
"""So many records are kept decoded between searches: decoding costs ten times what finding them does."""

WHOLE = "$"
"""The path that means the whole value, as in LangGraph's `IndexConfig`."""

Path = tuple[str, ...]
"""A namespace and, as the last element, the key of an item in it."""

_log = logging.getLogger(__name__)


class MemctlStore(BaseStore):
    """LangGraph's `BaseStore` on one user's memories.

    Within a batch, reads see the state before it, and of two writes of one item the last counts; all writes of a batch
    are one change, which `memctl undo` takes back. What is deleted or expires lies in the trash. It may be used from
    several threads; other processes may use the same folder.

    Args:
        memory: the user's memories; the store has them for itself.
        fields: the paths of a value that `search(query=…)` looks at, where `put` names none; the whole value if not
            given.
        ttl: default times to live, as for LangGraph's other stores. What has expired is never given, and goes to the
            trash with the next write; there is no sweeping thread.
        category: of new records; one of the memory's settings.
        clock: the present, with a time zone.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: MemoryStore,
        *,
        fields: Sequence[str] = (WHOLE,),
        ttl: TTLConfig | None = None,
        category: str = "life",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.memory, self.fields, self.ttl_config = memory, tuple(fields), ttl
        self._category, self._clock = category, clock or _present
        self._turn = Turn()
        self._decoded = lru_cache(DECODED)(lambda text: document.decode_raw(text.encode()))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations in one go.

        Raises:
            MemctlError: nothing of the batch was written.
            ValueError: an operation or a filter is not one of LangGraph's.
        """
        with self._turn:
            return self._batch(list(ops), self._clock())

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _batch(self, ops: Sequence[Op], now: datetime) -> list[Result]:
        report = self.memory.refresh()
        if report.blocked:
            _log.warning("read from the last good state: %s", report.blocked.message)
        read: dict[str, Memory] = {}
        results = [self._result(op, read, now) for op in ops]
        writes = {(*op.namespace, op.key): self._write(op, now) for op in ops if isinstance(op, PutOp)}
        if writes or read:
            self.memory.change(lambda view: _change(view, writes, read, now), now)
        return results

    def _result(self, op: Op, read: dict[str, Memory], now: datetime) -> Result:
        """What an operation reads; what of it must live longer for that is noted in `read`."""
        if isinstance(op, PutOp):
            return None
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op, now)
        if isinstance(op, GetOp):
            held = _held(self.memory.engine.view(), (*op.namespace, op.key), now)
            found: list[tuple[Memory, float | None]] = [(held, None)] if held else []
        elif isinstance(op, SearchOp):
            found = self.answered(op, now)
        else:
            raise ValueError(f"unknown operation type: {type(op)}")
        if op.refresh_ttl:
            read.update((memory.memory_id, memory) for memory, _ in found if _ttl(memory))
        if isinstance(op, SearchOp):
            return [SearchItem(**_fields(memory), score=score) for memory, score in found]
        return Item(**_fields(found[0][0])) if found else None

    def _items(self, prefix: Path, now: datetime) -> list[Memory]:
        """The items below a namespace, the latest written first."""
        latest: dict[Path, Memory] = {}
        matches = self.memory.engine.search.matching(_below(prefix), now)
        for memory in sorted((self._decoded(match.text) for match in matches if match.is_record), key=_age):
            path = _path(memory)
            if path and path[: len(prefix)] == prefix and len(path) > len(prefix):
                latest[path] = memory
        return sorted(latest.values(), key=_age, reverse=True)

    def answered(self, op: SearchOp, now: datetime) -> list[tuple[Memory, float | None]]:
        """The page a search asks for: best first where there is a query, what has no score last."""
        items = self._items(tuple(op.namespace_prefix), now)
        fitting = [
            m for m in items if all(fits(m.value.get(name), wanted) for name, wanted in (op.filter or {}).items())
        ]
        scores = self._scores(op, len(items), now) if op.query and fitting else {}
        scored = [(memory, scores.get(memory.memory_id)) for memory in fitting]
        scored.sort(key=lambda pair: -1.0 if pair[1] is None else pair[1], reverse=True)
        return scored[op.offset : op.offset + op.limit]

    def _scores(self, op: SearchOp, most: int, now: datetime) -> dict[str, float]:
        filters = _below(tuple(op.namespace_prefix))
        found = self.memory.query(op.query or "", top=most, filters=filters, route=False, receipt=False, now=now)
        return {hit.memory.memory_id: hit.score for hit in found.hits if _own(hit.memory).get("index") is not False}

    def _namespaces(self, op: ListNamespacesOp, now: datetime) -> list[Path]:
        known = {_path(memory)[:-1] for memory in self._items((), now)}
        fitting = {ns[: op.max_depth] for ns in known if all(matches(c, ns) for c in op.match_conditions or ())}
        return sorted(fitting)[op.offset : op.offset + op.limit]

    def _write(self, op: PutOp, now: datetime) -> Memory | None:
        """The record of an item as if it were new; None where it is to be deleted."""
        if op.value is None:
            return None
        value = plain(op.value)
        expiry = _expiry(op.ttl, now)
        told = (("ttl", op.ttl if expiry else None), ("index", op.index))
        own = {name: given for name, given in told if given is not None}
        path = (*op.namespace, op.key)
        memory = Memory(
            self.memory.engine.new_id(now),
            text_of(value, self.fields if op.index is None else op.index or ()) or f"item {'.'.join(path)}",
            category=self._category,
            tags=_tags(path),
            value=value,
            source=SOURCE,
            created_at=now,
            updated_at=now,
            expires_at=expiry,
            external_id=_external(path),
            metadata={SOURCE: own} if own else {},
        )
        return records.check(memory, self.memory.settings.categories)


def _present() -> datetime:
    """To the microsecond, unless the environment fixes the clock."""
    return times.utc_now() if os.environ.get(times.NOW_VARIABLE) else datetime.now(UTC)


# Items as records


def _external(path: Path) -> str:
    return f"{SOURCE}:{json.dumps(path, ensure_ascii=False)}"


def _path(memory: Memory) -> Path:
    """Namespace and key of a record; empty for one that is no item."""
    kind, _, written = memory.external_id.partition(":")
    try:
        path = json.loads(written) if kind == SOURCE and isinstance(memory.value, dict) else []
    except ValueError:
        return ()
    return tuple(path) if isinstance(path, list) and all(isinstance(part, str) for part in path) else ()


def _tags(path: Path) -> tuple[str, ...]:
    namespaces = (path[:depth] for depth in range(1, len(path)))
    return (ALL_TAG, *dict.fromkeys(NAMESPACE_TAG + ".".join(namespace) for namespace in namespaces))


def _below(prefix: Path) -> Filters:
    """Everything in a namespace, whatever its status: an item is there until it is deleted or expires."""
    return Filters(tags=(_tags((*prefix, ""))[-1],), statuses=())


def _own(memory: Memory) -> Mapping[str, Any]:
    """What this store keeps beside the value: `ttl` in minutes, `index` as given to `put`."""
    own = memory.metadata.get(SOURCE)
    return own if isinstance(own, dict) else {}


def _ttl(memory: Memory) -> float | None:
    given = _own(memory).get("ttl")
    return given if isinstance(given, int | float) else None


def _expiry(ttl: float | None, now: datetime) -> datetime | None:
    """When an item read or written now expires; None also where that lies beyond the calendar."""
    try:
        return None if ttl is None else now + timedelta(minutes=ttl)
    except OverflowError:
        return None


def _age(memory: Memory) -> tuple[float, str]:
    written = memory.updated_at or memory.created_at
    return (written.timestamp() if written else 0.0, memory.memory_id)


def _fields(memory: Memory) -> dict[str, Any]:
    """The arguments of `Item` and `SearchItem`."""
    created = memory.created_at or datetime.fromtimestamp(0, UTC)
    *namespace, key = _path(memory)
    updated = memory.updated_at or created
    return {
        "namespace": tuple(namespace),
        "key": key,
        "value": copy.deepcopy(memory.value),  # the caller's to change
        "created_at": created,
        "updated_at": updated,
    }


# Writing


def _change(view: View, writes: Mapping[Path, Memory | None], read: Mapping[str, Memory], now: datetime) -> Change:
    """The writes of a batch, and the new expiry of what was read."""
    puts: list[Memory] = []
    fresh: list[Memory] = []
    gone: list[Memory] = []
    for path, written in writes.items():
        held = _held(view, path, now)
        if written is None:
            gone += _all_held(view, path, now)
        elif held is None:
            fresh.append(written)
        else:
            puts.append(_overwritten(held, written))
    done = {memory.memory_id for memory in (*puts, *gone)}
    puts += [longer for mid in read if mid not in done and (longer := _refreshed(view.get(mid), now))]
    moving = to_trash(SOURCE, view, gone, trash.FORGOTTEN, now)
    return replace(moving, puts=(*puts, *view.unused(fresh)))


def _all_held(view: View, path: Path, now: datetime) -> list[Memory]:
    found = (m for m in view.imported(_external(path)) if m.expires_at is None or m.expires_at > now)
    return sorted((m for m in found if _path(m) == path), key=_age)


def _held(view: View, path: Path, now: datetime) -> Memory | None:
    """The record of an item; of several (one was restored, another written since) the latest."""
    return next(reversed(_all_held(view, path, now)), None)


def _overwritten(held: Memory, written: Memory) -> Memory:
    """An item's record with a new value; what people and feedback made of it stays."""
    own = {name: value for name, value in held.metadata.items() if name != SOURCE}
    return replace(
        held,
        content=written.content,
        value=written.value,
        tags=tuple(dict.fromkeys((*held.tags, *written.tags))),
        updated_at=written.updated_at,
        expires_at=written.expires_at,
        metadata={**own, **written.metadata},
        status=ACTIVE,
        superseded_by="",
        valid_to=None,
        archived_at=None,
        archived_reason="",
    )


def _refreshed(memory: Memory | None, now: datetime) -> Memory | None:
    ttl = _ttl(memory) if memory else None
    return replace(memory, expires_at=_expiry(ttl, now)) if memory and ttl is not None else None


# Values


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value as JSON gives it back.

    Raises:
        InvalidDataError: it cannot be written as JSON.
    """
    try:
        return dict(json.loads(json.dumps(dict(value), allow_nan=False, ensure_ascii=False)))
    except (TypeError, ValueError, RecursionError) as problem:
        hint = "An item's value holds text, numbers, true, false, null, lists and objects."
        raise InvalidDataError(f"the value of an item cannot be written as JSON: {problem}", hint=hint) from None


def text_of(value: Mapping[str, Any], paths: Sequence[str]) -> str:
    """What of a value is searched, as lines: a field with its name where there are several."""
    texts = [text for path in paths for text in (_lines(value) if path == WHOLE else get_text_at_path(value, path))]
    return "\n".join(dict.fromkeys(text for text in texts if text.strip()))


def _lines(value: Mapping[str, Any]) -> list[str]:
    leaves = _leaves(value, ())
    if len(leaves) == 1:
        return [leaves[0].text]
    return [f"{leaf.name}: {leaf.text}" if leaf.name else leaf.text for leaf in leaves]


@dataclass(frozen=True)
class _Leaf:
    name: str
    text: str


def _leaves(value: Any, name: tuple[str, ...]) -> list[_Leaf]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*name, key))]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner, name)]
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return [_Leaf(".".join(name), text)] if text.strip() else []


# Filters, as LangGraph's own stores read them


def matches(condition: MatchCondition, namespace: Path) -> bool:
    """Whether a namespace begins, or ends, with a path, in which `*` stands for any label.

    Raises:
        ValueError: the condition is of another type.
    """
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"unsupported match type: {condition.match_type}")
    size = len(condition.path)
    part = namespace[:size] if condition.match_type == "prefix" else namespace[len(namespace) - size :]
    return len(namespace) >= size and all(w in ("*", label) for w, label in zip(condition.path, part, strict=True))


def fits(value: Any, wanted: Any) -> bool:
    """Whether a field of a value is what a filter wants.

    Raises:
        ValueError: the filter has an operator that LangGraph does not know.
    """
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compared(value, operator, than) for operator, than in wanted.items())
        return isinstance(value, dict) and all(fits(value.get(name), inner) for name, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        same_size = isinstance(value, list) and len(value) == len(wanted)
        return same_size and all(fits(*pair) for pair in zip(value, wanted, strict=True))
    return bool(value == wanted)


_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


def _compared(value: Any, operator: str, than: Any) -> bool:
    """Numbers, and texts that are numbers, by size; other texts by their letters; anything else fits no order."""
    if operator in ("$eq", "$ne"):
        return bool((value == than) == (operator == "$eq"))
    if operator not in _ORDERS:
        raise ValueError(f"unsupported operator: {operator}")
    try:
        return _ORDERS[operator](float(value), float(than))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(than, str) and _ORDERS[operator](value, than)
