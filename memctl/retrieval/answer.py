"""A question's way through the store: prepare, retrieve, decode the best, rank, route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memctl.entries import dated, memory_of, searchable
from memctl.files import document, knowledge
from memctl.index.protocol import Found
from memctl.index.sqlite import SqliteIndex
from memctl.index.text import likeness
from memctl.models import LAYER_DOCUMENT, Filters, Hit, Memory, Query, Route
from memctl.providers.base import Embedder
from memctl.retrieval import rank, retrieve
from memctl.retrieval.asked import asked as asked_of
from memctl.retrieval.retrieve import Candidate, Question, Retrieved
from memctl.retrieval.route import route as route_of

DECODED = 3
"""How many times the wanted number of hits are decoded and ranked with all signals (B, D: candidates x 3)."""

LEAST_DECODED = 30

RAREST, NEAR_CANDIDATES = 4, 8
"""A near duplicate shares the rarest words of a text: how many are looked up, and how many entries compared."""


@dataclass(frozen=True)
class Answer:
    hits: tuple[Hit, ...]
    route: Route
    degraded: str = ""


def answer(query: Query, index: SqliteIndex, embedder: Embedder | None, weights: rank.Weights, now: datetime) -> Answer:
    """The hits for a query, best first, all of one moment."""
    with index.snapshot():
        return _answer(query, index, embedder, weights, now)


def _answer(
    query: Query, index: SqliteIndex, embedder: Embedder | None, weights: rank.Weights, now: datetime
) -> Answer:
    counts = index.term_counts(retrieve.question_terms(query.text))
    question = retrieve.prepare(query.text, counts, index.total(), retrieve.frequent(index, counts))
    retrieved = retrieve.retrieved(index, embedder, question, query.filters, now)
    candidates, signals, most = _ranked(index, query, retrieved, weights, now)
    best = _shortlist(index, candidates, signals, query.top)
    route = route_of(query.text)
    hits: list[Hit] = []
    entries: dict[tuple[str, str], tuple[Candidate, Found]] = {}
    for candidate, found in zip(best, index.found([c.rowid for c in best]), strict=True):
        memory, via = _resolved(index, found)
        if memory is not None and (not via or _allowed(memory, query.filters, now)):
            parts = rank.parts(signals[candidate.rowid], most, memory, weights, now, route.present)
            hits.append(Hit(memory, sum(parts.values()), 0.0, parts, via))
            entries.setdefault((memory.memory_id, via), (candidate, found))
    ranked = rank.order(rank.best_of_each([hit for hit in hits if hit.score > 0]))
    ranked = rank.spread(ranked, rank.document_of, query.top)

    def judged(hit: Hit) -> Hit:
        """The hit with its absolute relevance, which takes a look at its words."""
        candidate, found = entries[hit.memory.memory_id, hit.via]
        relevance, matched = _relevance(question, candidate, hit.memory, found, weights)
        return replace(hit, relevance=relevance, matched=matched)

    if query.min_score > 0:
        ranked = [hit for hit in map(judged, ranked) if hit.relevance >= query.min_score]
    if query.route:
        ranked, widened = rank.routed(ranked, route, query.top)
        route = replace(route, widened=widened)
    else:
        route = Route(present=route.present)
    return Answer(tuple(map(judged, rank.order(ranked[: query.top]))), route, retrieved.degraded)


def _ranked(
    index: SqliteIndex, query: Query, retrieved: Retrieved, weights: rank.Weights, now: datetime
) -> tuple[list[Candidate], dict[int, rank.Signals], float]:
    """The candidates, and those that come in by standing beside one of the best; their signals, and the most these
    could come to."""
    candidates = list(retrieved.candidates)
    signals = rank.blend(candidates, weights)
    neighbours = index.neighbours(rank.leaders(signals))
    beside = {row for one in neighbours for row in (one.before, one.after) if row is not None} - signals.keys()
    if beside:
        allowed = index.passing(beside, query.filters, now)
        candidates += retrieve.strangers(index, retrieved.vector, allowed)
        signals = rank.blend(candidates, weights)
    said = index.said(signals)
    asked = asked_of(query.text, {one.speaker for one in said.values() if one.speaker}, now)
    signals = rank.gathered(rank.lifted(signals, said, neighbours), said)
    return candidates, rank.favoured(signals, said, asked), rank.most(said, asked, weights)


def _shortlist(
    index: SqliteIndex, candidates: Sequence[Candidate], signals: Mapping[int, rank.Signals], top: int
) -> list[Candidate]:
    """The candidates worth decoding: the best, and as many passages of documents, a few of each before more of one."""
    best = sorted(candidates, key=lambda c: (-sum(signals[c.rowid]), c.rowid))
    wanted = max(DECODED * top, LEAST_DECODED)
    document_of = index.document_of([c.rowid for c in best]) if index.has_documents() else {}
    passages = [c for c in best if c.rowid in document_of]
    others = [c for c in best if c.rowid not in document_of]
    return others[:wanted] + rank.spread(passages, lambda c: document_of[c.rowid], top)[:wanted]


def _resolved(index: SqliteIndex, found: Found) -> tuple[Memory | None, str]:
    """The memory an entry answers with, and the file that matched where that is not the record itself."""
    if found.path == document.FILE_NAME:
        return memory_of(found), ""
    if knowledge.is_document(found.path):
        passage = memory_of(found)
        return passage, passage.memory_id
    record = index.record_of(found)
    return memory_of(record or found), found.path


def _allowed(memory: Memory, filters: Filters, now: datetime) -> bool:
    """Whether the record behind a reflection passes the filters too."""
    when = memory.when
    if memory.layer == LAYER_DOCUMENT:
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


def _relevance(
    question: Question, candidate: Candidate, memory: Memory, found: Found, weights: rank.Weights
) -> tuple[float, tuple[str, ...]]:
    """How well a hit answers, absolute and in [0, 1]: the share of the question's words it holds, and the cosine."""
    of_record = found.path == document.FILE_NAME
    words = f"{searchable(memory)}\n{dated(memory)}" if of_record else found.raw.decode("utf-8", "replace")
    covered, matched = retrieve.coverage(question, words)
    if not candidate.cosine:
        return covered, matched
    return min(1.0, weights.lexical * covered + weights.vector * max(0.0, candidate.cosine)), matched


def near_duplicates(index: SqliteIndex, content: str, threshold: float, now: datetime, limit: int = 3) -> Sequence[str]:
    """Ids of memories that share at least `threshold` of their words with a text, found by its rarest words."""
    bag = frozenset(retrieve.question_terms(content))
    counts = index.term_counts(list(bag)[:256])
    rarest = sorted((word for word, n in counts.items() if n), key=lambda word: (counts[word], word))[:RAREST]
    rows = [scored.rowid for scored in index.full_text(rarest, Filters(documents=False), now, NEAR_CANDIDATES)]
    near = []
    for found in index.found(rows):
        if found.path == document.FILE_NAME:
            memory = memory_of(found)
            if likeness(bag, frozenset(retrieve.question_terms(memory.content))) >= threshold:
                near.append(memory.memory_id)
    return near[:limit]
