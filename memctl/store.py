"""One user's memories: the public Python API. One short method a use case; truth first, index second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from memctl import decisions, times
from memctl import purge as purging
from memctl import sync as syncing
from memctl.engine import Engine
from memctl.entries import memory_of
from memctl.errors import DegradedError, MemctlError, NotFoundError
from memctl.files import document, journal, receipts, reflections
from memctl.gateway import View
from memctl.index import database
from memctl.lifecycle import adding, decay, forgetting, undoing
from memctl.lifecycle.adding import Added
from memctl.models import ACTIVE, ARCHIVED, Change, FileEdit, Hit, Memory, Query, QueryResult, Reflection
from memctl.providers.cache import FILE_NAME as EMBEDDINGS
from memctl.retrieval import answer as answering
from memctl.retrieval import rank
from memctl.retrieval.rank import Weights
from memctl.selection import Selection
from memctl.selection import select as selected

BULK = 20_000
"""Records in one operation of a bulk add; each is undone as one."""


class MemoryStore(Engine):
    """The memories of one user.

    Made by `memctl.open_store`. Times are UTC; every method that depends on the present takes `now`. Methods that
    change something raise `LockedError`, `StorageError`, `InvalidDataError` (the files cannot be read) or
    `RefusedError`, and have then changed nothing.
    """

    # Adding

    def add(
        self,
        content: str,
        *,
        detail: str | None = None,
        allow_duplicate: bool = False,
        now: datetime | None = None,
        **given: Any,
    ) -> Added:
        """Remember one thing.

        Args:
            content: the text; any Unicode.
            detail: Markdown to keep with it as its own reflection.
            allow_duplicate: store it even if the same text is there.
            given: fields of `Memory` (category, kind, tags, key, value, importance, occurred_at, …).

        Returns:
            what became of it: added, counted as a mention of the same text, or an update of the fact with its key.
        """
        now = now or times.utc_now()
        memory = self._new(Memory("", content, **given), frozenset(given), now, datetime.now(UTC))
        outcome: list[Added] = []

        def decide(view: View) -> Change:
            puts, added = decisions.add_one(view, memory, frozenset(given), allow_duplicate, now)
            near = answering.near_duplicates(self.index, content, self.settings.near_duplicate, now)
            files: list[FileEdit] = []
            if detail is not None:
                puts, files = decisions.with_detail(view, puts, added.memory, detail)
                added = replace(added, memory=puts[-1])
            outcome[:] = [replace(added, near=tuple(mid for mid in near if mid != added.memory.memory_id))]
            return Change("add", tuple(puts), files=tuple(files))

        self._apply(decide, now)
        return outcome[0]

    def _new(self, memory: Memory, given: frozenset[str], now: datetime, moment: datetime) -> Memory:
        created = memory.created_at or now
        memory = adding.completed(memory, now, self._new_id(created, moment), given)
        return adding.check(memory, self.settings.categories)

    def add_many(
        self,
        memories: Iterable[Memory],
        *,
        details: Mapping[int, str] | None = None,
        command: str = "import",
        allow_duplicate: bool = False,
        now: datetime | None = None,
        progress: syncing.Progress | None = None,
    ) -> list[Added]:
        """Remember many things at once; only exactly the same text is looked for.

        A memory with an `external_id` is always kept, once: a second import of it is skipped.

        Args:
            memories: with `memory_id` empty where a new one is wanted; every other field is taken as it is.
            details: Markdown to keep with a memory, by its position.
        """
        now = now or times.utc_now()
        moment = datetime.now(UTC)
        given = list(memories)
        complete = [self._new(memory, _EVERY_FIELD, now, moment) for memory in given]
        own_ids = frozenset(memory.memory_id for memory in given if memory.memory_id)
        results: list[Added] = []
        for start in range(0, len(complete), BULK):
            batch = complete[start : start + BULK]
            places = {at - start: text for at, text in (details or {}).items() if start <= at < start + len(batch)}
            texts = {batch[at].memory_id: text for at, text in places.items()}
            results += self._add_batch(batch, texts, own_ids, command, allow_duplicate, now)
            if progress:
                progress("adding", min(start + BULK, len(complete)), len(complete))
        return results

    def _add_batch(
        self,
        batch: Sequence[Memory],
        details: Mapping[str, str],
        own_ids: frozenset[str],
        command: str,
        allow_duplicate: bool,
        now: datetime,
    ) -> list[Added]:
        results: list[Added] = []

        def decide(view: View) -> Change:
            puts, results[:] = decisions.add_many(view, batch, own_ids, allow_duplicate, now)
            told = {
                a.memory.memory_id: details[m.memory_id]
                for m, a in zip(batch, results, strict=True)
                if m.memory_id in details
            }
            puts, files = decisions.with_details(view, puts, told)
            return Change(command, tuple(puts), files=tuple(files))

        self._apply(decide, now)
        return results

    # Asking

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
        now = now or times.utc_now()
        query = question if isinstance(question, Query) else Query(question, **options)
        report = self.refresh()
        found = self._healed(lambda: answering.answer(query, self.index, self._ready_embedder(), self.weights, now))
        degraded = tuple(note for note in (self.embedder_problem, self._unready(), found.degraded) if note)
        if strict and (degraded or report.index_state.state != "fresh"):
            raise DegradedError("; ".join((*degraded, *report.index_state.notes)) or "the index is not fresh")
        hits = found.hits
        written = (
            receipts.write(self.folder.receipts, query.text, _ids(hits), _ids(rank.used(hits)), now) if receipt else ""
        )
        return QueryResult(query, hits, found.route, report.index_state, written, degraded)

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
        return self._view().need(self.full_id(memory_id))

    def reflection_of(self, memory: Memory) -> Reflection | None:
        """The Markdown a record refers to; None where it has none or the file is gone."""
        named = memory.summary_md_ref
        return self._view().reflection(named) if reflections.is_reference(named) else None

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
        found = self.index.matching(chosen.filters, now or times.utc_now())
        return selected((memory_of(entry) for entry in found if entry.path == document.FILE_NAME), chosen)

    def categories(self) -> set[str]:
        """Every category that a memory has."""
        self.refresh()
        return self.index.categories()

    def all(self) -> list[Memory]:
        """Every record, whatever its status, in time order."""
        self.refresh()
        return [*self._view().all()]

    # Changing

    def put(
        self, memory: Memory, *, expected: Memory | None = None, command: str = "edit", now: datetime | None = None
    ) -> Memory:
        """Replace a record by a changed one of the same id.

        Args:
            expected: the record as it was when the change was made up; where it is not given, `memory.updated_at` must
                still be that of the record.

        Raises:
            ConflictError: the record was changed by somebody else.
        """
        now = now or times.utc_now()
        changed = adding.check(replace(memory, updated_at=now), self.settings.categories)
        self._apply(lambda view: decisions.replaced(view, changed, expected, memory.updated_at, command), now)
        return changed

    def write_reflection(
        self, memory: Memory, text: str, *, expected: str | None = None, now: datetime | None = None
    ) -> Reflection:
        """Set the Markdown body of a record's reflection, as a person would.

        Args:
            expected: the body the text was made from.

        Raises:
            ConflictError: the body is no longer as `expected`.
        """
        now = now or times.utc_now()

        def decide(view: View) -> Change:
            held = view.need(memory.memory_id)
            decisions.check_body(view, held, expected)
            puts, files = decisions.with_detail(view, [held], held, text, add=False)
            return Change("edit", tuple(replace(m, updated_at=now) for m in puts), files=tuple(files))

        change = self._apply(decide, now)
        return reflections.parse(change.files[0].after or b"", change.files[0].path)

    def forget(
        self, ids: Sequence[str], *, reason: str = forgetting.FORGOTTEN, now: datetime | None = None
    ) -> list[Memory]:
        """Move memories to the trash; `restore` and `undo` bring them back."""
        now = now or times.utc_now()
        self.refresh()
        wanted = [self.full_id(given) for given in ids]
        gone: list[Memory] = []

        def decide(view: View) -> Change:
            gone[:] = [view.need(memory_id) for memory_id in dict.fromkeys(wanted)]
            return decisions.to_trash("forget", view, gone, reason, now)

        self._apply(decide, now)
        return gone

    def restore(self, ids: Sequence[str], *, now: datetime | None = None) -> list[Memory]:
        """Bring back what was archived or forgotten.

        Raises:
            NotFoundError: it is neither archived nor in the trash.
        """
        now = now or times.utc_now()
        self.refresh()
        back: list[Memory] = []

        def decide(view: View) -> Change:
            steps = [self._restore_one(view, given, now) for given in dict.fromkeys(ids)]
            back[:] = [memory for memory, _ in steps]
            return Change("restore", tuple(back), files=tuple(edit for _, edits in steps for edit in edits))

        self._apply(decide, now)
        return back

    def _restore_one(self, view: View, given: str, now: datetime) -> tuple[Memory, list[FileEdit]]:
        given = self.trashed_id(given)
        in_trash = view.read(forgetting.trash_path(given))
        if in_trash is not None and view.get(given) is None:
            trashed = forgetting.read_trashed(in_trash)
            edits = forgetting.from_trash(trashed, in_trash, self._reflection_bytes(view, trashed.memory))
            return trashed.memory, edits
        memory = view.need(self.full_id(given))
        if memory.status != ARCHIVED:
            raise NotFoundError(f"{memory.memory_id} is not archived and not in the trash (it is {memory.status})")
        return decay.restored(memory, now), []

    def _reflection_bytes(self, view: View, memory: Memory) -> bytes | None:
        return view.read(memory.summary_md_ref) if reflections.is_reference(memory.summary_md_ref) else None

    def purge(self, ids: Sequence[str], *, dry_run: bool = False, now: datetime | None = None) -> purging.PurgeReport:
        """Really forget: remove memories, what was made from them, and every trace in the user's files. No way back."""
        now = now or times.utc_now()
        self.refresh()
        trashed = [t.memory for t in self.trashed()]
        what, gone = purging.planned(self._view(), ids, trashed)
        also = (*what.ids[len(ids) :], *what.files)
        if dry_run:
            return purging.PurgeReport(tuple(ids), also_removed=also)
        kept = [memory for memory in self.all() if memory.memory_id not in what.ids]
        words = purging.telling_words(gone, kept, self.index.header())
        changed = self.gateway.purge(lambda view: purging.planned(view, ids, trashed)[0], now)
        for path in self.spare_indexes:
            if path != self.index.path:
                database.delete(path)
            database.delete(path.with_name(EMBEDDINGS))
        self.index.rebuild()
        self.sync()
        left = [*purging.repeated(gone, kept), *purging.still_mentioned(self.folder, words)]
        advice = purging.git_advice(self.folder, what.ids)
        return purging.PurgeReport(tuple(ids), tuple(changed), also, tuple(left), tuple(advice))

    def lineage(self, memory: Memory) -> list[Memory]:
        """A fact's values over time, the newest first: what it superseded and was superseded by."""
        view = self._view()
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

    def undo(self, *, before_purge: bool = False, now: datetime | None = None) -> journal.Operation:
        """Take back the last change.

        Args:
            before_purge: step over purges, which cannot be taken back.

        Raises:
            NotFoundError: there is nothing to undo.
            ConflictError: something it touched has changed since.
            RefusedError: the last change was a purge.
        """
        now = now or times.utc_now()
        taken: list[journal.Operation] = []

        def decide(view: View) -> Change:
            operation = undoing.last_undoable(journal.read(self.folder.operations), decisions.MAINTENANCE, before_purge)
            taken[:] = [operation]
            present = self.index.raws(document.FILE_NAME, [step.memory_id for step in operation.records])
            return undoing.inverse(operation, present, {step.path: view.read(step.path) for step in operation.files})

        self.gateway.apply(decide, now)
        return taken[0]

    def uncounted_uses(self, memory_id: str) -> int:
        """How often a memory was in an answer since uses were last counted (by `decay`)."""
        return sum(memory_id in receipt.used for receipt in decisions.uncounted(self._view(), self.folder))

    # Reflecting and fading

    def reflect(
        self, memories: Sequence[Memory], *, title: str = "", dry_run: bool = False, now: datetime | None = None
    ) -> decisions.Reflected:
        """Write or refresh a reflection from records.

        A body that a person edited is never overwritten: the new one is laid beside it as a proposal.
        """
        now = now or times.utc_now()
        if not memories:
            raise NotFoundError("there is nothing to reflect on", hint="`memctl list` shows what there is.")
        ids = [memory.memory_id for memory in memories]
        result: list[decisions.Reflected] = []
        new_id = self.new_id(now)

        def decide(view: View) -> Change:
            reflected, change = decisions.reflection(view, ids, title, new_id, now)
            result[:] = [reflected]
            return change

        if dry_run:
            decide(self._view())
        else:
            self._apply(decide, now)
        return result[0]

    @property
    def half_life(self) -> decay.HalfLife:
        s = self.settings
        return decay.HalfLife(s.decay_half_life_days, s.decay_from_days, s.decay_threshold)

    def decay(
        self, *, dry_run: bool = False, now: datetime | None = None, allow_mass_change: bool = False
    ) -> list[decay.Forecast]:
        """Archive the episodes that have faded, after counting how memories were used.

        Returns:
            the forecast of every memory that can fade; those with `faded` were archived, or would be under `dry_run`.

        Raises:
            RefusedError: more than a quarter of at least 20 memories would be archived at once.
        """
        now = now or times.utc_now()
        self.refresh()
        result: list[decay.Forecast] = []

        def decide(view: View) -> Change:
            used, edits = decisions.counted_uses(view, self.folder)
            memories = [used.get(memory.memory_id, memory) for memory in view.all()]
            result[:] = decay.forecasts(memories, now, self.half_life)
            gone = {f.memory.memory_id: decay.archived(f.memory, f.reason, now) for f in result if f.faded}
            if not dry_run:
                decisions.check_fuse(len(gone), sum(m.status == ACTIVE for m in memories), allow_mass_change)
            return Change("decay", tuple((used | gone).values()), files=edits)

        if dry_run:
            decide(self._view())
        else:
            self._apply(decide, now)
        return result


def _ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.memory.memory_id for hit in hits]


_EVERY_FIELD = frozenset(f.name for f in fields(Memory))
