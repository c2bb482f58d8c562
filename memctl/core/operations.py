"""What was done: one change, as the log keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memctl.core.models import LogLine

INTENT = "intent"
"""Phase of an operation as it is written before it begins."""


@dataclass(frozen=True)
class RecordStep:
    """One record's exact JSON before and after; None where it is not in the file."""

    memory_id: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class TextStep:
    """One other text before and after."""

    name: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Operation:
    """One change as the log keeps it.

    Args:
        header: the fields of `memory.json` beside the records, before and after, where they changed.
        erases: ids and files of a purge, which keeps no before and after.
        number: counts the operations of a folder: one that was finished is not carried out again.
        place: the copy of the folder in which it began.
    """

    op: str
    at: str
    command: str
    records: tuple[RecordStep, ...]
    texts: tuple[TextStep, ...]
    header: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    undoes: str = ""
    erases: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    phase: str = INTENT
    lines: tuple[LogLine, ...] = ()
    redoes: str = ""
    number: int = 0
    place: str = ""
