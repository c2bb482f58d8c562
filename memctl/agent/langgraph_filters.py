"""The filters of LangGraph's stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langgraph.store.base import MatchCondition


def matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Whether a namespace starts or ends with a path, in which `*` matches any label.

    Raises:
        ValueError: unknown type of condition.
    """
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"unsupported match type: {condition.match_type}")
    size = len(condition.path)
    part = namespace[:size] if condition.match_type == "prefix" else namespace[len(namespace) - size :]
    return len(namespace) >= size and all(w in ("*", label) for w, label in zip(condition.path, part, strict=True))


def fits(value: Any, wanted: Any) -> bool:
    """Whether a field of a value matches a filter.

    Raises:
        ValueError: unknown operator.
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
    """Compare numbers, and texts that hold numbers, by size; other texts alphabetically; nothing else has an order."""
    if operator in ("$eq", "$ne"):
        return bool((value == than) == (operator == "$eq"))
    if operator not in _ORDERS:
        raise ValueError(f"unsupported operator: {operator}")
    try:
        return _ORDERS[operator](float(value), float(than))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(than, str) and _ORDERS[operator](value, than)
