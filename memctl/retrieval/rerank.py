"""What a reranker's scores change: a share of each hit's own score, beside the parts that brought it there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log1p

from memctl.core.models import Hit

PART = "rerank"
"""Name of the reranker's part of a score."""

TIMES = 3
"""A reranker reads so many times the hits that were asked for …"""

MOST = 100
"""… but no more than this: each costs a pass through a network. What stands further down keeps its place behind."""


def depth(top: int) -> int:
    """How many hits a reranker reads to give the best `top`."""
    return min(TIMES * top, MOST)


def shares(scores: Sequence[float]) -> list[float]:
    """Scores as shares of the best one, in [0, 1].

    Rerankers give probabilities, or logits (where any lies outside of [0, 1]), which a logistic turns into these. So
    candidates that are all as good as certain share the first place, and what the store knows of them decides.
    """
    if not scores:
        return []
    if min(scores) >= 0 and max(scores) <= 1:
        best = max(scores)
        return [score / best if best else 1.0 for score in scores]
    best = max(map(_log_logistic, scores))
    return [exp(_log_logistic(score) - best) for score in scores]


def _log_logistic(logit: float) -> float:
    """The logarithm of 1 / (1 + exp(-logit)); it stays finite where the number itself would become 0."""
    return -log1p(exp(-logit)) if logit > 0 else logit - log1p(exp(logit))


def reranked(hits: Sequence[Hit], scores: Sequence[float], weight: float) -> list[Hit]:
    """The hits with the reranker's part; each still adds up to a score in [0, 1].

    Args:
        scores: of the first hits; those beyond have no such part.
        weight: the reranker's share, 0 to 1; the parts there were have the rest.
    """
    given = [*shares(scores), *[0.0] * (len(hits) - len(scores))]
    return [_with_part(hit, weight * share, 1 - weight) for hit, share in zip(hits, given, strict=True)]


def _with_part(hit: Hit, part: float, rest: float) -> Hit:
    parts = {**{name: value * rest for name, value in hit.parts.items()}, PART: part}
    return replace(hit, parts=parts, score=min(1.0, sum(parts.values())))
