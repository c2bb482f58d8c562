"""What all tools of an agent share."""

from __future__ import annotations

from memctl.agent.shared import Shared


class Tools:
    """Tools over one user's memories and those that this user may read."""

    shared: Shared
    forgotten: list[str]
    """What was forgotten since the user's last message."""
