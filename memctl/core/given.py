"""Checks of what a Python program gives: a wrong type gets an error that names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memctl.errors import UsageError


def need_text(value: Any, what: str) -> str:
    """The value, if it is text.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(value, str):
        raise UsageError(f"{what} must be text, not {type(value).__name__}")
    return value


def need_texts(values: str | Iterable[str], what: str) -> list[str]:
    """The values, each checked as by `need_text`; one text is a list of one, and not a list of its letters."""
    return [values] if isinstance(values, str) else [need_text(each, what) for each in values]


def need_mapping(value: Any, what: str) -> Mapping[str, Any]:
    """The value, if it is a mapping.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"{what} must be a mapping, not {type(value).__name__}")
    return value
