"""Error-recovery strategies in the index, and their Markdown."""

from __future__ import annotations

from datetime import datetime

from memctl.core.formats import reflections
from memctl.core.models import Filters, Memory
from memctl.errors import MemctlError
from memctl.storage.ports.view import View
from memctl.strategies import records
from memctl.strategies.records import Strategy


def tagged(view: View, now: datetime, *tags: str) -> dict[str, Strategy]:
    """The active strategies with all these tags, by id."""
    strategies = (_read(view, memory) for memory in view.matching(Filters(kinds=(records.KIND,), tags=tags), now))
    return {strategy.memory.memory_id: strategy for strategy in strategies if strategy is not None}


def _read(view: View, memory: Memory) -> Strategy | None:
    """A record as a strategy; older records have the error's message only in their Markdown."""
    strategy = records.read(memory)
    if strategy is None or strategy.message:
        return strategy
    return records.read(memory, records.message_in(body_of(view, memory)))


def body_of(view: View, memory: Memory) -> str:
    """The Markdown of a strategy; empty if there is none, or it is unreadable."""
    if not reflections.is_reference(memory.summary_md_ref):
        return ""
    try:
        reflection = view.reflection(memory.summary_md_ref)
    except MemctlError:
        return ""
    return reflection.body if reflection else ""
