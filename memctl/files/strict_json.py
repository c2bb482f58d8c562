"""JSON without its traps: no name twice in one object, no NaN, no number that becomes infinite."""

from __future__ import annotations

import json
from typing import Any


class StrictError(ValueError):
    """Valid for a lenient reader, but not one thing: what is wrong, in words."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise StrictError(f"the name {twice!r} stands twice in one object")
    return found


def _no_number(text: str) -> Any:
    raise StrictError(f"{text[:40]} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if abs(value) == float("inf"):
        raise StrictError(f"the number {text[:40]} is too large")
    return value


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)
