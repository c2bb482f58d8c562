"""A question's way through the store: prepare, retrieve, decode the best, rank, route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import TypeVar

from memctl.core.models import (
    DOCUMENTS,
    LAYER_DOCUMENT,
    LAYER_MESSAGE,
    MEMORIES,
    MESSAGES,
    Filters,
    Hit,
    Memory,
    Query,
    Route,
)
from memctl.core.searchable import dated, searchable
from memctl.core.text.terms import similarity, terms
from memctl.providers.base import Embedder
from memctl.retrieval import rank, retrieve
from memctl.retrieval.asked import Asked
from memctl.retrieval.asked import asked as asked_of
from memctl.retrieval.gate import strength
from memctl.retrieval.retrieve import Candidate, Question, Retrieved
from memctl.retrieval.route import domain, towards
from memctl.retrieval.route import route as route_of
from memctl.storage.ports.search import Match, Said, Search

T = TypeVar("T")

DECODED = 3
"""How many times the wanted number of hits are decoded and ranked with all signals."""

LEAST_DECODED = 30

RAREST, NEAR_CANDIDATES = 4, 8
"""A near duplicate shares the rarest words of a text: how many are looked up, and how many entries compared."""


@dataclass(frozen=True)
class Answer:
    hits: tuple[Hit, ...]
    route: Route
    degraded: str = ""


def answer(query: Query, search: Search, embedder: Embedder | None, weights: rank.Weights, now: datetime) -> Answer:
    """The hits for a query, best first, all of one moment. No transaction is open while the embedder is asked."""

    def answered(question: Question, retrieved: Retrieved) -> Answer:
        return _answer(query, search, question, retrieved, weights, now)

    return _asked(query, search, embedder, now, answered)


def _asked(
    query: Query,
    search: Search,
    embedder: Embedder | None,
    now: datetime,
    answered: Callable[[Question, Retrieved], T],
    limit: int = retrieve.CANDIDATES,
    recent: str = "",
) -> T:
    """What `answered` makes of what is found for a question, in the same moment."""
    with search.snapshot():
        *narrow, whole = _questions(query, search)
        before = _said_before(search, recent)
    drawn = retrieve.vector_of(before, embedder)[0] if before else ()
    for question in narrow:
        vector, degraded = retrieve.vector_of(question, embedder)
        vector = retrieve.between(vector, drawn)
        with search.snapshot():
            candidates = retrieve.retrieved(search, vector, question, query.filters, now, limit, before)
            if any(one.lexical > 0 or one.cosine > 0 for one in candidates):
                return answered(question, Retrieved(candidates, vector, degraded))
    vector, degraded = retrieve.vector_of(whole, embedder)
    vector = retrieve.between(vector, drawn)
    with search.snapshot():
        candidates = retrieve.retrieved(search, vector, whole, query.filters, now, limit, before)
        return answered(whole, Retrieved(candidates, vector, degraded))


def _said_before(search: Search, recent: str) -> Question | None:
    if not recent.strip():
        return None
    counts = search.term_counts(set(terms(recent)))
    prepared = retrieve.prepare(recent, counts, search.total(), retrieve.frequent(search, counts))
    return retrieve.rarest(prepared, counts, retrieve.RECENT_WORDS)


def _questions(query: Query, search: Search) -> Sequence[Question]:
    """The question without the words that are everywhere, if there are any; then with them, if nothing is found."""
    counts = search.term_counts(terms(query.text))
    frequent = retrieve.frequent(search, counts)
    whole = retrieve.prepare(query.text, counts, search.total())
    return (retrieve.prepare(query.text, counts, search.total(), frequent), whole) if frequent else (whole,)


def _answer(
    query: Query, search: Search, question: Question, retrieved: Retrieved, weights: rank.Weights, now: datetime
) -> Answer:
    ranking = _ranked(search, query, retrieved, weights, now)
    route = route_of(query.text)
    hits, entries = _hits(search, query, ranking, weights, now, route.present)

    seen: dict[tuple[str, str], frozenset[str]] = {}

    def words(hit: Hit) -> frozenset[str]:
        key = hit.memory.memory_id, hit.via
        if key not in seen:
            seen[key] = _words(hit.memory, entries[key][1])
        return seen[key]

    def judged(hit: Hit) -> Hit:
        """The hit with its absolute relevance, which takes a look at its words."""
        covered, matched = retrieve.coverage(question, words(hit))
        candidate = entries[hit.memory.memory_id, hit.via][0]
        return replace(hit, relevance=_relevance(covered, candidate, weights), matched=matched)

    ranked = rank.order(rank.best_of_each([hit for hit in hits if hit.score > 0]))
    if weights.document:
        ranked = rank.order([rank.by_document(judged(hit), now) for hit in ranked[: DECODED * query.top]])
    ranked = rank.balanced(rank.spread(ranked, rank.document_of, query.top), query.top)
    if query.min_score > 0:
        ranked = [hit for hit in map(judged, ranked) if hit.relevance >= query.min_score]
    if query.route:
        route = towards(route, domain(_near(ranking)))
        ranked, widened = rank.routed(ranked, route, query.top)
        route = replace(route, widened=widened)
    else:
        route = Route(present=route.present)
    chosen = rank.varied(ranked, words, query.top)
    return Answer(tuple(map(judged, rank.order(chosen))), route, retrieved.degraded)


def _near(ranking: _Ranking) -> Iterator[tuple[str, float]]:
    """The category of each candidate, and how near it is by words and vectors alone."""
    return ((ranking.said[row].category, one.lexical + one.vector) for row, one in ranking.signals.items())


@dataclass(frozen=True)
class Evidence:
    """What may belong into a context, best first, in one order.

    Args:
        hits: with their relevance as far as `JUDGED` goes, 0 beyond.
        after: of messages and passages of one run, which stands right after which, by place (`place_of`).
        strength: how well the best of them answer the question, absolute and in [0, 1].
    """

    hits: tuple[Hit, ...]
    after: Mapping[str, str]
    strength: float
    present: bool = False
    degraded: str = ""


LEAST_BYTES, MOST_BYTES = 20, 180
"""What a message counts, at least and at most, of the bytes that are decoded: short ones may replace a long one."""

JUDGED = 12
"""Hits whose relevance is looked at, in each part: it takes a look at all of their words. All, where it orders them."""


def evidence(
    query: Query,
    recent: str,
    search: Search,
    embedder: Embedder | None,
    weights: rank.Weights,
    now: datetime,
    room: float = inf,
    known: Callable[[Hit], bool] = lambda hit: False,
) -> Evidence:
    """As many hits as a context has room for: `query.top` messages, and of memories and passages of documents what is
    likely to matter. Unlike `answer`, nothing is left out for being like another hit or outside of the route.

    Args:
        recent: what was said before the question.
        room: bytes of messages after which no further ones are needed.
        known: whether a hit is in the window already: it says nothing new, and answers nothing.
    """

    def gathered(question: Question, retrieved: Retrieved) -> Evidence:
        ranking = _ranked(search, query, retrieved, weights, now)
        present = route_of(query.text).present
        decoded = replace(query, top=-(-query.top // DECODED))
        hits, entries = _hits(search, decoded, ranking, weights, now, present, room)
        said = [hit for hit in hits if hit.memory.layer == LAYER_MESSAGE]
        others = rank.best_of_each([hit for hit in hits if hit.memory.layer != LAYER_MESSAGE])
        ordered = rank.order([hit for hit in (*said, *others) if hit.score > 0 and not known(hit)])
        judged = _judged(ordered, question, entries, weights, len(ordered) if weights.document else JUDGED)
        counts = search.term_counts(question.weights)
        strong = strength(judged, question.weights, counts)
        if weights.document:
            judged = rank.order([rank.by_document(hit, now) for hit in judged])
        return Evidence(tuple(judged), _after(search, entries), strong, present, retrieved.degraded)

    return _asked(query, search, embedder, now, gathered, max(retrieve.CANDIDATES, query.top), recent)


def place_of(hit: Hit) -> str:
    """What tells a hit from all others of its layer: a memory, a message, one of several passages."""
    return hit.via if hit.memory.layer == LAYER_MESSAGE and hit.via else hit.memory.memory_id


def _judged(
    hits: Sequence[Hit],
    question: Question,
    entries: Mapping[tuple[str, str], tuple[Candidate, Match]],
    weights: rank.Weights,
    most: int,
) -> list[Hit]:
    """The hits, the first `most` of each part with their relevance."""
    seen: Counter[str] = Counter()
    judged = []
    for hit in hits:
        seen[part := rank.part_of(hit)] += 1
        if seen[part] <= most:
            candidate, entry = entries[hit.memory.memory_id, hit.via]
            covered, matched = retrieve.coverage(question, _words(hit.memory, entry))
            hit = replace(hit, relevance=_relevance(covered, candidate, weights), matched=matched)
        judged.append(hit)
    return judged


def _after(search: Search, entries: Mapping[tuple[str, str], tuple[Candidate, Match]]) -> dict[str, str]:
    """Of the messages found, which stands right after which in its run."""
    rows = {candidate.key: via or name for (name, via), (candidate, match) in entries.items() if match.part == MESSAGES}
    beside = search.neighbours([*rows]) if rows else []
    return {rows[one.key]: rows[one.after] for one in beside if one.after in rows}


@dataclass(frozen=True)
class _Ranking:
    """The candidates with what speaks for each, the most that could, and what the question's wording asks for."""

    candidates: Sequence[Candidate]
    signals: Mapping[int, rank.Signals]
    said: Mapping[int, Said]
    most: float
    asked: Asked


def _hits(
    search: Search,
    query: Query,
    ranking: _Ranking,
    weights: rank.Weights,
    now: datetime,
    present: bool,
    most: float = inf,
) -> tuple[list[Hit], dict[tuple[str, str], tuple[Candidate, Match]]]:
    """The best candidates decoded and scored, and by memory and matching file where each comes from.

    Args:
        most: bytes of messages from which on no further ones are decoded.
    """
    hits: list[Hit] = []
    entries: dict[tuple[str, str], tuple[Candidate, Match]] = {}
    best = _shortlist(search, ranking, query.top)
    past = ranking.asked.past(now) or query.filters.as_of is not None or query.filters.valid_at is not None
    for candidate, match in zip(best, search.matches([c.key for c in best]), strict=True):
        said = match.part == MESSAGES
        if said and most <= 0:
            continue
        memory, via = _resolved(search, match)
        if said:
            most -= min(MOST_BYTES, max(LEAST_BYTES, len(memory.content.encode("utf-8", "surrogatepass"))))
        if not via or _allowed(memory, query.filters, now):
            parts = rank.parts(ranking.signals[candidate.key], ranking.most, memory, weights, now, present, past)
            hits.append(Hit(memory, sum(parts.values()), 0.0, parts, via))
            entries.setdefault((memory.memory_id, via), (candidate, match))
    return hits, entries


def _ranked(search: Search, query: Query, retrieved: Retrieved, weights: rank.Weights, now: datetime) -> _Ranking:
    """The candidates, and those that come in by standing beside one of the best, with their signals."""
    candidates = list(retrieved.candidates)
    signals = rank.blend(candidates, weights)
    neighbours = search.neighbours(rank.leaders(signals))
    beside = {row for one in neighbours for row in (one.before, one.after) if row is not None} - signals.keys()
    if beside:
        allowed = search.passing(beside, query.filters, now)
        candidates += retrieve.strangers(search, retrieved.vector, allowed)
        signals = rank.blend(candidates, weights)
    said = search.said(signals)
    asked = asked_of(query.text, {one.speaker for one in said.values() if one.speaker}, now)
    signals = rank.gathered(rank.lifted(signals, said, neighbours), said)
    signals = rank.favoured(signals, said, asked)
    return _Ranking(candidates, signals, said, rank.most(signals, said, asked), asked)


def _shortlist(search: Search, ranking: _Ranking, top: int) -> list[Candidate]:
    """The candidates worth decoding: the best of each part, of passages a few of each document before more of one."""
    score = {row: -sum(parts) for row, parts in ranking.signals.items()}
    best = sorted(ranking.candidates, key=lambda c: (score[c.key], c.key))
    wanted = max(DECODED * top, LEAST_DECODED)
    if not (search.has(DOCUMENTS) or search.has(MESSAGES)):
        return best[:wanted]
    said = ranking.said
    parts: dict[str, list[Candidate]] = {DOCUMENTS: [], MESSAGES: [], MEMORIES: []}
    for candidate in best:
        parts[said[candidate.key].part].append(candidate)
    passages = rank.spread(parts[DOCUMENTS], lambda c: said[c.key].text_name, top)
    return parts[MEMORIES][:wanted] + parts[MESSAGES][:wanted] + passages[:wanted]


def _resolved(search: Search, match: Match) -> tuple[Memory, str]:
    """The memory a match answers with, and the passage or reflection that matched where that is not the memory
    itself."""
    if match.is_record or match.part != MEMORIES:
        return match.memory, match.passage
    return (search.record_of(match) or match).memory, match.text_name


def _allowed(memory: Memory, filters: Filters, now: datetime) -> bool:
    """Whether the record behind a reflection passes the filters too."""
    when = memory.when
    if memory.layer in (LAYER_DOCUMENT, LAYER_MESSAGE):
        return True  # it is the entry itself, which has passed them
    if filters.as_of or filters.valid_at:
        return False  # a reflection says what is known today
    return (
        memory.status in (filters.statuses or (memory.status,))
        and (not filters.categories or memory.category in filters.categories)
        and (not filters.kinds or memory.kind in filters.kinds)
        and set(filters.tags) <= set(memory.tags)
        and (memory.expires_at is None or memory.expires_at > now)
        and (filters.since is None or (when is not None and when >= filters.since))
        and (filters.until is None or (when is not None and when < filters.until))
    )


def _words(memory: Memory, match: Match) -> frozenset[str]:
    """All terms by which a match can be found."""
    if not match.is_record and match.part != MESSAGES:
        return frozenset(terms(match.text))
    return frozenset(terms(f"{searchable(memory)}\n{dated(memory)}"))


def _relevance(covered: float, candidate: Candidate, weights: rank.Weights) -> float:
    """How well a hit answers, absolute and in [0, 1]: the share of the question's words it holds, and the cosine."""
    if not candidate.cosine:
        return covered
    return min(1.0, weights.lexical * covered + weights.vector * max(0.0, candidate.cosine))


def near_duplicates(search: Search, content: str, threshold: float, now: datetime, limit: int = 3) -> Sequence[str]:
    """Ids of memories that share at least `threshold` of their words with a text, found by its rarest words."""
    bag = frozenset(terms(content))
    words, only = retrieve.telling_terms(content), Filters(only=MEMORIES)
    near = []
    for match in search.sharing_rarest(words, only, now, rarest=RAREST, limit=NEAR_CANDIDATES):
        if match.is_record and similarity(bag, frozenset(terms(match.memory.content))) >= threshold:
            near.append(match.memory_id)
    return near[:limit]
