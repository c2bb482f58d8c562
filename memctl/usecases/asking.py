"""Asking and looking: nothing here changes a file of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memctl import times
from memctl.engine import Engine
from memctl.entries import memory_of
from memctl.errors import DegradedError, MemctlError
from memctl.files import document, receipts, reflections
from memctl.models import LAYER_DOCUMENT, Hit, Memory, Query, QueryResult, Reflection
from memctl.retrieval import answer as answering
from memctl.retrieval import rank
from memctl.retrieval.rank import Weights
from memctl.selection import Selection
from memctl.selection import select as selected

RECORDS = "the records"
"""Origin of an answer about another time that the present files give."""


class Asking(Engine):
    """Questions to the memories of one user."""

    def query(
        self,
        question: str | Query,
        *,
        now: datetime | None = None,
        strict: bool = False,
        receipt: bool = True,
        **options: Any,
    ) -> QueryResult:
        """Ask what is known about something.

        Args:
            question: the words, or a whole `Query`; `options` are fields of `Query` (top, filters, min_score, route).
            strict: raise instead of giving an answer that is worse than it should be.
            receipt: note the answer, so that feedback can name it and its memories count as used.

        Raises:
            DegradedError: with `strict`, when there are no vectors or the files cannot be read.
        """
        query = question if isinstance(question, Query) else Query(question, **options)
        now = now or times.utc_now()
        then = query.filters.as_of or now
        report = self.refresh()
        found = self._healed(lambda: answering.answer(query, self.index, self._ready_embedder(), self.weights, then))
        degraded = tuple(note for note in (self.embedder_problem, self._unready(), found.degraded) if note)
        if strict and (degraded or report.index_state.state != "fresh"):
            raise DegradedError("; ".join((*degraded, *report.index_state.notes)) or "the index is not fresh")
        hits = found.hits
        written = (
            receipts.write(self.folder.receipts, query.text, _ids(hits), _ids(rank.used(hits)), now) if receipt else ""
        )
        origin = RECORDS if query.filters.as_of else ""
        return QueryResult(query, hits, found.route, report.index_state, written, degraded, origin)

    @property
    def weights(self) -> Weights:
        """How full text and vectors blend: as the settings say, else as suits the model."""
        given = self.settings.lexical_weight
        lexical = given if given >= 0 else self.embedder.lexical_weight if self.embedder else 1.0
        return Weights(lexical, 1 - lexical, self.settings.boost)

    def get(self, memory_id: str) -> Memory:
        """One record by its id, or by an unambiguous beginning of it.

        Raises:
            NotFoundError: there is none; near ids are suggested.
        """
        self.refresh()
        return self.view().need(self.full_id(memory_id))

    def reflection_of(self, memory: Memory) -> Reflection | None:
        """The Markdown a record refers to; None where it has none or the file is gone."""
        named = memory.summary_md_ref
        return self.view().reflection(named) if reflections.is_reference(named) else None

    def readable_reflection(self, memory: Memory) -> tuple[Reflection | None, str]:
        """As `reflection_of`, with what is wrong with the file as a sentence instead of an error."""
        try:
            return self.reflection_of(memory), ""
        except MemctlError as problem:
            return None, problem.message

    def select(self, selection: Selection | None = None, *, now: datetime | None = None) -> list[Memory]:
        """Records that fit, sorted; see `Selection`."""
        self.refresh()
        chosen = selection or Selection()
        found = self.index.matching(replace(chosen.filters, documents=False), now or times.utc_now())
        return selected((memory_of(entry) for entry in found if entry.path == document.FILE_NAME), chosen)

    def categories(self) -> set[str]:
        """Every category that a memory has."""
        self.refresh()
        return self.index.categories()

    def all(self) -> list[Memory]:
        """Every record, whatever its status, in time order."""
        self.refresh()
        return [*self.view().all()]

    def lineage(self, memory: Memory) -> list[Memory]:
        """A fact's values over time, the newest first: what it superseded and was superseded by."""
        view = self.view()
        newest = memory
        while (
            newest.superseded_by and (later := view.get(newest.superseded_by)) and later.memory_id != memory.memory_id
        ):
            newest = later
        found, waiting = [newest], list(newest.supersedes)
        while waiting:
            other = view.get(waiting.pop(0))
            if other and other not in found:
                found.append(other)
                waiting += other.supersedes
        return found


def _ids(hits: Sequence[Hit]) -> list[str]:
    """The memories of an answer; passages of documents are none, and can be neither used up nor judged."""
    return [hit.memory.memory_id for hit in hits if hit.memory.layer != LAYER_DOCUMENT]
