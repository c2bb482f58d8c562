"""Ranking: a blend of two signals, each divided by its best, and a bounded boost. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from memctl import times
from memctl.models import LAYER_DOCUMENT, LAYER_REFLECTION, Hit, Memory, Route
from memctl.retrieval.retrieve import Candidate

T = TypeVar("T")

SHARES: Mapping[str, float] = {"importance": 0.3, "confidence": 0.2, "reward": 0.5}
SHARES_PRESENT: Mapping[str, float] = {"importance": 0.2, "confidence": 0.15, "reward": 0.35, "recency": 0.3}
"""How much each quality counts in the boost; recency only where the question asks for the present."""

RECENCY_HALF_LIFE_DAYS = 90.0

LEAST_BEST_COSINE = 0.3
"""Where nothing is nearer than this, the vectors know nothing of the question, and their best is no answer."""

USED_SHARE, USED_RELEVANCE = 0.5, 0.4
"""A hit counts as used with half of the best score and a word of the question in it, or near it in meaning."""

OUTSIDE_SHARE = 0.5
"""A hit outside the route stays if it scores at least this share of the best one inside."""


OF_ONE_DOCUMENT = 3
"""How many of ten hits may be passages of one document, as long as there is anything else to show."""


@dataclass(frozen=True)
class Weights:
    """How the two signals blend; they add up to 1. `boost` is the most by which qualities move a hit."""

    lexical: float
    vector: float
    boost: float


def blend(candidates: Sequence[Candidate], weights: Weights) -> dict[int, tuple[float, float]]:
    """Per row the lexical and the vector part, each signal divided by its best so that both lie in [0, weight].

    Where one signal found nothing at all, the other has the whole weight.
    """
    best_lexical = max((c.lexical for c in candidates), default=0.0)
    best_cosine = max((c.cosine for c in candidates), default=0.0)
    nearest = max(best_cosine, LEAST_BEST_COSINE)
    if best_cosine <= 0:
        weights = replace(weights, lexical=1.0, vector=0.0)
    elif best_lexical <= 0:
        weights = replace(weights, lexical=0.0, vector=1.0)
    return {
        c.rowid: (
            weights.lexical * _share(c.lexical, best_lexical),
            weights.vector * _share(c.cosine, nearest),
        )
        for c in candidates
    }


NEIGHBOUR_SHARE = 0.2
"""What the better of the two messages beside one in its session adds to it, as a share of that one's own score."""

LEADERS = 60
"""So many of the best lift their neighbours; what lies further down lifts nothing to the top."""


def lifted(
    blended: Mapping[int, tuple[float, float]], neighbours: Sequence[tuple[int, int]]
) -> dict[int, tuple[float, float, float]]:
    """The parts with what each entry's best neighbour adds; entries no signal found may come in by it.

    Args:
        neighbours: pairs of an entry and one beside it.
    """
    best: dict[int, float] = {}
    for row, other in neighbours:
        best[other] = max(best.get(other, 0.0), sum(blended.get(row, (0.0, 0.0))))
    rows = blended.keys() | best.keys()
    scale = 1 + NEIGHBOUR_SHARE if best else 1.0
    found = {}
    for row in rows:
        lexical, vector = blended.get(row, (0.0, 0.0))
        found[row] = (lexical / scale, vector / scale, NEIGHBOUR_SHARE * best.get(row, 0.0) / scale)
    return found


def _share(value: float, best: float) -> float:
    return max(0.0, value / best) if best > 0 else 0.0


def qualities(memory: Memory, now: datetime, present: bool) -> dict[str, float]:
    """What the boost is made of, each in [-1, 1], weighted by its share."""
    values = {
        "importance": 2 * memory.importance - 1,
        "confidence": 2 * memory.confidence - 1,
        "reward": memory.reward,
        "recency": _recency(memory, now),
    }
    return {name: share * values[name] for name, share in (SHARES_PRESENT if present else SHARES).items()}


def _recency(memory: Memory, now: datetime) -> float:
    if memory.when is None:
        return 0.0
    return float(2 * 0.5 ** (times.days_between(memory.when, now) / RECENCY_HALF_LIFE_DAYS) - 1)


def parts(
    base: tuple[float, float, float], memory: Memory, weights: Weights, now: datetime, present: bool
) -> dict[str, float]:
    """The score of a hit, taken apart; the sum lies in [0, 1].

    The whole is blend x (1 + boost) / (1 + the largest boost): multiplied, so that what does not answer the question
    is not lifted by being important.
    """
    lexical, vector, neighbour = (value / (1 + weights.boost) for value in base)
    whole = lexical + vector + neighbour
    moved = {name: whole * weights.boost * value for name, value in qualities(memory, now, present).items()}
    return {"lexical": lexical, "vector": vector, "neighbour": neighbour, **moved}


def order(hits: Sequence[Hit]) -> list[Hit]:
    """Best first; ties by id, so that the same question always gets the same answer."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.memory.memory_id))


def spread(items: Sequence[T], document_of: Callable[[T], str], top: int) -> list[T]:
    """The items, best first, those beyond the share of their document behind all others.

    Args:
        document_of: the document an item belongs to; empty for what may stand as often as it likes.
    """
    share = OF_ONE_DOCUMENT * -(-top // 10)
    seen: Counter[str] = Counter()
    first: list[T] = []
    later: list[T] = []
    for item in items:
        document = document_of(item)
        seen[document] += 1
        (later if document and seen[document] > share else first).append(item)
    return first + later


def document_of(hit: Hit) -> str:
    """The document a hit is a passage of, empty where it is none."""
    return str(hit.memory.metadata["path"]) if hit.memory.layer == LAYER_DOCUMENT else ""


def routed(hits: Sequence[Hit], route: Route, top: int) -> tuple[list[Hit], bool]:
    """Follow the route as far as that costs nothing.

    Returns:
        the hits, best first, and whether any memory from outside the route is among the first `top`: because the routed
        ones are too few, or because one outside is about as good. Documents are in no route: they stay by that too.
    """
    inside = [hit for hit in hits if _inside(hit, route)]
    best = inside[0].score if inside else 0.0
    kept = [hit for hit in hits if _inside(hit, route) or hit.score >= OUTSIDE_SHARE * best]
    chosen = list(hits) if len(kept) < top else kept
    return chosen, any(not _inside(hit, route) and not document_of(hit) for hit in chosen[:top])


def _inside(hit: Hit, route: Route) -> bool:
    layer = LAYER_REFLECTION if hit.via and not document_of(hit) else hit.memory.layer
    return layer in route.layers and (not route.categories or hit.memory.category in route.categories)


def used(hits: Sequence[Hit]) -> list[Hit]:
    """Of an answer's hits (best first) those that may count as an answer: the tail that any question drags along,
    because ten were asked for, must not be kept alive by it."""
    return [h for h in hits if h.score >= USED_SHARE * hits[0].score and (h.matched or h.relevance >= USED_RELEVANCE)]


def best_of_each(hits: Sequence[Hit]) -> list[Hit]:
    """One hit a memory: its own text or its reflection, whichever matched better."""
    best: dict[str, Hit] = {}
    for hit in hits:
        held = best.get(hit.memory.memory_id)
        if held is None or hit.score > held.score:
            best[hit.memory.memory_id] = hit
    return list(best.values())
