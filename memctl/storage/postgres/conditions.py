"""Filters as SQL conditions on `entries e`; they match those of a folder's index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memctl.core.models import ACTIVE, DOCUMENTS, MESSAGES, Filters
from memctl.storage.entries import columns
from memctl.storage.postgres.escaping import short, texts
from memctl.storage.postgres.state import PARTS

_BELIEVED = """(e.record OR e.part = 2) AND e.status <> 'candidate' AND e.begins <= {known}
    AND (e.expires IS NULL OR e.expires > {known})
    AND coalesce((SELECT s.begins FROM entries s WHERE e.status = 'superseded' AND s.user_id = e.user_id
                  AND s.path = 'memory.json' AND s.ref = e.superseded_by), e.ends, 1e12) > {known}"""
"""What took another's place says when: `valid_to` of the old one is about the world, not about what was known."""

_VALID = """e.record AND e.valid_from <= {valid}
    AND CASE WHEN coalesce((SELECT CASE WHEN s.begins <= {known} THEN least(coalesce(e.valid_to, 1e12), s.valid_from)
                            ELSE coalesce(e.expires, 1e12) END FROM entries s
                            WHERE e.status = 'superseded' AND s.user_id = e.user_id AND s.path = 'memory.json'
                            AND s.ref = e.superseded_by), e.valid_to, 1e12) > {valid}
    THEN NOT EXISTS (WITH RECURSIVE later (ref) AS (
                         SELECT e.superseded_by WHERE e.status = 'superseded'
                         UNION SELECT n.superseded_by FROM later JOIN entries n ON n.user_id = e.user_id
                         AND n.path = 'memory.json' AND n.ref = later.ref AND n.status = 'superseded')
                     SELECT FROM later JOIN entries s ON s.user_id = e.user_id AND s.path = 'memory.json'
                     AND s.ref = later.ref AND s.begins <= {known} AND s.valid_from <= {valid})
    ELSE false END"""
"""When a fact began to hold, and when it ceased to; see `storage/index/search.py`."""

_KNOWN = "e.status <> 'candidate' AND e.begins <= {known} AND (e.status <> 'archived' OR e.ends > {known})"

_ALWAYS = 1e12


class Arguments:
    """The arguments of a statement, with a placeholder for each."""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)

    def __call__(self, value: Any) -> str:
        """Add an argument; returns its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"


@dataclass(frozen=True)
class Where:
    """A filter.

    Args:
        few: whether its part of an answer is small, so that its rows are listed quickly.
    """

    filters: Filters
    now: datetime
    few: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether nearly all entries of its part pass."""
        return self.filters == Filters(only=self.filters.only) and not self.few

    @property
    def is_inactive(self) -> bool:
        """Whether no active memory passes, so that few entries do."""
        statuses = columns.statuses(self.filters)
        return bool(statuses) and ACTIVE not in statuses

    @property
    def anywhere(self) -> Where:
        """The filter without its part."""
        return replace(self, filters=replace(self.filters, only=""), few=False)

    def sql(self, argument: Arguments) -> str:
        """The SQL condition. Expired memories pass only if the filter says so."""
        filters = self.filters
        if self.few and filters in (Filters(only=DOCUMENTS), Filters(only=MESSAGES)):
            return f"e.part = {PARTS[filters.only]}"  # they are active and do not expire
        return " AND ".join([*_times(filters, self.now, argument), *_others(filters, argument)]) or "true"


def _times(filters: Filters, now: datetime, argument: Arguments) -> list[str]:
    if not (filters.valid_at or filters.as_of):
        expires = "" if filters.expired else f"{argument(now.timestamp())}::float8"
        return [f"(e.expires IS NULL OR e.expires > {expires})"] if expires else []
    known = f"{argument(filters.as_of.timestamp() if filters.as_of else _ALWAYS)}::float8"
    if not filters.valid_at:
        return [_BELIEVED.format(known=known)]
    valid = f"{argument(filters.valid_at.timestamp())}::float8"
    conditions = [_VALID, _KNOWN] if filters.as_of else [_VALID]
    return [condition.format(known=known, valid=valid) for condition in conditions]


def _others(filters: Filters, argument: Arguments) -> list[str]:
    conditions = [
        f"e.{column} = ANY({argument(texts(map(short, values)))}::text[])" for column, values in columns.wanted(filters)
    ]
    if filters.only:
        conditions.append(f"e.part = {PARTS[filters.only]}")
    conditions += [
        f"EXISTS (SELECT FROM tags t WHERE t.user_id = $1 AND t.tag = {argument(short(tag))} AND t.n = e.n)"
        for tag in filters.tags
    ]
    for comparison, moment in ((">=", filters.since), ("<", filters.until)):
        if moment:
            conditions.append(f"e.happened {comparison} {argument(moment.timestamp())}::float8")
    for column, flag in (("pinned", filters.pinned), ("needs_revision", filters.needs_revision)):
        if flag is not None:
            conditions.append(f"e.{column} = {'true' if flag else 'false'}")
    return conditions
