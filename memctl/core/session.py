"""What is stored of a session: the state of its components, and messages that left it and wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from memctl.core import times

EVICTED = "evicted"
"""Why messages are in the queue: they left a window."""


@dataclass(frozen=True)
class Session:
    """A session's file.

    Args:
        components: the state of each component, by its name; memctl gives back unchanged what it does not know.
        timestamp: when it was saved, as it is in the file.
        extra: fields of the file memctl does not know.
        digest: of the file's bytes when it was read; empty for a session that has no file yet.
        own: whether this machine's user wrote it; another's is shown, and nothing is learned from it.
    """

    session_id: str
    components: Mapping[str, Any] = field(default_factory=dict)
    timestamp: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    own: bool = True

    def with_component(self, name: str, state: Any) -> Session:
        """The session with one component's state set; taken out where it is None."""
        others = {key: value for key, value in self.components.items() if state is not None or key != name}
        return replace(self, components=others | ({name: state} if state is not None else {}))

    @property
    def saved_at(self) -> datetime | None:
        """When it was saved; None where the file does not say."""
        try:
            return times.from_value(self.timestamp) if self.timestamp else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Queued:
    """Messages that left a window, or were left at a session's end, and wait to become an episode.

    Args:
        queue_id: also the `external_id` of the episode, so that there is one.
        messages: in the form of a session's file.
        reason: `evicted`, `ended` or `idle`.
        own: whether they come from a session that this machine's user wrote; else nothing is learned from them.
        kept: whether it was decided already if they are kept; not by versions that had no transcripts.
    """

    queue_id: str
    session_id: str
    at: datetime
    messages: tuple[Mapping[str, Any], ...]
    reason: str = EVICTED
    own: bool = True
    kept: bool = True


def digest(value: Any) -> str:
    """What tells two states apart."""
    return blake2b(
        json.dumps(value, ensure_ascii=True, sort_keys=True, default=str).encode(), digest_size=16
    ).hexdigest()
