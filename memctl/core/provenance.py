"""Who a text comes from: the class of its source, which what is made from it inherits.

Only what the user said may become a constraint, a preference or a fact about the user by itself. What a tool, a
document or an assistant said may be known, and says so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memctl.core.models import LAYER_DOCUMENT, LAYER_MESSAGE, Memory

USER, IMPORTED, DOCUMENT, ASSISTANT, TOOL, ANOTHER_USER = CLASSES = (
    "user",
    "imported",
    "document",
    "assistant",
    "tool",
    "another user",
)
"""The most trusted first: what is made from several is of the last of theirs."""

ORIGIN = "origin"
"""Name in a memory's metadata of the class, where its `source` does not say it."""

SAID = "said"
"""Name in a memory's metadata of the first and the last message that it was made from."""

SPEAKER = "speaker"
"""Name in a memory's metadata of the person who said it, where it is given and not the user's."""

_OF_SOURCE: Mapping[str, str] = {
    "agent": ASSISTANT,
    "langgraph": ASSISTANT,
    "model": ASSISTANT,
    "task_result": TOOL,
    "document": DOCUMENT,
    "import": IMPORTED,
}
_OF_ROLE: Mapping[str, str] = {"user": USER, "assistant": ASSISTANT, "tool": TOOL}


def origin(memory: Memory) -> str:
    """The class of a memory's source. A name that is not known counts as the user's own: people may write any."""
    if memory.layer == LAYER_DOCUMENT:
        return DOCUMENT
    if memory.layer == LAYER_MESSAGE:
        return _OF_ROLE.get(str(memory.metadata.get("role")), ASSISTANT)
    noted = memory.metadata.get(ORIGIN)
    return noted if isinstance(noted, str) and noted in CLASSES else _OF_SOURCE.get(memory.source, USER)


def least_trusted(origins: Iterable[str]) -> str:
    """The class of what is made from several."""
    return max(origins, key=CLASSES.index, default=USER)


def of_roles(roles: Iterable[str]) -> str:
    """The class of what is made from messages of these roles."""
    return least_trusted(_OF_ROLE.get(role, ASSISTANT) for role in roles)


def noted(origins: Iterable[str]) -> dict[str, Any]:
    """What a memory made from several notes in its metadata; nothing where all is the user's own."""
    origin = least_trusted(origins)
    return {} if origin == USER else {ORIGIN: origin}
