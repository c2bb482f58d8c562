"""Building the context of a model's call: what is known that matters, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memctl import times
from memctl.config import CONTEXT
from memctl.context import evidence, tokens
from memctl.context.assemble import (
    BACKGROUND,
    MUST,
    OUT,
    SUMMARY,
    Piece,
    Placed,
    cost,
    packed,
    rendered,
    trimmed,
)
from memctl.context.assemble import EXCERPT as CUT
from memctl.context.budget import HISTORY, MEMORY, MOST_MEMORY, SHARES, SYSTEM, Allocation, allocate, lent
from memctl.context.evidence import CONSTRAINTS, DOCUMENTS, PROFILE, SECTIONS, TASK
from memctl.context.fence import enclosed
from memctl.context.shown import best_passage, text_of, with_reflection
from memctl.context.tokens import Count
from memctl.entries import memory_of
from memctl.errors import UsageError
from memctl.files import receipts, reflections
from memctl.lifecycle.reflect import shortened
from memctl.models import CANDIDATE, LAYER_REFLECTION, MEMORIES, SUPERSEDED, Filters, Hit, Memory, Query, Reranking
from memctl.retrieval import answer as answering
from memctl.retrieval import rank, retrieve
from memctl.retrieval.answer import Answer, Evidence

if TYPE_CHECKING:
    from memctl.store import MemoryStore

CONSTRAINT_TAG = "constraint"
MOST_CONSTRAINTS, MOST_PINNED, MOST_PROFILE = 30, 100, 20
LEAST_CONFIDENCE = 0.6
"""Of facts of the profile (C)."""

TOKENS_A_HIT, LEAST_HITS, MOST_HITS = 20, 40, 400
"""A hit takes about so many tokens: how many are looked for follows from the room there is."""

RECENT_MESSAGES, RECENT_CHARACTERS = 8, 2_000
"""What was said before the question that is searched for with it."""

CLOSED_TOKENS = 100
"""What is known in general may take so many tokens where nothing answers the question."""

EXCERPT_CHARACTERS = 400
LONG_BODY, BEST_PASSAGE = 1_600, 800
"""Characters: of a longer reflection that matched, its best passage comes first."""

LEAST_BUDGET = 100
FORMATS = ("md", "messages", "json")


@dataclass(frozen=True)
class ContextPack:
    """A context, ready for a model.

    Args:
        text: the long-term part and the task, as Markdown between `<long_term_memory>` tags.
        messages: the whole as chat messages: system prompt, long-term part, history, the question.
        tokens: what `messages` take, by `tokenizer`; never more than the allocation's total without its reserve.
        granted: tokens each part was allowed after lending, and `used` what it took.
        placed: every memory that was thought of, with what became of it and why.
        left_out: positions of messages of the history that did not fit.
        receipt: names this answer for `feedback`.
        notes: what made it worse than it should be.
        reranked: what a reranker had to do with it, None where it had nothing.
        strength: how well the best of what is known answers the question, 0 to 1; None where nothing was asked.
        open: whether that was enough to put in what was found.
    """

    text: str
    messages: tuple[Mapping[str, Any], ...]
    tokens: int
    tokenizer: str
    allocation: Allocation
    granted: Mapping[str, int]
    used: Mapping[str, int]
    placed: tuple[Placed, ...]
    left_out: tuple[int, ...]
    receipt: str = ""
    notes: tuple[str, ...] = ()
    reranked: Reranking | None = None
    strength: float | None = None
    open: bool = True


@dataclass(frozen=True)
class _Recalled:
    """What was found for a question, and what a reranker had to do with it."""

    evidence: Evidence
    reranked: Reranking | None = None
    degraded: tuple[str, ...] = ()


class Contexts:
    """Contexts for a model's call, as `store.context`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def build(self, question: str, **options: Any) -> ContextPack:
        """Gather what is known that matters for a question and pack it into a window; see `build_context`."""
        return self._store._healed(lambda: self._build(question, **options))

    def _build(
        self,
        question: str,
        *,
        session: str = "",
        messages: Sequence[Mapping[str, Any]] = (),
        task_state: str = "",
        recall: bool = True,
        system: str = "",
        budget: int | None = None,
        memory_tokens: int | None = None,
        gate: bool | None = None,
        task: str = "medium",
        tokenizer: str = "",
        now: datetime | None = None,
        receipt: bool = True,
    ) -> ContextPack:
        store = self._store
        now = now or times.utc_now()
        total = store.settings.context_tokens if budget is None else budget
        _check(task, total, memory_tokens)
        if session:
            messages, task_state = store.conversation(session).openai(), store.task_text(session)
        counter = tokens.load(tokenizer or store.settings.tokenizer)
        found = self._recalled(question if recall else "", messages, now, _hits_for(total, memory_tokens))
        gated = store.settings.context_gate if gate is None else gate
        opened = not gated or found.evidence.strength >= store.settings.context_gate_strength
        asks = bool(recall and question.strip())
        pieces = self._pieces(question, found.evidence, task_state, now, recall, opened or not asks, counter.count)
        needs_documents = any(piece.section == DOCUMENTS for piece in pieces)
        allocation = allocate(total, task, knowledge=needs_documents, messages=len(messages))
        pack = _assembled(question, system, messages, pieces, allocation, counter.count, memory_tokens)
        notes = tuple(note for note in (counter.note, *found.degraded) if note)
        written = self._receipt(question, found.evidence, pack, now) if receipt and recall else ""
        return replace(
            pack,
            tokenizer=counter.name,
            notes=notes,
            receipt=written,
            reranked=found.reranked,
            strength=found.evidence.strength if asks else None,
            open=opened,
        )

    # Finding

    def _recalled(self, question: str, messages: Sequence[Mapping[str, Any]], now: datetime, top: int) -> _Recalled:
        store = self._store
        store.refresh()
        embedder = store._ready_embedder()
        degraded = [note for note in (store.embedder_problem, store._unready()) if note]
        if not question.strip():
            return _Recalled(Evidence((), {}, 0.0), None, tuple(degraded))
        recent = evidence.recent_turns(question, messages, RECENT_MESSAGES, RECENT_CHARACTERS)
        query = Query(question, top=top, rerank=store.reranker_for(CONTEXT))
        shown = evidence.texts_of([*messages, {"content": question}])
        found: list[Evidence] = []

        def plain(asked: Query) -> Answer:
            found.append(
                answering.evidence(
                    asked, recent, store.index, embedder, store.weights, now, lambda hit: evidence.stands_in(hit, shown)
                )
            )
            return Answer(found[-1].hits, Route(), found[-1].degraded)

        answered, reranked, problem = store._ranked_by_model(query, plain)
        best = replace(found[-1], hits=answered.hits)
        return _Recalled(best, reranked, tuple(note for note in (*degraded, best.degraded, problem) if note))

    def _receipt(self, question: str, found: Evidence, pack: ContextPack, now: datetime) -> str:
        """Note what was given; what counts as used is what answered the question and was put in."""
        given = [placed for placed in pack.placed if placed.how != OUT and placed.section not in (TASK, DOCUMENTS)]
        ids = [*dict.fromkeys(placed.said.message if placed.said else placed.name for placed in given)]
        used = {hit.memory.memory_id for hit in rank.used(found.hits)} if found.hits else set()
        return receipts.write(self._store.folder, question, ids, [i for i in ids if i in used], now)

    # Pieces

    def _pieces(
        self,
        question: str,
        found: Evidence,
        task_state: str,
        now: datetime,
        recall: bool,
        opened: bool,
        count: Count,
    ) -> list[Piece]:
        pieces = [Piece(TASK, "task", "", task_state, 1.0, "the task at hand", MUST)] if task_state.strip() else []
        if not recall:
            return pieces
        always = self._always(now)
        hits = found.hits if opened else ()
        profile = [memory_of(entry) for entry in self._store.index.profile(LEAST_CONFIDENCE, MOST_PROFILE, now)]
        about = evidence.changes(
            [*always, *(hit.memory for hit in hits[:LEAST_HITS]), *profile], self._changed(question, now), self._get
        )
        told = [self._piece(CONSTRAINTS, memory, memory.importance, _why(memory), MUST, about) for memory in always]
        told += self._from_hits(question, replace(found, hits=hits), now, about)
        told += self._profile(profile, about, None if opened else CLOSED_TOKENS, count)
        once = {piece.name: piece for piece in reversed(told)}
        kept = sorted(once.values(), key=lambda p: (p.priority, SECTIONS.index(p.section), -p.weight, p.name))
        return pieces + evidence.without_repeats(kept)

    def _always(self, now: datetime) -> list[Memory]:
        """What holds whatever is asked: pinned memories, and those with the tag `constraint`."""
        index = self._store.index
        found = [*index.pinned(MOST_PINNED, now), *index.tagged(CONSTRAINT_TAG, MOST_CONSTRAINTS, now)]
        return [*{entry.memory_id: memory_of(entry) for entry in found}.values()]

    def _get(self, memory_id: str) -> Memory | None:
        return self._store.view().get(memory_id)

    def _changed(self, question: str, now: datetime) -> list[Memory]:
        """Superseded values and candidates that the question is about: what is shown must be marked by them."""
        if not question.strip():
            return []
        filters = Filters(statuses=(SUPERSEDED, CANDIDATE), only=MEMORIES)
        words = retrieve.telling_terms(question)
        index = self._store.index
        rows = [scored.rowid for scored in index.full_text(words, filters, now, MOST_CONSTRAINTS)]
        return [memory_of(entry) for entry in index.found(rows)]

    def _from_hits(self, question: str, found: Evidence, now: datetime, about: evidence.Changes) -> list[Piece]:
        """What answers the question, each under its heading."""
        useful = {id(hit) for hit in rank.used(found.hits)} if found.hits else set()
        before = {after: name for name, after in found.after.items()}
        pieces = []
        for hit in found.hits:
            name, why = answering.place_of(hit), evidence.reason(hit)
            if evidence.is_message(hit):
                said = evidence.said(hit.memory, before.get(name, ""))
                pieces.append(evidence.message_piece(hit, name, why, said, about))
            elif id(hit) in useful and not evidence.faint(hit.memory):
                section, priority = evidence.section_of(hit.memory)
                weight = evidence.weight(hit, section, now)
                pieces.append(self._piece(section, hit.memory, weight, why, priority, about, hit, question))
        return pieces

    def _profile(
        self, memories: Sequence[Memory], about: evidence.Changes, limit: int | None, count: Count
    ) -> list[Piece]:
        """Preferences, then facts, the new before the old, whatever is asked (C).

        Args:
            limit: tokens they may take in all; None for no limit.
        """
        pieces = []
        for place, memory in enumerate(memories):
            section = CONSTRAINTS if evidence.is_preference(memory) else PROFILE
            piece = self._piece(section, memory, 1 / (1 + place), f"profile ({_day(memory)})", BACKGROUND, about)
            if limit is not None:
                limit -= count(piece.text + piece.label) + 3
                if limit < 0:
                    break
            pieces.append(piece)
        return pieces

    def _piece(
        self,
        section: str,
        memory: Memory,
        weight: float,
        why: str,
        priority: int,
        about: evidence.Changes,
        hit: Hit | None = None,
        question: str = "",
    ) -> Piece:
        name = answering.place_of(hit) if hit else memory.memory_id
        text, shorter = self._forms(memory, hit, question)
        part = rank.part_of(hit) if hit else ""
        note = about.note(memory)
        return Piece(section, name, evidence.labelled(memory), text + note, weight, why, priority, shorter, part)

    def _forms(
        self, memory: Memory, hit: Hit | None, question: str
    ) -> tuple[str, Callable[[], Iterable[tuple[str, str]]]]:
        """A memory's text, and what to try where the whole does not fit."""
        if hit and hit.via.startswith(reflections.FOLDER) and memory.layer != LAYER_REFLECTION:
            body = self.body(memory, hit.via)
            whole = with_reflection(memory, body)
            best = with_reflection(memory, best_passage(body, question, BEST_PASSAGE))
            return whole, lambda: [(CUT, best), *_beginning(whole)]
        text = text_of(memory)

        def forms() -> Iterable[tuple[str, str]]:
            if reflections.is_reference(memory.summary_md_ref):
                body = self.body(memory)
                if body and len(body) < len(text):
                    yield SUMMARY, body
            yield from _beginning(text)

        return text, forms

    def body(self, memory: Memory, path: str = "") -> str:
        """The text of a memory's reflection, empty where it has none that can be read."""
        found, _ = self._store.readable_reflection(replace(memory, summary_md_ref=path or memory.summary_md_ref))
        return found.body.strip() if found else ""

    def shown(self, hit: Hit, question: str) -> str:
        """The text of a hit for a prompt: with what was learned, and with the reflection that matched, of a long one
        its best passage."""
        memory = hit.memory
        if not hit.via.startswith(reflections.FOLDER) or memory.layer == LAYER_REFLECTION:
            return text_of(memory)
        body = self.body(memory, hit.via)
        return with_reflection(memory, best_passage(body, question, LONG_BODY))


def _beginning(text: str) -> Iterable[tuple[str, str]]:
    if len(text) > EXCERPT_CHARACTERS:
        yield CUT, shortened(text, EXCERPT_CHARACTERS)


def _why(memory: Memory) -> str:
    return "a constraint" if CONSTRAINT_TAG in memory.tags else "pinned"


def _day(memory: Memory) -> str:
    return f"{memory.when:%Y-%m-%d}" if memory.when else "no date"


def _check(task: str, total: int, memory_tokens: int | None) -> None:
    if task not in SHARES:
        raise UsageError(f"there is no kind of task {task!r}", hint=f"Kinds: {', '.join(SHARES)}.")
    if total < LEAST_BUDGET:
        raise UsageError(f"a budget of {total} tokens is too small", hint=f"Give at least {LEAST_BUDGET}.")
    if memory_tokens is not None and memory_tokens < 0:
        raise UsageError("memory_tokens cannot be negative", hint="Give 0 to recall nothing.")


def _hits_for(total: int, memory_tokens: int | None) -> int:
    room = int(total * MOST_MEMORY) if memory_tokens is None else memory_tokens
    return max(LEAST_HITS, min(MOST_HITS, room // TOKENS_A_HIT))


def _assembled(
    question: str,
    system: str,
    messages: Sequence[Mapping[str, Any]],
    pieces: Sequence[Piece],
    allocation: Allocation,
    count: Count,
    memory_tokens: int | None = None,
) -> ContextPack:
    """Divide the window, fill it, and count the whole again: a tokenizer may count a whole higher than its parts."""
    asked = [] if _is_last(question, messages) or not question.strip() else [{"role": "user", "content": question}]
    prompt = [{"role": "system", "content": system}] if system else []
    fixed = sum(cost(message, count) for message in (*prompt, *asked))
    room = allocation.system + allocation.memory + allocation.history
    if memory_tokens is not None:
        room = max(room, fixed + memory_tokens + sum(cost(message, count) for message in messages))
    if fixed > room:
        raise UsageError(
            f"the system prompt and the question take {fixed} tokens, more than the {room} there are",
            hint="Give a larger --budget, or a shorter prompt.",
        )
    frame = count(enclosed("")) + 8
    wanted = {
        SYSTEM: fixed,
        MEMORY: frame + sum(count(f"- [{p.label}] {p.text}") + 4 for p in pieces) + 8 * len(SECTIONS) if pieces else 0,
        HISTORY: sum(cost(message, count) for message in messages),
    }
    granted = lent(allocation, wanted)
    if memory_tokens is not None:
        granted[MEMORY] = memory_tokens
    over = 0
    while True:
        kept, left_out = trimmed(messages, max(0, granted[HISTORY] - over), count)
        shown = evidence.texts_of([*kept, *asked])
        fresh = [piece for piece in pieces if not (piece.said and evidence.repeats(piece.text, shown))]
        placed = packed(fresh, SECTIONS, max(0, granted[MEMORY] - frame - over), count)
        sections = rendered(placed, SECTIONS)
        text = enclosed("\n\n".join(sections)) if sections else ""
        memory = [{"role": "system", "content": text}] if text else []
        whole = [*prompt, *memory, *kept, *asked]
        used = {SYSTEM: fixed, MEMORY: sum(cost(m, count) for m in memory), HISTORY: sum(cost(m, count) for m in kept)}
        excess = max(sum(used.values()) - room, used[MEMORY] - granted[MEMORY] if memory_tokens is not None else 0)
        if excess <= 0 or not (memory or kept):
            return ContextPack(
                text, tuple(whole), sum(used.values()), "", allocation, granted, used, tuple(placed), tuple(left_out)
            )
        over += excess


def _is_last(question: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the history ends with the question already."""
    return bool(messages) and messages[-1].get("role") == "user" and messages[-1].get("content") == question
