"""A past state of the memories, and what a part of an operation is now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memctl.core import times
from memctl.core.formats import knowledge, reflections
from memctl.core.models import LogLine
from memctl.core.names import FEEDBACK
from memctl.history import past
from memctl.history.past import HEADER, LINE, RECORD, Key, Unsure
from memctl.storage.ports.view import View

SHARED = (reflections.FOLDER, knowledge.FOLDER, FEEDBACK)
"""Files beside `memory.json` that have a history: those that git may have."""


@dataclass(frozen=True)
class Past:
    """The memories as they were.

    Args:
        source: where this is known from: `the log`, or `git abc1234`.
        at: the time it is of.
        records: exact JSON of each record, by id.
        files: each other file that may differ from now, by path; None where there was none.
        unsure: what somebody changed without memctl, so that the log cannot say when.
        deleted: deletions of messages that were made, or taken back, since: whether each stood then.
        notes: sentences on what is not known.
        clamped: it is the beginning of the log, because neither that nor git goes back as far as was asked for.
    """

    source: str
    at: datetime
    records: Mapping[str, bytes]
    files: Mapping[str, bytes | None]
    unsure: Mapping[Key, Unsure] = field(default_factory=dict)
    deleted: Mapping[Key, bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    clamped: bool = False

    def __str__(self) -> str:
        return f"{self.source} ({times.to_text(self.at)})"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes this worse than it should be, in sentences."""
        ids = sorted(key.name for key in self.unsure if key.kind == RECORD)
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        note = f"changed outside memctl, and the log does not know when: {', '.join(ids[:3])}{more}"
        return (*([note] if ids else ()), *self.notes)


def present_value(view: View, key: Key) -> bytes | None:
    """What a part of an operation is now."""
    if key.kind == RECORD:
        return view.raws([key.name]).get(key.name)
    if key.kind == HEADER:
        return past.header_bytes(view.header.get(key.name))
    if key.kind == LINE:
        return key.line if view.has_line(LogLine(key.name, key.line)) else None
    return view.read(key.name)
