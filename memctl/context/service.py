"""Building the context for a model's call, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from memctl.config import CONTEXT
from memctl.context import corrections, evidence, history, shown, tokens
from memctl.context.assemble import BACKGROUND, MUST, OUT, SUMMARY, Piece
from memctl.context.assemble import EXCERPT as CUT
from memctl.context.budget import MOST_MEMORY, SHARES, allocate, with_tools
from memctl.context.cut import Cutter, text_of
from memctl.context.evidence import CONSTRAINTS, DOCUMENTS, OTHERS, PROFILE, SECTIONS, TASK
from memctl.context.fence import label
from memctl.context.pack import ContextPack, filled, schemas_note
from memctl.context.shown import best_passage, with_reflection
from memctl.context.tokens import Count
from memctl.context.turns import groups
from memctl.core import times
from memctl.core.formats import reflections
from memctl.core.messages import USER
from memctl.core.models import (
    CANDIDATE,
    CONSTRAINT,
    LAYER_DOCUMENT,
    LAYER_REFLECTION,
    MEMORIES,
    MESSAGES,
    SUPERSEDED,
    Filters,
    Hit,
    Memory,
    Query,
    Reranking,
    Route,
)
from memctl.core.plain_json import dumped
from memctl.core.text.shortening import first_sentences
from memctl.core.text.terms import terms
from memctl.engine import retried
from memctl.errors import UsageError
from memctl.querying import QueryEngine
from memctl.retrieval import answer as answering
from memctl.retrieval import rank, retrieve
from memctl.retrieval.answer import Answer, Evidence
from memctl.retrieval.gate import least
from memctl.storage.ports.sessions import SessionStorage

T = TypeVar("T")

MOST_CONSTRAINTS, MOST_PINNED, MOST_PROFILE = 30, 100, 20

MOST_COMPARED, FOLLOWING = 40, 4
"""The most hits to compare with later statements, and how many messages after each to read."""

MOST_LOOKED_UP, RAREST, ALIKE = 5, 3, 8
"""How many of these hits to look up by rare words, by how many words, and how many matches of each to read."""

LEAST_CONFIDENCE = 0.6
"""The least confidence of facts in the profile."""

TOKENS_A_HIT, TOKENS_A_BYTE = 12, 0.15
"""The fewest tokens of a hit, and the tokens per byte of the mean message …"""

LEAST_HITS, MOST_HITS = 40, 600
"""… from which the number of hits to search for follows, within these bounds."""

BYTES_A_TOKEN = 4.5
"""The most bytes per token of messages: how many bytes to read to fill the room."""

RECENT_MESSAGES, RECENT_CHARACTERS = 8, 2_000
"""The messages before the question that are searched for with it."""

CLOSED_HITS, CLOSED_PROFILE = 50, 30
"""Tokens for the nearest hits, and for the profile, if nothing answers the question."""

EXCERPT_CHARACTERS = 400
LONG_BODY, BEST_PASSAGE = 1_600, 800
"""Characters: a longer matching reflection is shown by its best passage of at most the second length."""

LEAST_BUDGET = 100
_NOT_NOTED = (TASK, DOCUMENTS, OTHERS)


@dataclass(frozen=True)
class _Recalled:
    """The evidence for a question, and the reranking of it."""

    evidence: Evidence
    reranked: Reranking | None = None
    degraded: tuple[str, ...] = ()


class Contexts:
    """Contexts for a model's call: `store.context`."""

    def __init__(self, engine: QueryEngine) -> None:
        self._engine = engine

    def retry(self, action: Callable[[], T]) -> T:
        return self._engine.retry(action)

    @retried
    def build(
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
        tools: Sequence[Mapping[str, Any]] = (),
        ask: bool = True,
        others: Sequence[Hit] = (),
    ) -> ContextPack:
        """Recall what matters for a question and pack it into a window.

        Args:
            question: the question for the model; empty for the profile alone.
            session: the session whose messages and task to include.
            messages: the history, as OpenAI-style messages, if there is no session.
            task_state: the current task as Markdown, if there is no session.
            recall: whether to recall memories; without it, only history and task.
            system: the system prompt.
            budget: tokens of the whole window; default: the setting `context_tokens`.
            memory_tokens: tokens of the recalled part; default: its share of the window.
            gate: whether to include almost nothing if no memory answers the question; default: the setting
                `context_gate`.
            task: `simple`, `medium` or `complex`: how to divide the window.
            tokenizer: overrides the setting.
            tools: the schemas of the model's tools, which also take room.
            ask: whether to add the question to the messages; without it, it only says what to recall.
            others: hits in other users' memories, shown as such; see `Shared.build_context`.

        Raises:
            UsageError: unknown kind of task, or a budget that is too small.
        """
        now = now or times.utc_now()
        engine = self._engine
        total = engine.settings.context_tokens if budget is None else budget
        _check(task, total, memory_tokens)
        if session:
            from memctl.sessions.service import Sessions
            from memctl.tasks.service import Tasks

            messages, task_state = Sessions(engine).conversation(session).openai(), Tasks(engine).text(session)
        counter = tokens.load(tokenizer or engine.settings.tokenizer)
        room = int(total * MOST_MEMORY) if memory_tokens is None else memory_tokens
        recalled = self._recalled(question if recall else "", messages, now, room)
        asks = bool(recall and question.strip())
        opened = not asks or self._opens(recalled.evidence, gate)
        pieces = self._pieces(question, recalled.evidence, task_state, now, recall, opened, counter.count)
        pieces += [evidence.of_another(hit) for hit in others]
        needs_documents = any(piece.section == DOCUMENTS for piece in pieces)
        schemas = counter.count(dumped(tools)) if tools else 0
        allocation = with_tools(allocate(total, task, knowledge=needs_documents, messages=len(messages)), schemas)
        cutter = self._cutter(session, question, messages, counter.count)
        turns = groups(messages, cutter.language)
        turns = history.with_question(turns, messages, question) if ask else turns
        pack = filled(turns, system, pieces, allocation, cutter, memory_tokens)
        self._offload(session, pack.offloads, now)
        notes = (counter.note, *recalled.degraded, *schemas_note(schemas, allocation), *pack.notes)
        written = self._receipt(question, recalled.evidence, pack, now) if receipt and recall else ""
        return replace(
            pack,
            tokenizer=counter.name,
            notes=tuple(filter(None, notes)),
            receipt=written,
            reranked=recalled.reranked,
            strength=recalled.evidence.strength if asks else None,
            open=opened,
        )

    def _hits_for(self, room: int) -> int:
        """The number of hits that fill `room` tokens, estimated from the mean size of messages."""
        usual = max(TOKENS_A_HIT, int(TOKENS_A_BYTE * self._engine.search.mean_message_size(answering.MOST_BYTES)))
        return max(LEAST_HITS, min(MOST_HITS, room // usual))

    def _opens(self, recalled: Evidence, gate: bool | None) -> bool:
        """Whether the evidence answers the question well enough to be included."""
        settings = self._engine.settings
        gated = settings.context_gate if gate is None else gate
        return not gated or recalled.strength >= least(settings.context_gate_strength, self._engine.search.total())

    def _cutter(self, session: str, question: str, messages: Sequence[Mapping[str, Any]], count: Count) -> Cutter:
        """Cuts messages that are too large, in the language of the conversation; in a session, with references to the
        full texts."""
        from memctl.core.text.language import language_of

        user_texts = [question, *(text_of(m.get("content"))[:2_000] for m in messages[-20:] if m.get("role") == "user")]
        stored = self._engine.storage.sessions
        kept = frozenset(stored.offloaded(session)) if session else frozenset()
        refer = (lambda text: _reference(stored, session, text, kept)) if session else (lambda text: "")
        return Cutter(count, refer, language_of(*user_texts))

    def _offload(self, session: str, offloads: Mapping[str, str], now: datetime) -> None:
        """Store the full texts of cut messages for `read_offloaded`, until the session ends."""
        stored = self._engine.storage.sessions
        known = set(stored.offloaded(session)) if offloads else set()
        for ref, text in offloads.items():
            if ref not in known and ref == stored.reference(session, text):
                with stored.locked(session):
                    stored.offload(session, text)

    # Recalling

    def _recalled(self, question: str, messages: Sequence[Mapping[str, Any]], now: datetime, room: int) -> _Recalled:
        store = self._engine
        store.refresh()
        embedder = store.ready_embedder()
        degraded = [note for note in (store.embedder_problem, store.unready()) if note]
        if not question.strip():
            return _Recalled(Evidence((), {}, 0.0), None, tuple(degraded))
        recent = evidence.recent_turns(question, messages, RECENT_MESSAGES, RECENT_CHARACTERS)
        query = Query(question, top=self._hits_for(room), rerank=store.reranker_for(CONTEXT))
        window = evidence.texts_of([*messages, {"content": question}])
        rounds: list[Evidence] = []

        def plain(request: Query) -> Answer:
            rounds.append(
                answering.evidence(
                    request,
                    recent,
                    store.search,
                    embedder,
                    store.weights,
                    now,
                    BYTES_A_TOKEN * room,
                    lambda hit: evidence.is_in_window(hit, window),
                )
            )
            return Answer(rounds[-1].hits, Route(), rounds[-1].degraded)

        answered, reranked, problem = store.ranked_by_model(query, plain)
        best = replace(rounds[-1], hits=answered.hits)
        return _Recalled(best, reranked, tuple(note for note in (*degraded, best.degraded, problem) if note))

    def _receipt(self, question: str, recalled: Evidence, pack: ContextPack, now: datetime) -> str:
        """Record what was included; what answered the question counts as used."""
        given = [placed for placed in pack.placed if placed.how != OUT and placed.section not in _NOT_NOTED]
        ids = [*dict.fromkeys(placed.info.message if placed.info else placed.name for placed in given)]
        used = {hit.memory.memory_id for hit in rank.used(recalled.hits)} if recalled.hits else set()
        return self._engine.storage.receipts.write(question, ids, [i for i in ids if i in used], now)

    # Pieces

    def _pieces(
        self,
        question: str,
        recalled: Evidence,
        task_state: str,
        now: datetime,
        recall: bool,
        opened: bool,
        count: Count,
    ) -> list[Piece]:
        pieces = [Piece(TASK, "task", "", task_state, 1.0, "the current task", MUST)] if task_state.strip() else []
        if not recall:
            return pieces
        always = self._always(now)
        hits = recalled.hits
        view = self._engine.view()
        profile = view.profile(LEAST_CONFIDENCE, MOST_PROFILE, now)
        shown = [*always, *(hit.memory for hit in hits[:LEAST_HITS]), *profile]
        about = evidence.changes(shown, self._changed(question, now), view.get)
        likely = [*always, *(hit.memory for hit in hits[:MOST_COMPARED]), *profile]
        following = self._following(likely)
        likely += self._sharing(likely, now)
        contradicting = self._contradicting([*always, *(hit.memory for hit in hits[:LEAST_HITS]), *profile], now)
        about = replace(about, later=corrections.later_ones(likely, following), contradicting=contradicting)
        placed = [self._piece(CONSTRAINTS, memory, memory.importance, _why(memory), MUST, about) for memory in always]
        answers, background = self._from_hits(question, recalled, now, about), self._profile(profile, about)
        if not opened:
            answers, background = _first(answers, CLOSED_HITS, count), _first(background, CLOSED_PROFILE, count)
        placed += [*answers, *background]
        once = {piece.name: piece for piece in reversed(placed)}
        ordered = evidence.newer_first(once.values(), contradicting)
        kept = sorted(ordered, key=lambda p: (p.priority, SECTIONS.index(p.section), -p.weight, p.name))
        return pieces + evidence.without_repeats(kept)

    def _contradicting(self, memories: Sequence[Memory], now: datetime) -> list[tuple[Memory, Memory]]:
        """The pairs of memories that seem to contradict each other, the older first."""
        alike = evidence.worded_alike({m.memory_id: m for m in memories if not evidence.is_passage(m)}.values())
        if not alike:
            return []
        from memctl.conflicts import contradictions  # its word lists take as long to load as a whole context

        return [(one.first, one.second) for one in contradictions.find(alike, now, (self._engine.user,))]

    def _following(self, shown: Sequence[Memory]) -> dict[str, list[Memory]]:
        """The messages after those that are shown, or that a shown memory was derived from."""
        search = self._engine.search
        behind = search.following({source for memory in shown if (source := corrections.source_of(memory))}, FOLLOWING)
        keys = [*dict.fromkeys(key for keys in behind.values() for key in keys)]
        own = {match.key: match.memory for match in search.matches(keys) if _is_users(match.memory)}
        return {name: [own[key] for key in keys if key in own] for name, keys in behind.items()}

    def _sharing(self, shown: Sequence[Memory], now: datetime) -> list[Memory]:
        """Messages that share the rarest words with the first shown ones: one of them may take these back even if it
        does not match the question."""
        if not self._engine.search.has(MESSAGES):
            return []
        others: dict[str, Memory] = {}
        known = {memory.memory_id for memory in shown}
        first = [m for m in shown if m.layer != LAYER_DOCUMENT and m.metadata.get("role", "user") == "user"]
        for memory in first[:MOST_LOOKED_UP]:
            words = sorted(corrections.content_words(memory.content))
            search, only = self._engine.search, Filters(only=MESSAGES)
            for match in search.sharing_rarest(words, only, now, rarest=RAREST, limit=ALIKE) if words else ():
                other = match.memory
                if _is_users(other) and other.memory_id not in known:
                    others[other.memory_id] = other
        return [*others.values()]

    def _always(self, now: datetime) -> list[Memory]:
        """The memories for every question: pinned ones, and those with the tag `constraint`."""
        view = self._engine.view()
        always = [*view.pinned(MOST_PINNED, now), *view.tagged(CONSTRAINT, MOST_CONSTRAINTS, now)]
        return [*{memory.memory_id: memory for memory in always}.values()]

    def _changed(self, question: str, now: datetime) -> list[Memory]:
        """Superseded values and candidates that match the question, for notes on what is shown."""
        if not question.strip():
            return []
        filters = Filters(statuses=(SUPERSEDED, CANDIDATE), only=MEMORIES)
        words = retrieve.content_terms(question)
        search = self._engine.search
        keys = [scored.key for scored in search.full_text(words, filters, now, MOST_CONSTRAINTS)]
        return [match.memory for match in search.matches(keys)]

    def _from_hits(self, question: str, recalled: Evidence, now: datetime, about: evidence.Changes) -> list[Piece]:
        """The pieces that answer the question, each under its heading."""
        useful = {id(hit) for hit in rank.used(recalled.hits)} if recalled.hits else set()
        before = {after: name for name, after in recalled.after.items()}
        extracts = self._extracts(recalled.hits)
        pieces = []
        for hit in recalled.hits:
            name, why = answering.place_of(hit), evidence.reason(hit)
            if evidence.is_message(hit):
                info = evidence.message_info(hit.memory, before.get(name, ""))
                pieces.append(evidence.message_piece(hit, name, why, info, about))
            elif id(hit) in useful and not evidence.is_minor(hit.memory) and hit.memory.memory_id not in extracts:
                section, priority = evidence.section_of(hit.memory)
                weight = evidence.weight(hit, section, now)
                pieces.append(self._piece(section, hit.memory, weight, why, priority, about, hit, question))
        return pieces

    def _extracts(self, hits: Sequence[Hit]) -> set[str]:
        """The ids of episodes extracted from messages that exist here, which say the same themselves."""
        spans = {hit.memory.memory_id: evidence.extracted_from(hit.memory) for hit in hits}
        known = self._engine.conversations.known(name for names in spans.values() for name in names)
        return {name for name, names in spans.items() if names and known.issuperset(names)}

    def _profile(self, memories: Sequence[Memory], about: evidence.Changes) -> list[Piece]:
        """Preferences, then facts, newest first, for any question."""
        pieces = []
        for place, memory in enumerate(memories):
            section = CONSTRAINTS if evidence.is_preference(memory) else PROFILE
            why = f"profile ({_day(memory)})"
            pieces.append(self._piece(section, memory, 1 / (1 + place), why, BACKGROUND, about))
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
        return Piece(section, name, label(memory), text + note, weight, why, priority, shorter, part)

    def _forms(
        self, memory: Memory, hit: Hit | None, question: str
    ) -> tuple[str, Callable[[], Iterable[tuple[str, str]]]]:
        """A memory's text, and shorter forms to try if it does not fit."""
        body = self._matched_body(memory, hit, question) if hit else ""
        text = with_reflection(memory, body)

        def forms() -> Iterable[tuple[str, str]]:
            best = best_passage(body, question, BEST_PASSAGE)
            if body:
                yield CUT, with_reflection(memory, best)
            if (summary := body or self.body(memory)) and len(summary) < len(memory.content):
                yield SUMMARY, summary
            if body:
                yield CUT, f"{first_sentences(memory.content, EXCERPT_CHARACTERS)}\n{best}"
            if len(text) > EXCERPT_CHARACTERS:
                yield CUT, first_sentences(text, EXCERPT_CHARACTERS)

        return text, forms

    def body(self, memory: Memory, path: str = "") -> str:
        """The text of a memory's reflection; empty if it has none that is readable."""
        if not reflections.is_reference(path or memory.summary_md_ref):
            return ""
        document, _ = self._engine.readable_reflection(replace(memory, summary_md_ref=path or memory.summary_md_ref))
        return document.body.strip() if document else ""

    def shown(self, hit: Hit, question: str, limit: int = LONG_BODY) -> tuple[str, str]:
        """The text of a hit for a prompt, and what belongs below it: what was learned, and the reflection that matched;
        of a longer one, the best passage of at most `limit` characters."""
        content, more = hit.memory.content, shown.learned(hit.memory)
        body = best_passage(self._matched_body(hit.memory, hit, question), question, limit)
        return content, "\n".join(filter(None, (more, body)))

    def _matched_body(self, memory: Memory, hit: Hit, question: str) -> str:
        """The text of a memory's reflection, if it is what matched, or holds words of the question that the memory does
        not."""
        if memory.layer == LAYER_REFLECTION:
            return ""
        if hit.via.startswith(reflections.FOLDER):
            return self.body(memory, hit.via)
        body = self.body(memory)
        wanted = set(retrieve.content_terms(question)) - set(terms(shown.text_of(memory))) if body else set()
        return body if wanted & set(terms(body)) else ""


def _first(pieces: Sequence[Piece], limit: int, count: Count) -> list[Piece]:
    """The best pieces that fit into `limit` tokens."""
    chosen = []
    for piece in sorted(pieces, key=lambda p: -p.weight):
        cost = count(f"- [{piece.label}] {piece.text}")
        if cost <= limit:
            chosen.append(piece)
            limit -= cost
    return chosen


def _why(memory: Memory) -> str:
    return "a constraint" if CONSTRAINT in memory.tags else "pinned"


def _day(memory: Memory) -> str:
    return f"{memory.when:%Y-%m-%d}" if memory.when else "no date"


def _check(task: str, total: int, memory_tokens: int | None) -> None:
    if task not in SHARES:
        raise UsageError(f"there is no kind of task {task!r}", hint=f"Kinds: {', '.join(SHARES)}.")
    if total < LEAST_BUDGET:
        raise UsageError(f"a budget of {total} tokens is too small", hint=f"Give at least {LEAST_BUDGET}.")
    if memory_tokens is not None and memory_tokens < 0:
        raise UsageError("memory_tokens cannot be negative", hint="Give 0 to recall nothing.")


def _reference(stored: SessionStorage, session: str, text: str, kept: Collection[str]) -> str:
    """The reference for the full text: the one in the text, if the window has cut it already; else its own."""
    references = re.findall(re.escape(session) + r"/[0-9a-f]{32}", text)
    return next((ref for ref in references if ref in kept), stored.reference(session, text))


def _is_users(memory: Memory) -> bool:
    return memory.metadata.get("role") == USER
