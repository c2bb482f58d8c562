"""Ranking: a blend of full text and vectors, what stands around an entry, and a bounded boost. Pure functions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from memctl.core import times
from memctl.core.limits import SIMILARITY
from memctl.core.models import (
    DOCUMENTS,
    LAYER_DOCUMENT,
    LAYER_MESSAGE,
    LAYER_REFLECTION,
    MEMORIES,
    MESSAGES,
    SUPERSEDED,
    Hit,
    Memory,
    Route,
)
from memctl.core.text.terms import similarity
from memctl.retrieval.asked import Asked
from memctl.retrieval.retrieve import Candidate
from memctl.storage.ports.search import Neighbours, Said

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
    """How the two signals blend; they add up to 1. `boost` is the most by which qualities move a hit.

    Args:
        document: whether the best are ordered by `by_document`.
    """

    lexical: float
    vector: float
    boost: float
    document: bool = False


class Signals(NamedTuple):
    """What speaks for an entry. The parts of one question's entries are comparable, and add up."""

    lexical: float = 0.0
    vector: float = 0.0
    neighbour: float = 0.0
    session: float = 0.0
    speaker: float = 0.0
    date: float = 0.0
    wish: float = 0.0


def blend(candidates: Sequence[Candidate], weights: Weights) -> dict[int, Signals]:
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
        c.key: Signals(
            weights.lexical * _share(c.lexical, best_lexical),
            weights.vector * _share(c.cosine, nearest),
        )
        for c in candidates
    }


NEIGHBOUR_SHARE, ANSWER_SHARE = 0.2, 0.4
"""What the better of the two messages beside one in its session adds to it, as a share of that one's own score; more,
if that one is a short question and this what was said next."""

LEADERS = 30
"""So many of the best lift their neighbours; what lies further down lifts nothing to the top."""

SESSION_SHARE, OF_SESSION = 0.4, 2
"""What the best messages of a session add to all of it: a share of the mean of so many."""

SPEAKER_SHARE, DATE_SHARE = 0.15, 0.1
"""What is added to a message, as a share of its score, if the question names its speaker, or its day."""

WISH_SHARE = 0.6
"""What is added to a standing wish where advice is wanted, as a share of its vector part: it shares few words with the
questions it matters for."""


def leaders(signals: Mapping[int, Signals]) -> list[int]:
    """The rows that lift others, best first."""
    return sorted(signals, key=lambda row: (-sum(signals[row]), row))[:LEADERS]


def lifted(
    signals: Mapping[int, Signals], said: Mapping[int, Said], neighbours: Sequence[Neighbours]
) -> dict[int, Signals]:
    """The signals with what each entry's best neighbour adds. What stands alone counts as a neighbour of its own, so
    that a fact is not behind a message for having been said by itself."""
    if not neighbours:
        return dict(signals)
    best: dict[int, float] = {}
    for one in neighbours:
        score = sum(signals.get(one.key, ()))
        for other, share in ((one.before, NEIGHBOUR_SHARE), (one.after, ANSWER_SHARE if one.asks else NEIGHBOUR_SHARE)):
            if other is not None and other in signals:
                best[other] = max(best.get(other, 0.0), share * score)
    if best:
        best |= {row: NEIGHBOUR_SHARE * sum(signals[row]) for row in leaders(signals) if not said[row].session}
    return {row: parts._replace(neighbour=best[row]) if row in best else parts for row, parts in signals.items()}


def gathered(signals: Mapping[int, Signals], said: Mapping[int, Said]) -> dict[int, Signals]:
    """The signals with what the best of each session adds to all of it; what stands alone is its own session's best."""
    if not any(one.session for one in said.values()):
        return dict(signals)
    scores: dict[str, list[float]] = defaultdict(list)
    for row, parts in signals.items():
        scores[said[row].session].append(sum(parts))
    shares = {
        session: SESSION_SHARE * sum(sorted(of_session, reverse=True)[:OF_SESSION]) / OF_SESSION
        for session, of_session in scores.items()
        if session
    }
    return {
        row: parts._replace(session=shares.get(said[row].session, SESSION_SHARE * sum(parts)))
        for row, parts in signals.items()
    }


def favoured(signals: Mapping[int, Signals], said: Mapping[int, Said], asked: Asked) -> dict[int, Signals]:
    """The signals with what an entry gains by being what the wording of the question asks for."""
    if not (asked.speakers or asked.span or asked.advice):
        return dict(signals)

    def of(row: int, parts: Signals) -> Signals:
        whole, origin = sum(parts), said[row]
        return parts._replace(
            speaker=SPEAKER_SHARE * whole if origin.speaker in asked.speakers else 0.0,
            date=DATE_SHARE * whole if asked.at(origin.when) else 0.0,
            wish=WISH_SHARE * parts.vector if asked.advice and origin.stands else 0.0,
        )

    return {row: of(row, parts) for row, parts in signals.items()}


def most(signals: Mapping[int, Signals], said: Mapping[int, Said], asked: Asked) -> float:
    """The largest sum that signals can come to for one question, by which they are divided to lie in [0, 1]."""
    company = any(one.session for one in said.values())
    whole = (1 + ANSWER_SHARE) * (1 + SESSION_SHARE) if company else 1.0
    whole *= 1 + (SPEAKER_SHARE if asked.speakers else 0.0) + (DATE_SHARE if asked.span else 0.0)
    return whole + max((parts.wish for parts in signals.values()), default=0.0)


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


OVER_SHARE = 0.15
"""By so much of its score a fact that is over stands behind, unless the question is about a time that is over too."""


def parts(
    signals: Signals, most: float, memory: Memory, weights: Weights, now: datetime, present: bool, past: bool = False
) -> dict[str, float]:
    """The score of a hit, taken apart; the sum lies in [0, 1].

    The whole is signals / most x (1 + boost) / (1 + the largest boost): multiplied, so that what does not answer the
    question is not lifted by being important.

    Args:
        present: the question asks for how things are now.
        past: it asks for a time that is over.
    """
    scale = most * (1 + weights.boost)
    scaled = {name: value / scale for name, value in signals._asdict().items()}
    whole = sum(scaled.values())
    moved = {name: whole * weights.boost * value for name, value in qualities(memory, now, present).items()}
    over = not past and (memory.status == SUPERSEDED or (memory.valid_to is not None and memory.valid_to <= now))
    return scaled | moved | {"over": -OVER_SHARE * sum([whole, *moved.values()]) if over else 0.0}


DOCUMENT_SHARES: Mapping[str, float] = {SIMILARITY: 0.5, "recency": 0.3, "importance": 0.2}
KEPT_A_DAY = 0.95
"""The ranking `document`: its three parts, and what a day leaves of the recency."""


def by_document(hit: Hit, now: datetime) -> Hit:
    """A hit with the score of the ranking `document`: similarity is its relevance; what has no date is not recent."""
    when = hit.memory.when
    values = {
        SIMILARITY: hit.relevance,
        "recency": KEPT_A_DAY ** max(0.0, times.days_between(when, now)) if when else 0.0,
        "importance": hit.memory.importance,
    }
    parts = {name: share * values[name] for name, share in DOCUMENT_SHARES.items()}
    return replace(hit, score=sum(parts.values()), parts=parts)


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


SAME_SHARE, OF_ONE_FACT = 0.8, 3
"""Two hits that share so many of their words say the same; how many of ten may, as long as there is something else."""


def varied(hits: Sequence[Hit], words_of: Callable[[Hit], frozenset[str]], top: int) -> list[Hit]:
    """The first `top` hits; those that say what several better ones say only where there is nothing else."""
    share = OF_ONE_FACT * -(-top // 10)
    chosen: list[tuple[Hit, frozenset[str]]] = []
    repeated: list[Hit] = []
    for hit in hits:
        if len(chosen) == top:
            break
        words = words_of(hit)
        if sum(similarity(words, others) >= SAME_SHARE for _, others in chosen) >= share:
            repeated.append(hit)
        else:
            chosen.append((hit, words))
    return ([hit for hit, _ in chosen] + repeated)[:top]


def document_of(hit: Hit) -> str:
    """The document a hit is a passage of, empty where it is none."""
    return str(hit.memory.metadata["path"]) if hit.memory.layer == LAYER_DOCUMENT else ""


def part_of(hit: Hit) -> str:
    """The part of an answer that a hit belongs to (`models.PARTS`)."""
    return {LAYER_DOCUMENT: DOCUMENTS, LAYER_MESSAGE: MESSAGES}.get(hit.memory.layer, MEMORIES)


PART_SHARE, GOOD_SHARE = 0.3, 0.5
"""The places of an answer that each part has for itself, for hits with at least so much of the best score."""

FAIR_SHARE = 0.2
"""… and what the best memory must have of it for one place of many: what a manual repeats does not drown it."""


def balanced(hits: Sequence[Hit], top: int) -> list[Hit]:
    """The hits, best first, such that no part drowns the others among the first `top`: the best few of each part that
    are about as good as the best of all have a place there, and of many places the best memory has one in any case."""
    own = -int(-PART_SHARE * top // 1)
    parts = {part: [hit for hit in hits if part_of(hit) == part] for part in (MEMORIES, MESSAGES, DOCUMENTS)}
    if sum(bool(part) for part in parts.values()) < 2:
        return list(hits)
    kept: set[int] = set()
    for name, part in parts.items():
        good = [hit for hit in part if hit.score >= GOOD_SHARE * hits[0].score]
        fair = [hit for hit in part[:1] if hit.score >= FAIR_SHARE * hits[0].score] if name == MEMORIES else []
        kept.update(id(hit) for hit in good[:own] or fair[: own // 2])
    others = [hit for hit in hits if id(hit) not in kept]
    first = sorted(
        [hit for hit in hits if id(hit) in kept] + others[: max(0, top - len(kept))], key=lambda hit: -hit.score
    )
    return first + others[max(0, top - len(kept)) :]


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
    if hit.memory.layer == LAYER_MESSAGE:
        return True  # a message has no category
    layer = LAYER_REFLECTION if hit.via and not document_of(hit) else hit.memory.layer
    return layer in route.layers and (not route.categories or hit.memory.category in route.categories)


def used(hits: Sequence[Hit]) -> list[Hit]:
    """Of an answer's hits (best first) those that may count as an answer: the tail that any question drags along,
    because ten were asked for, must not be kept alive by it."""
    return [h for h in hits if h.score >= USED_SHARE * hits[0].score and (h.matched or h.relevance >= USED_RELEVANCE)]


def answered(hits: Sequence[Hit]) -> bool:
    """Whether any of an answer's hits, in any order, may count as an answer."""
    return bool(used(sorted(hits, key=lambda hit: -hit.score)))


def best_of_each(hits: Sequence[Hit]) -> list[Hit]:
    """One hit a memory: its own text or its reflection, whichever matched better."""
    best: dict[str, Hit] = {}
    for hit in hits:
        held = best.get(hit.memory.memory_id)
        if held is None or hit.score > held.score:
            best[hit.memory.memory_id] = hit
    return list(best.values())
