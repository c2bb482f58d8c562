"""Text that is safe to show, shortened in one way; and the words for a day, a size, a memory."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from memctl.core.text import shortening

if TYPE_CHECKING:
    from datetime import datetime

    from memctl.core.models import Memory

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e0fff]"
)
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Text that is safe to send to a terminal: control and direction characters become visible escapes."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str, width: int = sys.maxsize) -> str:
    """The text on one line, cut to a width in characters."""
    return shortening.cut(shortening.one_line(clean(text)), width)


def safe_json(text: str) -> str:
    """JSON with what a terminal would obey written as escapes; it means the same."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "no date"


def size(size: int) -> str:
    """A number of bytes for a person."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def _message_line(memory: Memory) -> str:
    """One line about a message: who said it, when, in which session."""
    from memctl.context.fence import speaker_of

    about = memory.metadata
    part = f"part {int(about['part']) + 1} of {about['parts']}" if "part" in about else ""
    when = f"{memory.when:%Y-%m-%d %H:%M}" if memory.when else "no date"
    named = (memory.memory_id, "message", when, speaker_of(memory), f"session {about.get('session', '')}", part)
    return "  ".join(one_line(each) for each in named if each)


def memory_line(memory: Memory) -> str:
    """One line about a memory, about a message, or about a passage of a document."""
    if memory.layer == "MSG":
        return _message_line(memory)
    if memory.layer == "DOC":
        return f"{memory.memory_id}  {one_line(str(memory.metadata['heading']))}"
    marks = "".join(mark for mark, on in (("★", memory.pinned), ("⚠", memory.needs_revision)) if on)
    return f"{memory.memory_id}  {memory.category}/{memory.kind}  {day(memory.when)}  {marks}"
