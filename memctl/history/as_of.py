"""Asking the memories as they were in a revision, the way the present ones are asked."""

from __future__ import annotations

from memctl.core.models import IndexState, Memory, Query, QueryResult
from memctl.core.selection import Selection
from memctl.core.selection import select as selected
from memctl.history.states import Past
from memctl.memories.asking import Asking


def query(engine: Asking, asked: Query, then: Past) -> QueryResult:
    """The answer of the records of a past state."""
    with engine.storage.search_of(then.records) as (search, pending):
        embedder = None if pending else engine.embedder
        answer, reranked, problem = engine.answered(asked, search, embedder, then.at)
    missing = f"full text only: {pending}" if pending else ""
    notes = (engine.embedder_problem, missing, answer.degraded, problem, *then.warnings)
    degraded = tuple(note for note in notes if note)
    return QueryResult(asked, answer.hits, answer.route, IndexState(), "", degraded, str(then), reranked)


def select(engine: Asking, chosen: Selection, then: Past) -> list[Memory]:
    """Records of a past state that fit, sorted."""
    with engine.storage.search_of(then.records, vectors=False) as (search, _):
        return selected((match.memory for match in search.matching(chosen.filters, then.at)), chosen)
