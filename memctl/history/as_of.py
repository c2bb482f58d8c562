"""Querying the memories of a past revision in the same way as the present ones."""

from __future__ import annotations

from memctl.core.models import IndexState, Memory, Query, QueryResult
from memctl.core.selection import Selection
from memctl.core.selection import select as selected
from memctl.history.states import Past
from memctl.querying import QueryEngine


def query(engine: QueryEngine, request: Query, then: Past) -> QueryResult:
    """The answer from the records of a past state."""
    with engine.storage.search_of(then.records) as (search, pending):
        embedder = None if pending else engine.embedder
        answer, reranked, problem = engine.answered(request, search, embedder, then.at)
    missing = f"full text only: {pending}" if pending else ""
    notes = (engine.embedder_problem, missing, answer.degraded, problem, *then.warnings)
    degraded = tuple(note for note in notes if note)
    return QueryResult(request, answer.hits, answer.route, IndexState(), "", degraded, str(then), reranked)


def select(engine: QueryEngine, chosen: Selection, then: Past) -> list[Memory]:
    """The records of a past state that match, sorted."""
    with engine.storage.search_of(then.records, vectors=False) as (search, _):
        return selected((match.memory for match in search.matching(chosen.filters, then.at)), chosen)
