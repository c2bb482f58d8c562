"""What is no evidence: text that memctl itself gave to a prompt, and that came back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from memctl.core.models import ACTIVE, Memory
from memctl.core.recalled import holds_recalled


def recalled(memories: Sequence[Memory], bodies: Mapping[str, str]) -> list[str]:
    """Active memories that hold a recalled block, or repeat a sentence of a summary that is older and not of them."""
    told: dict[str, list[Memory]] = {}
    for memory in memories:
        if memory.sources and memory.status == ACTIVE:
            for sentence in _sentences(memory, bodies.get(memory.memory_id, "")):
                told.setdefault(sentence, []).append(memory)
    return [
        m.memory_id
        for m in memories
        if m.status == ACTIVE
        and (holds_recalled(m.content) or any(_repeats(m, summary) for summary in told.get(plain(m.content), ())))
    ]


def _repeats(memory: Memory, summary: Memory) -> bool:
    if memory.sources or memory.memory_id in summary.sources:
        return False
    return bool(memory.created_at and summary.created_at and memory.created_at > summary.created_at)


_SOURCES_NAMED = re.compile(r"\s*\([^()]*\bmem_[^()]*\)\s*$", re.MULTILINE)
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+\.|#+)\s+")
_SHORTEST_TELLING = 12


def _sentences(memory: Memory, body: str) -> set[str]:
    """What a summary says: its content, its key points, the lines of its reflection."""
    held = memory.metadata.get("key_points")
    lines = [memory.content, *(p for p in (held if isinstance(held, list) else []) if isinstance(p, str))]
    lines += [_LIST_MARK.sub("", line) for line in _SOURCES_NAMED.sub("", body).splitlines()]
    return {plain for plain in map(plain, lines) if len(plain.encode()) >= _SHORTEST_TELLING}


def plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!。！ ")
