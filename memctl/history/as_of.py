"""Asking the memories as they were in a revision, the way the present ones are asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memctl.core.formats import codec, document
from memctl.core.models import IndexState, Memory, Query, QueryResult
from memctl.core.selection import Selection
from memctl.core.selection import select as selected
from memctl.engine import INLINE_EMBEDDINGS
from memctl.history.states import Past
from memctl.memories.asking import Asking
from memctl.storage.folder import sync
from memctl.storage.folder.entries import memory_of, record_entry
from memctl.storage.index.protocol import Entry, FileState, FileUpdate
from memctl.storage.index.sqlite import SqliteIndex


def query(engine: Asking, asked: Query, then: Past) -> QueryResult:
    """The answer of the records of a past state."""
    with _index_of(engine, then) as (index, pending):
        embedder = None if pending else engine.embedder
        answer, reranked, problem = engine.answered(asked, index, embedder, then.at)
    missing = f"full text only: {pending}" if pending else ""
    notes = (engine.embedder_problem, missing, answer.degraded, problem, *then.warnings)
    degraded = tuple(note for note in notes if note)
    return QueryResult(asked, answer.hits, answer.route, IndexState(), "", degraded, str(then), reranked)


def select(engine: Asking, chosen: Selection, then: Past) -> list[Memory]:
    """Records of a past state that fit, sorted."""
    with _index_of(engine, then, vectors=False) as (index, _):
        return selected((memory_of(entry) for entry in index.matching(chosen.filters, then.at)), chosen)


@contextmanager
def _index_of(engine: Asking, then: Past, *, vectors: bool = True) -> Iterator[tuple[SqliteIndex, str]]:
    """An index of a past state, and why it lacks vectors; empty where it has them.

    It is a copy of the present one with what is different changed: nearly all is the same.
    """
    index = engine.index.copied()
    try:
        made = sync.embed_entries(_entries(then, index), engine.embedder, index) if vectors else {}
        index.update([*_without_files(index), _records_update(then, index)], made)
        missing = sync.embed_pending(index, engine.embedder, at_most=INLINE_EMBEDDINGS)[1] if vectors else ""
        yield index, missing
    finally:
        index.close()


def _entries(then: Past, index: SqliteIndex) -> list[Entry]:
    """The records that are not in the index as they were then."""
    now = index.hashes(document.FILE_NAME)
    new = {ref: raw for ref, raw in then.records.items() if now.get(ref) != codec.digest(raw)}
    return [record_entry(document.decode_raw(raw), raw) for raw in new.values()]


def _records_update(then: Past, index: SqliteIndex) -> FileUpdate:
    """What makes the records of an index those of a past state."""
    base = index.files().get(document.FILE_NAME)
    gone = sorted(index.hashes(document.FILE_NAME).keys() - then.records.keys())
    state = base or FileState(document.FILE_NAME, 0, 0, 0, 0)
    return FileUpdate(document.FILE_NAME, base, state, _entries(then, index), gone)


def _without_files(index: SqliteIndex) -> list[FileUpdate]:
    """What takes everything but the records out of an index: reflections and documents say what is known today."""
    others = {path: state for path, state in index.files().items() if path != document.FILE_NAME}
    return [FileUpdate(path, state, None, removed=tuple(index.hashes(path))) for path, state in others.items()]
