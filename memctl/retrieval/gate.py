"""Whether anything that was found answers a question at all: one decision a question. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.models import Hit


def strength(hits: Sequence[Hit]) -> float:
    """How well the best hits answer, absolute and in [0, 1]."""
    return max((hit.relevance for hit in hits), default=0.0)
