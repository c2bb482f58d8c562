"""Building the context of a model's call: what is known that matters, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memctl import times
from memctl.config import CONTEXT
from memctl.context import history, tokens
from memctl.context.assemble import EXCERPT as CUT
from memctl.context.assemble import OUT, SUMMARY, Piece, Placed, packed, rendered
from memctl.context.budget import HISTORY, MEMORY, SHARES, SYSTEM, Allocation, allocate, lent, with_tools
from memctl.context.cut import Cutter, as_text, cost, text_of
from memctl.context.fence import enclosed, label
from memctl.context.history import Group
from memctl.context.tokens import Count
from memctl.engine import healing
from memctl.entries import memory_of
from memctl.errors import UsageError
from memctl.files import receipts, reflections, sessions
from memctl.lifecycle.reflect import shortened
from memctl.models import LAYER_DOCUMENT, Hit, Memory, Query, QueryResult, Reranking
from memctl.retrieval import rank
from memctl.usecases.asking import NONE, Asking
from memctl.usecases.conversations import Conversations
from memctl.usecases.tasks import Tasks

TASK, CONSTRAINTS, STRATEGIES, RELEVANT, DOCUMENTS, OTHERS, PROFILE = SECTIONS = (
    "Current task",
    "Constraints and preferences",
    "What worked before",
    "Relevant memories",
    "From documents",
    "Memories of other users",
    "About the user",
)
"""In the order of injection (A): constraints and preferences, strategies, recent and relevant experience."""

MUST, GUIDE, ANSWER, BACKGROUND = range(4)
"""What is packed first where there is little room: the task and constraints, what guides the answer (preferences and
strategies that fit the question), what answers it, then who the user is."""

CONSTRAINT_TAG = "constraint"
MOST_CONSTRAINTS = 30
MOST_STRATEGIES, MOST_EPISODES, MOST_KNOWLEDGE, MOST_PROFILE, MOST_FACTS = 5, 5, 3, 20, 10
LEAST_CONFIDENCE, LEAST_IMPORTANCE = 0.6, 0.3
"""Of profile facts; of episodes (C)."""

ASKED = 40
"""Hits that are looked at for a context."""

EXCERPT_CHARACTERS = 400
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
        offloads: whole texts of messages that were cut, by the reference in their place.
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
    offloads: Mapping[str, str] = field(default_factory=dict)

    def anthropic(self) -> dict[str, Any]:
        """`system` and `messages` of a request to Anthropic's Messages API."""
        from memctl.context.anthropic import converted
        from memctl.working.summary import tongue

        said = "\n".join(text_of(m.get("content"))[:2_000] for m in self.messages if m["role"] == "user")
        return converted(self.messages, tongue(said))


class Contexts(Tasks, Conversations, Asking):
    """Contexts for a model's call."""

    @healing
    def build_context(
        self,
        question: str,
        *,
        session: str = "",
        messages: Sequence[Mapping[str, Any]] = (),
        task_state: str = "",
        recall: bool = True,
        system: str = "",
        budget: int | None = None,
        task: str = "medium",
        tokenizer: str = "",
        now: datetime | None = None,
        receipt: bool = True,
        tools: Sequence[Mapping[str, Any]] = (),
        ask: bool = True,
        others: Sequence[Hit] = (),
    ) -> ContextPack:
        """Gather what is known that matters for a question and pack it into a window.

        Args:
            question: what the model will be asked; empty for the profile alone.
            session: the session whose messages and task at hand belong to it.
            messages: the history, as OpenAI-style messages, where there is no session.
            task_state: the task at hand as Markdown, where there is no session.
            recall: whether memories are looked for; history and task alone otherwise.
            system: the system prompt.
            budget: tokens of the whole window; the setting `context_tokens` where None.
            task: `simple`, `medium` or `complex`: how the window is divided.
            tokenizer: instead of the setting's.
            tools: schemas of the tools that the model is given with the messages: they take room as well.
            ask: whether the question is put to the model; else it only says what to recall, and the history asks.
            others: hits in other users' memories, which are shown as theirs; see `Shared.build_context`.

        Raises:
            UsageError: no such kind of task, or a budget that is too small for anything.
        """
        now = now or times.utc_now()
        total = self.settings.context_tokens if budget is None else budget
        if task not in SHARES:
            raise UsageError(f"there is no kind of task {task!r}", hint=f"Kinds: {', '.join(SHARES)}.")
        if total < LEAST_BUDGET:
            raise UsageError(f"a budget of {total} tokens is too small", hint=f"Give at least {LEAST_BUDGET}.")
        if session:
            messages, task_state = self.conversation(session).openai(), self.task_text(session)
        counter = tokens.load(tokenizer or self.settings.tokenizer)
        answer = self._answer_to(question if recall else "", now)
        pieces = [*self._pieces(answer, task_state, now, recall), *map(_of_another, others)]
        needs_documents = any(piece.section == DOCUMENTS for piece in pieces)
        schemas = counter.count(as_text(tools)) if tools else 0
        allocation = with_tools(allocate(total, task, knowledge=needs_documents, messages=len(messages)), schemas)
        cutter = self._cutter(session, question, messages, counter.count)
        turns = history.groups(messages, cutter.language)
        turns = history.with_question(turns, messages, question) if ask else turns
        pack = _assembled(turns, system, pieces, allocation, cutter)
        self._lay_aside(session, pack.offloads, now)
        notes = (counter.note, *answer.degraded, *_too_large(schemas, allocation), *pack.notes)
        written = self._receipt(question, answer, pack, now) if receipt and recall else ""
        return replace(
            pack, tokenizer=counter.name, notes=tuple(filter(None, notes)), receipt=written, reranked=answer.reranked
        )

    def _cutter(self, session: str, question: str, messages: Sequence[Mapping[str, Any]], count: Count) -> Cutter:
        """What cuts messages that are too large, in the language of the conversation; in a session it can refer to the
        whole."""
        from memctl.working.summary import tongue

        said = [question, *(text_of(m.get("content"))[:2_000] for m in messages[-20:] if m.get("role") == "user")]
        kept = frozenset(sessions.offloaded(self.folder, session)) if session else frozenset()
        refer = (lambda text: _reference(session, text, kept)) if session else (lambda text: "")
        return Cutter(count, refer, tongue("\n".join(said)))

    def _lay_aside(self, session: str, offloads: Mapping[str, str], now: datetime) -> None:
        """Keep the whole of what was cut, where `read_offloaded` finds it; it goes with its session."""
        known = set(sessions.offloaded(self.folder, session)) if offloads else set()
        for ref, text in offloads.items():
            if ref not in known and ref == sessions.reference(session, text):
                with sessions.locked(self.folder, session, timeout=self.settings.lock_timeout):
                    sessions.offload(self.folder, session, text)

    def _answer_to(self, question: str, now: datetime) -> QueryResult:
        asked = Query(question, top=ASKED, rerank=self.reranker_for(CONTEXT))
        if not question.strip():
            self.refresh()
            return replace(self.query(replace(asked, text=" ", rerank=NONE), now=now, receipt=False), hits=())
        return self.query(asked, now=now, receipt=False)

    def _receipt(self, question: str, answer: QueryResult, pack: ContextPack, now: datetime) -> str:
        """Note what was given; what counts as used is what answered the question and was put in."""
        given = [
            placed.name
            for placed in pack.placed
            if placed.how != OUT and placed.section not in (TASK, DOCUMENTS, OTHERS)
        ]
        used = {hit.memory.memory_id for hit in rank.used(answer.hits)} if answer.hits else set()
        return receipts.write(self.folder, question, given, [i for i in given if i in used], now)

    def _pieces(self, answer: QueryResult, task_state: str, now: datetime, recall: bool) -> list[Piece]:
        pieces = [Piece(TASK, "task", "", task_state, 1.0, "the task at hand", MUST)] if task_state.strip() else []
        found = [*self._constraints(now), *self._from_hits(answer), *self._profile(now)] if recall else []
        once = {piece.name: piece for piece in reversed(found)}
        kept = sorted(once.values(), key=lambda p: (p.priority, SECTIONS.index(p.section), -p.weight, p.name))
        return pieces + _without_told_twice(kept)

    def _constraints(self, now: datetime) -> list[Piece]:
        """Memories with the tag `constraint`: they hold whatever is asked."""
        found = [memory_of(entry) for entry in self.index.tagged(CONSTRAINT_TAG, MOST_CONSTRAINTS, now)]
        return [self._piece(CONSTRAINTS, memory, memory.importance, "a constraint", MUST) for memory in found]

    def _from_hits(self, answer: QueryResult) -> list[Piece]:
        """What answers the question, so many of each kind, each under its heading."""
        useful = {id(hit) for hit in rank.used(answer.hits)} if answer.hits else set()
        counts: dict[str, int] = {}
        found = []
        for hit in answer.hits:
            group = _group(hit)
            faint = hit.memory.kind == "episode" and hit.memory.importance <= LEAST_IMPORTANCE
            if id(hit) in useful and not faint and counts.get(group, 0) < _MOST[group]:
                counts[group] = counts.get(group, 0) + 1
                weight = 1 + hit.memory.reward if group == "strategy" else hit.score
                why = f"answers the question (score {hit.score:.2f}, relevance {hit.relevance:.2f})"
                priority = GUIDE if group in ("strategy", "preference") else ANSWER
                found.append(self._piece(_SECTION[group], hit.memory, weight, why, priority, hit.via))
        return found

    def _profile(self, now: datetime) -> list[Piece]:
        """The surest facts and preferences, whatever is asked (C)."""
        found = [memory_of(entry) for entry in self.index.profile(LEAST_CONFIDENCE, MOST_PROFILE, now)]
        return [
            self._piece(
                CONSTRAINTS if memory.kind == "preference" else PROFILE,
                memory,
                memory.confidence,
                f"profile (confidence {memory.confidence:.2f})",
                BACKGROUND,
            )
            for memory in found
        ]

    def _piece(self, section: str, memory: Memory, weight: float, why: str, priority: int, via: str = "") -> Piece:
        name = via if _is_document(memory) else memory.memory_id
        return Piece(section, name, label(memory), memory.content, weight, why, priority, self._shorter(memory))

    def _shorter(self, memory: Memory) -> Callable[[], Iterable[tuple[str, str]]]:
        """Forms to try where the whole does not fit: its reflection, if that is shorter, then its beginning."""

        def forms() -> Iterable[tuple[str, str]]:
            content = memory.content
            if reflections.is_reference(memory.summary_md_ref):
                found = self.readable_reflection(memory)[0]
                if found and len(found.body.strip()) < len(content):
                    yield SUMMARY, found.body.strip()
            if len(content) > EXCERPT_CHARACTERS:
                yield CUT, shortened(content, EXCERPT_CHARACTERS)

        return forms


LEAST_BUDGET = 100

_SECTION = {"strategy": STRATEGIES, "preference": CONSTRAINTS, "document": DOCUMENTS}
_SECTION |= {"fact": RELEVANT, "episode": RELEVANT, "knowledge": RELEVANT}
_MOST = {
    "strategy": MOST_STRATEGIES, "preference": MOST_FACTS, "document": MOST_KNOWLEDGE,
    "fact": MOST_FACTS, "episode": MOST_EPISODES, "knowledge": MOST_KNOWLEDGE,
}  # fmt: skip


def _of_another(hit: Hit) -> Piece:
    """What another user knows about the question; it says whose it is."""
    named = replace(hit.memory, memory_id=f"{hit.owner}/{hit.memory.memory_id}")
    why = f"answers the question (relevance {hit.relevance:.2f}), of another user"
    shown = f"{label(named)}, of another user"
    return Piece(OTHERS, named.memory_id, shown, hit.memory.content, hit.relevance, why, ANSWER, tuple)


def _is_document(memory: Memory) -> bool:
    """Whether it is a part of a document, which is no record."""
    return memory.layer == LAYER_DOCUMENT


def _group(hit: Hit) -> str:
    return "document" if _is_document(hit.memory) else hit.memory.known_kind


def _without_told_twice(pieces: Sequence[Piece]) -> list[Piece]:
    """One piece of each text."""
    once: dict[str, Piece] = {}
    for piece in pieces:
        once.setdefault(" ".join(piece.text.split()), piece)
    return list(once.values())


def _assembled(
    turns: Sequence[Group],
    system: str,
    pieces: Sequence[Piece],
    allocation: Allocation,
    cutter: Cutter,
) -> ContextPack:
    """Divide the window, fill it, and count the whole again: a tokenizer may count a whole higher than its parts."""
    count = cutter.count
    room = allocation.system + allocation.memory + allocation.history
    frame = count(enclosed("")) + 8
    wanted = {
        SYSTEM: cost({"role": "system", "content": system}, count) if system.strip() else 0,
        MEMORY: frame + sum(count(f"- [{p.label}] {p.text}") + 2 for p in pieces) + 8 * len(SECTIONS) if pieces else 0,
        HISTORY: history.total(turns, count),
    }
    granted = lent(allocation, wanted)
    over = 0
    while True:
        prompt, shortened = history.prompt(system, granted[SYSTEM], cutter)
        placed = packed(pieces, SECTIONS, max(0, granted[MEMORY] - frame - over), count)
        sections = rendered(placed, SECTIONS)
        text = enclosed("\n\n".join(sections)) if sections else ""
        memory = [{"role": "system", "content": text}] if text else []
        talk = history.fitted(turns, max(0, granted[HISTORY] - over), cutter)
        parts: dict[str, Sequence[Mapping[str, Any]]] = {SYSTEM: prompt, MEMORY: memory, HISTORY: talk.messages}
        used = {name: sum(cost(message, count) for message in part) for name, part in parts.items()}
        if sum(used.values()) <= room:
            return ContextPack(
                text, (*prompt, *memory, *talk.messages), sum(used.values()), "", allocation, granted, used,
                tuple(placed), talk.left_out, notes=(*shortened, *talk.notes), offloads=talk.offloads,
            )  # fmt: skip
        over += max(1, sum(used.values()) - room)


def _reference(session: str, text: str, kept: Collection[str]) -> str:
    """Where the whole of a text can be read: the reference in it, where the window has cut it already; else its own."""
    found = re.findall(re.escape(session) + r"/[0-9a-f]{32}", text)
    return next((ref for ref in found if ref in kept), sessions.reference(session, text))


def _too_large(schemas: int, allocation: Allocation) -> tuple[str, ...]:
    """A note where the schemas of tools leave too little room."""
    if schemas <= allocation.reserve:
        return ()
    window = f"the window of {allocation.total:,}"
    return (f"the tools' schemas take {schemas:,} tokens: this context does not fit beside them into {window}",)
