"""How much a conversation may hold, and what settings name: policies of windows and of fading, rankings."""

from __future__ import annotations

from dataclasses import dataclass

SUMMARIZE, TRUNCATE, OFFLOAD, AUTO = POLICIES = ("summarize", "truncate", "offload", "auto")
"""What makes room in a window: old messages give way to a rolling summary; they go; large content is offloaded
first; or automatically, which acts early: merge, summarize, offload."""


HALF_LIFE, AGE, GATE, CAPACITY, STRATEGIES = DECAY_POLICIES = ("half-life", "age", "gate", "capacity", "strategies")
"""What archives a memory; `memctl/decay/policies.py` has their rules."""


RELEVANCE, BY_DOCUMENT = RANKINGS = ("relevance", "document")
"""What orders the hits of a question; `memctl/retrieval/rank.py` has their rules."""

SIMILARITY = "similarity"
"""The part of a score that only the ranking `document` has."""


@dataclass(frozen=True)
class Limits:
    """The numbers of a window (formulas, working memory); `docs/settings.md` says what each means.

    Args:
        messages, turns: 0 for no limit.
        summary_most: share of the window's tokens that a summary takes at most, however much it stands for.
    """

    tokens: int = 8_000
    messages: int = 0
    turns: int = 0
    compact_to: float = 0.8
    keep_last: int = 10
    summary_share: float = 0.3
    output_characters: int = 500
    acknowledgement_characters: int = 20
    auto_messages: int = 30
    auto_share: float = 0.3
    summary_most: float = 0.25
