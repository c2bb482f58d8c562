"""Which messages a memory was made from, and which memories from a message: what goes with what is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from memctl.core.provenance import SAID
from memctl.entries import memory_of, message_memory
from memctl.files import document, naming
from memctl.index.protocol import Found
from memctl.index.stopwords import is_stop
from memctl.index.text import terms
from memctl.models import MEMORIES, MESSAGES, Filters, Memory
from memctl.view import View

USER = "user"

LOOKED_AT, RAREST = 50, 8
"""How many entries are compared with a text, and by how many of its rarest words they are found."""

COVERED, LEAST_WORDS = 0.8, 3
"""A message of the user's says a memory where it holds this share of its words, if these are so many …"""

FEW_WORDS, SHORT = 2, 4
"""… or all of so few, in a part of a sentence that has hardly any others."""

_PARTS = re.compile(r"[.!?,;:\n。！？，；：]+")
_USER = "the user 用户"
"""How an agent calls the one who says "I"."""


def sources(view: View, memory: Memory, user: str, now: datetime) -> list[str]:
    """The ids of the messages that say a memory: the one it was extracted from, and others of the user's that say the
    same. An episode stands for many messages, and none of them says it.

    Args:
        user: whose memory it is: "Alice likes tea" is what Alice said as "I like tea".
    """
    span = naming.listed(memory.metadata.get(SAID))
    own = [span[0]] if span and span[0] == span[-1] else []
    if span and not own:
        return []
    wanted = _telling(memory.content) - frozenset(terms(f"{_USER} {user}"))
    found = (message_memory(entry.raw) for entry in _near(view, memory.content, MESSAGES, now))
    same = (m.memory_id for m in found if m.metadata.get("role") == USER and says(wanted, m.content))
    saying = [*dict.fromkeys((*own, *same))]
    return [*dict.fromkeys((*saying, *_echoes(view, saying, wanted)))]


def _echoes(view: View, message_ids: Iterable[str], wanted: frozenset[str]) -> Iterator[str]:
    """The answers right behind the messages that repeat a word of them."""
    rows = [entry.rowid for message_id in message_ids for entry in view.index.messages(message_id)]
    after = [one.after for one in view.index.neighbours(rows) if one.after is not None and one.after not in rows]
    for entry in view.index.found(after):
        answer = message_memory(entry.raw)
        if answer.metadata.get("role") != USER and wanted & frozenset(terms(answer.content)):
            yield answer.memory_id


def says(wanted: frozenset[str], text: str) -> bool:
    """Whether a text holds nearly all of some words."""
    if len(wanted) == FEW_WORDS:
        return any(wanted <= (held := _telling(part)) and len(held) <= SHORT for part in _PARTS.split(text))
    return len(wanted) >= LEAST_WORDS and len(wanted & frozenset(terms(text))) >= COVERED * len(wanted)


def made_from(view: View, message_ids: Iterable[str], now: datetime) -> list[Memory]:
    """The memories that were made from one of these messages alone, and the episodes that repeat it."""
    going: dict[str, Memory] = {}
    for message_id in message_ids:
        text = "\n".join(message_memory(entry.raw).content for entry in view.index.messages(message_id))
        for entry in _near(view, text, MEMORIES, now) if text else ():
            memory = memory_of(entry)
            if entry.path == document.FILE_NAME and _is_of(memory, message_id, text):
                going[memory.memory_id] = memory
    return [*going.values()]


def _is_of(memory: Memory, message_id: str, text: str) -> bool:
    span = naming.listed(memory.metadata.get(SAID))
    if span and span[0] == span[-1]:
        return span[0] == message_id
    repeated = " ".join(text.split())
    return bool(span) and len(repeated) >= LEAST_WORDS and repeated in " ".join(memory.content.split())


def _near(view: View, text: str, part: str, now: datetime) -> list[Found]:
    words, filters = sorted(_telling(text)), Filters(only=part, statuses=())
    return view.index.sharing_rarest(words, filters, now, rarest=RAREST, limit=LOOKED_AT)


def _telling(text: str) -> frozenset[str]:
    found = frozenset(terms(text))
    return frozenset(word for word in found if not is_stop(word)) or found
