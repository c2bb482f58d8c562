"""What kind of thing a text says, read from its wording: kept in the index, so that ranking need not read the text."""

from __future__ import annotations

import re
from functools import cache

from memctl.core import kinds
from memctl.core.models import LAYER_MESSAGE, Memory

LONGEST_QUESTION = 35
"""Terms: a longer message that ends with a question tells something too, and what follows is rarely a short answer."""

_STANDING = (
    r"(?:^|[.!?\n][^\S\n]*|\bplease )(?:always|never)\b|\bfrom now on\b|\bmy preference\b"
    r"|\b(?:i|we)(?:'d| would| really| usually| always)? prefer\b"
    r"|(?:^|[。！？\n，,])请?(?:总是|始终|一律|永远|绝不|不要再|别再)|以后(?:都|请|不要|别)|从(?:现在|今)(?:开始|以后|起)"
    r"|我(?:更|比较|一般|通常)?(?:偏好|喜欢用|倾向)"
)
_SPEAKER = r"([A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,2}|[\u4e00-\u9fff]{2,4}): ?\S"


@cache
def _pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when it is first used: a question needs none of these."""
    return re.compile(text, flags)


def asks(text: str, length: int) -> bool:
    """Whether a text is a short question; what is said next is then likely its answer.

    Args:
        length: of the text, in terms.
    """
    return length <= LONGEST_QUESTION and text.rstrip(" \t\r\n\"'”’)）~*").endswith(("?", "？"))


def stands(memory: Memory) -> bool:
    """Whether a memory is a preference or an instruction that holds until it is taken back. Of messages, only the
    user's are: what a tool or a page says is no wish."""
    if memory.layer == LAYER_MESSAGE and memory.metadata.get("role") != "user":
        return False
    return kinds.kind(memory.kind).lasting or _pattern(_STANDING, re.IGNORECASE).search(memory.content) is not None


def speaker(memory: Memory) -> str:
    """Who said it: as the metadata says, else as a text of the form `Name: …` does; empty where nothing tells."""
    named = memory.metadata.get("speaker")
    if isinstance(named, str) and named.strip():
        return named.strip().lower()
    if memory.layer == LAYER_MESSAGE:
        return str(memory.metadata.get("role", ""))
    match = _pattern(_SPEAKER).match(memory.content)
    return match[1].lower() if match and memory.session_id else ""
