"""Choosing and ordering records for lists: filters, sort, paging."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memctl.core.models import Filters, Memory

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)

SORTS: Mapping[str, Callable[[Memory], Any]] = {
    "created": lambda m: m.created_at or _LONG_AGO,
    "updated": lambda m: m.updated_at or m.created_at or _LONG_AGO,
    "occurred": lambda m: m.when or _LONG_AGO,
    "importance": lambda m: m.importance,
    "confidence": lambda m: m.confidence,
    "reward": lambda m: m.reward,
    "used": lambda m: m.access_count,
    "text": lambda m: m.content.casefold(),
}


@dataclass(frozen=True)
class Selection:
    """Which records a list shows.

    Args:
        sort: a key of `SORTS`; the largest first unless `ascending`.
        limit: how many; None for all.
        offset: how many to step over.
    """

    filters: Filters = Filters()
    subcategory: str = ""
    key: str = ""
    source: str = ""
    sort: str = "created"
    ascending: bool = False
    limit: int | None = None
    offset: int = 0

    @property
    def span(self) -> slice:
        """Of all that fit, what is on this page."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)


@dataclass(frozen=True)
class Page:
    """The memories of one page, and how many all pages have."""

    memories: Sequence[Memory]
    total: int


def select(memories: Iterable[Memory], chosen: Selection) -> list[Memory]:
    """The memories that fit, in order, paged; ties by id, which is the order in which they were written."""
    return [*page(memories, chosen).memories]


def page(memories: Iterable[Memory], chosen: Selection) -> Page:
    """As `select`, with the number of all that fit."""
    selected = [m for m in memories if _fits(m, chosen)]
    selected.sort(key=lambda m: (SORTS[chosen.sort](m), m.memory_id), reverse=not chosen.ascending)
    return Page(selected[chosen.span], len(selected))


def _fits(memory: Memory, chosen: Selection) -> bool:
    return (
        (not chosen.subcategory or memory.subcategory == chosen.subcategory)
        and (not chosen.key or memory.key == chosen.key)
        and (not chosen.source or memory.source == chosen.source)
    )
