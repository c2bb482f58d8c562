"""Merging JSON values three ways, and the conflicts that come of it, as they are in `memory.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memctl.core import times
from memctl.core.formats import codec

CONFLICTS = "conflicts"
"""Field of `memory.json` with what waits for a person's decision."""

MERGE = "merge"
"""The `type` of the entries that a merge writes there."""

_ENTRY_ID = "mrg_"
_COUNTS_IN_METADATA = ("metadata/successes", "metadata/failures")


def entry(memory_id: str, name: str, base: Any, ours: Any, theirs: Any) -> dict[str, Any]:
    """A conflict as it is in `conflicts`; its id is the same whoever merges, and however often."""
    source = json_text([memory_id, name, base, *sorted((ours, theirs), key=json_text)])
    made = _ENTRY_ID + codec.digest(source.encode())[:12]
    values = {"base": base, "ours": ours, "theirs": theirs}
    return {"id": made, "type": MERGE, "memory_id": memory_id, "field": name, **values}


ABSENT: Any = object()

Settled = tuple[frozenset[str], frozenset[str]]
"""Fields of one record whose conflict was open where two sides parted: those that ours settled, and theirs."""


class Values:
    """Three-way merging of JSON values.

    Args:
        newer: 1 where ours was changed last, -1 where theirs was, 0 where that cannot be said.
        settled: fields of which ours, and theirs, has settled a conflict since they parted.
    """

    def __init__(self, memory_id: str, newer: int, conflicts: list[dict[str, Any]], settled: Settled) -> None:
        self.memory_id, self.newer, self.conflicts, self.settled = memory_id, newer, conflicts, settled

    def mapping(
        self, path: str, base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
    ) -> dict[str, Any]:
        merged = {}
        for name in names_of(base, ours, theirs):
            versions = [each.get(name, ABSENT) for each in (base, ours, theirs)]
            value = self.value(f"{path}{_escaped(name)}", *versions)
            if value is not ABSENT:
                merged[name] = value
        return merged

    def value(self, path: str, base: Any, ours: Any, theirs: Any) -> Any:
        if path in _COUNTS_IN_METADATA and _all_counts(base, ours, theirs):
            return summed(base, ours, theirs, 0)
        if same(ours, theirs):
            return ours
        ours_changed, theirs_changed = self.changed(path, base, ours, theirs)
        if not (ours_changed and theirs_changed):
            return ours if ours_changed else theirs
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            return self.mapping(f"{path}/", base if isinstance(base, Mapping) else {}, ours, theirs)
        if _is_set(ours) and _is_set(theirs):
            return united(base if _is_set(base) else [], ours, theirs)
        self.conflicts.append(entry(self.memory_id, path, *(None if v is ABSENT else v for v in (base, ours, theirs))))
        return self.chosen(ours, theirs)

    def changed(self, path: str, base: Any, ours: Any, theirs: Any) -> tuple[bool, bool]:
        """Whether each side changed a value, or decided in a conflict that it stays."""
        ours_settled, theirs_settled = (path in fields for fields in self.settled)
        return ours_settled or not same(base, ours), theirs_settled or not same(base, theirs)

    def chosen(self, ours: Any, theirs: Any) -> Any:
        """The value of the side that was changed last; else one that does not depend on which side is which."""
        if self.newer:
            return ours if self.newer > 0 else theirs
        return max((ours, theirs), key=lambda value: "" if value is ABSENT else json_text(value))


def names_of(base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """All names: the base's in its order, then what is new; from one side in its order, from both by name."""
    new = [[name for name in side if name not in base] for side in (ours, theirs)]
    one_sided = new[0] or new[1] if not (new[0] and new[1]) or new[0] == new[1] else sorted({*new[0], *new[1]})
    return [*base, *one_sided]


def _escaped(name: str) -> str:
    """A name as a step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _steps(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """The value of a field that a conflict names; None where there is none."""
    value: Any = record
    for step in _steps(path):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def put_at(record: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The record with that field set; None takes it out."""
    first, *rest = _steps(path)
    inner = record.get(first)
    if rest:
        value = put_at(inner if isinstance(inner, Mapping) else {}, path.split("/", 1)[1], value)
    changed = {**record, first: value}
    return changed if value is not None else {name: each for name, each in changed.items() if name != first}


def same(one: Any, other: Any) -> bool:
    """Whether two values are written alike; the order of names counts, so that a merge does not depend on sides."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return one is other or json.dumps(one) == json.dumps(other)


def json_text(value: Any) -> str:
    """JSON that is the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _is_set(value: Any) -> bool:
    """Whether a list is one of plain values, each once: then its order is a matter of taste."""
    plain = isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
    return plain and len({json_text(item) for item in value}) == len(value)


def united(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    """Three-way union: what a side took out is gone, what a side put in is there."""
    b, o, t = ({json_text(item): item for item in each} for each in (base, ours, theirs))
    stays = [item for name, item in b.items() if name in o and name in t]
    added = [[name for name in each if name not in b] for each in (o, t)]
    only = added[0] or added[1]
    names = only if not (added[0] and added[1]) or added[0] == added[1] else sorted({*added[0], *added[1]})
    return [*stays, *({**o, **t}[name] for name in names)]


def _all_counts(*values: Any) -> bool:
    """Whether they are whole numbers with a beginning to count from; without one, equal numbers may be one count."""
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def count(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def summed(base: Any, ours: Any, theirs: Any, default: int) -> int:
    start = count(base, default)
    return max(0, count(ours, default) + count(theirs, default) - start)


def by_time(ours: Any, theirs: Any, *, earliest: bool) -> Any:
    there = [value for value in (ours, theirs) if value is not ABSENT]
    return (min if earliest else max)(there, key=times.from_value) if there else ABSENT


# Conflicts that are known


def listed_in(header: Mapping[str, Any]) -> list[Any]:
    listed = header.get(CONFLICTS)
    return listed if isinstance(listed, list) else []


def entries_by_id(header: Mapping[str, Any]) -> dict[str, Any]:
    """What `conflicts` lists, by id; what has none, by what it says."""
    named = {}
    for each in listed_in(header):
        value = each.get("id") if isinstance(each, Mapping) else None
        named[value if isinstance(value, str) else json_text(each)] = each
    return named


def merged_entries(base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[Any]:
    """One that a side settled is settled; one that a side found is there, once."""
    names = [n for n in base if n in ours and n in theirs] + sorted((ours.keys() | theirs.keys()) - base.keys())
    return [min((side[n] for side in (ours, theirs) if n in side), key=json_text) for n in names]


def concerns(listed: Any) -> object:
    value = listed.get("memory_id") if isinstance(listed, Mapping) else None
    return value if isinstance(value, str) else None
