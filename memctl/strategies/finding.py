"""Error-recovery strategies in the index, and their Markdown."""

from __future__ import annotations

from datetime import datetime

from memctl.core.formats import document, reflections
from memctl.core.models import Filters, Memory
from memctl.errors import MemctlError
from memctl.storage.folder.entries import memory_of
from memctl.storage.folder.view import View
from memctl.strategies import records
from memctl.strategies.records import Strategy


def tagged(view: View, now: datetime, *tags: str) -> dict[str, Strategy]:
    """The active strategies with all these tags, by id."""
    found = view.index.matching(Filters(kinds=(records.KIND,), tags=tags), now)
    memories = [memory_of(entry) for entry in found if entry.path == document.FILE_NAME]
    strategies = (_read(view, memory) for memory in memories)
    return {strategy.memory.memory_id: strategy for strategy in strategies if strategy is not None}


def _read(view: View, memory: Memory) -> Strategy | None:
    """A record as a strategy; older records have the error's message only in their Markdown."""
    strategy = records.read(memory)
    if strategy is None or strategy.message:
        return strategy
    return records.read(memory, records.message_in(body_of(view, memory)))


def body_of(view: View, memory: Memory) -> str:
    """The Markdown of a strategy; empty where there is none, or it is unreadable."""
    if not reflections.is_reference(memory.summary_md_ref):
        return ""
    try:
        reflection = view.reflection(memory.summary_md_ref)
    except MemctlError:
        return ""
    return reflection.body if reflection else ""
