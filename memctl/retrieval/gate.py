"""Whether anything that was found answers a question at all: one decision a question. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from memctl.models import Hit


def strength(hits: Sequence[Hit], weights: Mapping[str, float], counts: Mapping[str, int]) -> float:
    """How well what is known answers a question, absolute and in [0, 1].

    The relevance of the best hit, less where the store does not know the question's words at all: a question about
    other things often shares a common word with something, but its rare words are unknown (docs/ranking.md).

    Args:
        weights: of the words of the question.
        counts: in how many entries each stands.
    """
    best = max((hit.relevance for hit in hits), default=0.0)
    whole = sum(weights.values())
    known = sum(weight for word, weight in weights.items() if counts.get(word)) / whole if whole else 1.0
    return best * sqrt(known)
