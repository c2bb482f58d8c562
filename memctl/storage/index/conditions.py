"""Filters as conditions in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memctl.core.models import DOCUMENTS, MEMORIES, MESSAGES, Filters
from memctl.storage.entries import columns

_PATHS = {
    DOCUMENTS: ("knowledge/", "knowledge0"),
    MEMORIES: ("memory.json", "transcripts/"),  # and reflections between them
    MESSAGES: ("transcripts/", "transcripts0"),
}
"""The range of paths of each part of an answer: from the first, up to the second exclusively."""


def within(part: str, table: str = "e") -> str:
    """The condition that a row's path belongs to this part."""
    low, high = _PATHS[part]
    return f"({table}.path >= '{low}' AND {table}.path < '{high}')"


@dataclass(frozen=True)
class Where:
    """A condition on `entries e` with its arguments; `by_path`: whether its rows are quickly listed by path."""

    condition: str
    arguments: tuple[Any, ...]
    selective: bool = True
    by_path: bool = False


_BELIEVED = """(e.path = 'memory.json' OR e.layer = 'MSG') AND e.status != 'candidate'
    AND e.begins <= ?
    AND (e.expires IS NULL OR e.expires > ?)
    AND coalesce((SELECT s.begins FROM entries s WHERE e.status = 'superseded' AND s.path = 'memory.json'
                  AND s.ref = e.superseded_by), e.ends, 1e12) > ?"""
"""When a memory ceased to be believed: its successor says it, because `valid_to` is about the world, not about what was
known."""

_VALID = """e.path = 'memory.json' AND e.valid_from <= ?
    AND CASE WHEN coalesce((SELECT CASE WHEN s.begins <= ? THEN min(coalesce(e.valid_to, 1e12), s.valid_from)
                            ELSE coalesce(e.expires, 1e12) END FROM entries s
                            WHERE e.status = 'superseded' AND s.path = 'memory.json' AND s.ref = e.superseded_by),
                           e.valid_to, 1e12) > ?
    THEN NOT EXISTS (WITH RECURSIVE later (ref) AS (
                         SELECT e.superseded_by WHERE e.status = 'superseded'
                         UNION SELECT n.superseded_by FROM later CROSS JOIN entries n INDEXED BY entries_path
                         WHERE n.path = 'memory.json' AND n.ref = later.ref AND n.status = 'superseded')
                     SELECT 1 FROM later CROSS JOIN entries s INDEXED BY entries_path
                     WHERE s.path = 'memory.json' AND s.ref = later.ref AND s.begins <= ? AND s.valid_from <= ?)
    END"""
"""Whether something was so at a time. Takes the time, when it was known, and both again. A superseded value ends where
its successor begins, or the successor of that, if it was known; without a start date, the date of the event counts,
else that of writing. Later successors are followed only if the rest of the condition is true, because that is slow."""

_KNOWN = "e.status != 'candidate' AND e.begins <= ? AND (e.status != 'archived' OR e.ends > ?)"
"""What was known at a time, even if it was no longer true then."""

_ALWAYS = 1e12


def _in_time(filters: Filters, now: datetime) -> tuple[list[str], list[Any]]:
    """The conditions on time."""
    known = filters.as_of.timestamp() if filters.as_of else _ALWAYS
    if filters.valid_at:
        valid = filters.valid_at.timestamp()
        conditions = [_VALID, _KNOWN] if filters.as_of else [_VALID]
        return conditions, [valid, known] * 2 + [valid] + ([known] * 2 if filters.as_of else [])
    if filters.as_of:
        return [_BELIEVED], [known] * 3
    if filters.expired:
        return [], []
    return ["(e.expires IS NULL OR e.expires > ?)"], [now.timestamp()]


def where(filters: Filters, now: datetime, *, few: bool = False) -> Where:
    """Filters as SQL. Expired memories pass only if the filter says so.

    Args:
        few: the filters name a small part of the answer, whose rows are quickly listed.
    """
    if filters in (Filters(only=DOCUMENTS), Filters(only=MESSAGES)) and few:
        # Active and without expiry: an index answers this without reading the rows.
        return Where(within(filters.only), (), by_path=True)
    parts, arguments = _in_time(filters, now)
    for column, values in columns.wanted(filters):
        parts.append(f"e.{column} IN ({','.join('?' * len(values))})")
        arguments += values
    if filters.only:
        parts.append(within(filters.only))
    for tag in filters.tags:
        parts.append("EXISTS (SELECT 1 FROM tags t WHERE t.tag = ? AND t.entry = e.rowid)")
        arguments.append(tag)
    for condition, moment in (("e.happened >= ?", filters.since), ("e.happened < ?", filters.until)):
        if moment:
            parts.append(condition)
            arguments.append(moment.timestamp())
    for column, flag in (("pinned", filters.pinned), ("needs_revision", filters.needs_revision)):
        if flag is not None:
            parts.append(f"e.{column} = ?")
            arguments.append(int(flag))
    plain = filters == Filters(only=filters.only) and not few
    return Where(" AND ".join(parts) or "true", tuple(arguments), selective=not plain, by_path=few)
