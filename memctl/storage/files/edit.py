"""Plan which bytes of `memory.json` change, given where the records concerned stand."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memctl.core.formats.document import (
    Document,
    RawRecord,
    Splice,
    apply_splices,
    cut,
    fill,
    insert_after,
    insert_first,
)
from memctl.core.models import Memory

BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Plan:
    """Where records stand and where new ones go.

    Args:
        places: (start, end) in bytes of the existing records that are replaced, removed or built upon.
        anchors: for each new record's id, the id of the record it follows; None puts it first.
        array: offsets of the `[` and `]` of `memories`; needed only where an anchor is None or nothing stays.
        repeated: where further records with the ids that are removed stand.
        nothing_stays: whether every record of the array goes.
    """

    places: Mapping[str, tuple[int, int]]
    anchors: Mapping[str, str | None]
    array: tuple[int, int] = (-1, -1)
    repeated: Sequence[tuple[int, int]] = ()
    nothing_stays: bool = False


def order_key(memory: Memory) -> tuple[datetime, str]:
    """Records stand in time order, then by id; one without a date sorts first."""
    return (memory.created_at or BEGINNING, memory.memory_id)


def plan_from_document(document: Document, puts: Sequence[Memory], removes: Sequence[str]) -> Plan:
    """The plan for any change, from a full parse of the file."""
    going = set(removes)
    places: dict[str, tuple[int, int]] = {}
    repeated = []
    for record in document.records:
        if record.memory is not None:
            here = (record.start, record.start + len(record.raw))
            if places.setdefault(record.memory.memory_id, here) != here and record.memory.memory_id in going:
                repeated.append(here)
    stay = sorted((m for m in document.memories.values() if m.memory_id not in going), key=order_key)
    keys = [order_key(memory) for memory in stay]
    new = sorted((memory for memory in puts if memory.memory_id not in places), key=order_key)
    anchors = {memory.memory_id: _anchor(stay, keys, memory) for memory in new}
    left = any(record.memory is None or record.memory.memory_id not in going for record in document.records)
    return Plan(places, anchors, document.array, repeated, nothing_stays=not left)


def _anchor(stay: Sequence[Memory], keys: Sequence[tuple[datetime, str]], memory: Memory) -> str | None:
    at = bisect_right(keys, order_key(memory))
    return stay[at - 1].memory_id if at else None


def edited(data: bytes, plan: Plan, texts: Mapping[str, bytes], removes: Sequence[str]) -> bytes:
    """The new content of the file.

    Args:
        texts: JSON of each record put, by id.
        removes: ids to take out.
    """
    if plan.nothing_stays:
        return apply_splices(data, [fill(plan.array, [texts[mid] for mid in plan.anchors])])
    splices = [Splice(*plan.places[mid], text) for mid, text in texts.items() if mid not in plan.anchors]
    going = sorted([*(plan.places[mid] for mid in removes if mid in plan.places), *plan.repeated])
    splices += [cut(data, start, end) for start, end in _runs(data, going)]
    groups: dict[str | None, list[bytes]] = {}
    for mid, anchor in plan.anchors.items():
        groups.setdefault(anchor, []).append(texts[mid])
    for anchor, group in groups.items():
        if anchor is None:
            splices.append(insert_first(plan.array[0], group))
        else:
            splices.append(insert_after(plan.places[anchor][1], group))
    return apply_splices(data, splices)


def without(
    data: bytes, document: Document, going: Sequence[RawRecord], changed: Sequence[tuple[RawRecord, bytes]]
) -> bytes:
    """The file without some records, and with others in other words; every other byte stays."""
    if len(going) == len(document.records):
        return apply_splices(data, [fill(document.array, [])])
    places = sorted((record.start, record.start + len(record.raw)) for record in going)
    splices = [cut(data, start, end) for start, end in _runs(data, places)]
    splices += [Splice(record.start, record.start + len(record.raw), raw) for record, raw in changed]
    return apply_splices(data, splices)


def _runs(data: bytes, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join neighbours, with nothing but a comma between them, into one stretch to cut."""
    runs: list[tuple[int, int]] = []
    for start, end in places:
        if runs and data[runs[-1][1] : start].strip() == b",":
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def rebuilt(header: Mapping[str, Any], raws: Sequence[bytes]) -> bytes:
    """A whole file with a changed header; each record keeps its bytes."""
    fields = [
        f"  {json.dumps(n, ensure_ascii=False)}: {_header_value(v)}" for n, v in header.items() if n != "memories"
    ]
    body = b"\n    " + b",\n    ".join(raws) + b"\n  " if raws else b""
    lead = ",\n".join([*fields, '  "memories": ['])
    return b"{\n" + lead.encode() + body + b"]\n}\n"


def _header_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", "\n  ")
