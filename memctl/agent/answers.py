"""What a tool answers: short texts, memories fenced as data, and where to get more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memctl.agent.shared import Shared
from memctl.context import fence, tokens
from memctl.context.shown import text_of
from memctl.core.models import Hit, Memory, QueryResult
from memctl.core.records import ADDED, CANDIDATE_KEPT, MENTIONED, PURGED, SKIPPED, UPDATED
from memctl.retrieval import rank
from memctl.store import MemoryStore
from memctl.tasks.closing import Closed

if TYPE_CHECKING:
    from memctl.context.service import ContextPack
    from memctl.core.kept import KeptMessage
    from memctl.memories.assistant import Saved

ANSWER_TOKENS = 650
"""The most that memories may take in an answer, so that all of it stays below 800 by stricter counts too."""

FULL_TOKENS = 8_000
"""The same where the whole was asked for."""

CONTEXT_TOKENS = 1_500
"""The most of a context that nobody gave another size for."""

ITEM_TOKENS = 75
"""How much of one memory a list shows: about 300 Latin or 110 Chinese characters."""


BESIDE_TOKENS, PASSAGE_CHARACTERS = 125, 400
"""How much of what was learned from it, or of the reflection that matched."""


def short(text: str, limit: int) -> str:
    """The text, cut so that it has at most so many tokens."""
    if tokens.estimate(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens.estimate(text[:middle]) < limit else (low, middle - 1)
    return f"{text[:low].rstrip()}…"


def found(shared: Shared, result: QueryResult, *, full: bool = False) -> str:
    """The answer to a question."""
    if not result.hits:
        return _lines("Nothing is known about this.", *_notes(result))
    items = [(_label(shared, hit), *_text(shared, hit, result.query.text, full)) for hit in result.hits]
    shown, cut = _fitting(items, full)
    left = len(items) - len(shown)
    return _lines(
        "" if rank.answered(result.hits) else "Nothing close is known; the nearest:",
        fence.enclosed(fence.section("", shown)),
        "Texts that end in … are cut: `show_memory` gives the whole." if cut else "",
        f"{left} more left out: ask more narrowly, or with `full`." if left else "",
        *_notes(result),
    )


def _label(shared: Shared, hit: Hit) -> str:
    store = shared.stores[hit.owner] if hit.owner else shared.own
    return fence.label(_named(shared, store, hit.memory))


def _text(shared: Shared, hit: Hit, question: str, full: bool) -> tuple[str, str]:
    """The text of a hit, and what was learned or matched beside it."""
    store = shared.stores[hit.owner] if hit.owner else shared.own
    return store.context.shown(hit, question, *(() if full else (PASSAGE_CHARACTERS,)))


def _named(shared: Shared, store: MemoryStore, memory: Memory) -> Memory:
    return replace(memory, memory_id=shared.name_of(store, memory.memory_id))


def _fitting(items: Sequence[tuple[str, ...]], full: bool) -> tuple[list[tuple[str, str]], bool]:
    """As many items as an answer holds, each cut, and whether any was."""
    room = FULL_TOKENS if full else ANSWER_TOKENS
    shown: list[tuple[str, str]] = []
    cut = False
    for name, text, *more in items:
        line = short(text, FULL_TOKENS if full else ITEM_TOKENS)
        text = "\n".join(filter(None, (text, *more)))
        line = "\n".join(filter(None, (line, *(short(each, FULL_TOKENS if full else BESIDE_TOKENS) for each in more))))
        room -= tokens.estimate(f"- [{name}] {line}\n")
        if room < 0 and shown:
            break
        shown.append((name, line))
        cut |= line != text
    return shown, cut


def _notes(result: QueryResult) -> Iterable[str]:
    yield f"<!-- receipt {result.receipt} -->" if result.receipt else ""
    for note in (*result.degraded, *(() if result.index.state == "fresh" else result.index.notes)):
        yield fence.one_line(f"note: {short(note, 40)}")


def page(shared: Shared, store: MemoryStore, memory: Memory, *, full: bool = False) -> str:
    """One memory with what is kept about it, and its reflection."""
    reflection, problem = store.engine.readable_reflection(memory)
    room = FULL_TOKENS if full else ANSWER_TOKENS
    content = short(text_of(memory), room // 2 if reflection else room)
    told = [(fence.label(_named(shared, store, memory)), content), *_facts(memory)]
    if reflection:
        rest = max(room - tokens.estimate(fence.section("", told)), room // 4)
        told.append((reflection.path, short(reflection.body.strip(), rest)))
    cut = "" if full or "…" not in told[-1][1][-1:] + content[-1:] else "Cut: `full` gives the whole."
    return _lines(fence.enclosed(fence.section("", told)), cut, problem and fence.one_line(f"note: {problem}"))


def part(name: str, text: str, offset: int, *, full: bool = False) -> str:
    """A piece of a long text, and where the rest begins."""
    piece = short(text[offset:], FULL_TOKENS if full else ANSWER_TOKENS)
    end = offset + len(piece) - 1 if text[offset:] != piece else len(text)
    more = f"{len(text) - end:,} more characters, from {end} on." if end < len(text) else ""
    return _lines(fence.enclosed(fence.section("", [(name, piece)])), more)


def said_by(message: KeptMessage) -> str:
    """What stands before a whole message: who said it, when, in which session."""
    day = f"{message.at:%Y-%m-%d %H:%M}" if message.at else ""
    about = (f"said by {message.name or message.role}", day, f"session {message.session}", message.message_id)
    return ", ".join(filter(None, about))


def state(text: str) -> str:
    """The task at hand."""
    return (
        fence.enclosed(fence.section("", [("", short(text, ANSWER_TOKENS))])) if text else "There is no task at hand."
    )


def closed(found: Closed) -> str:
    """What became of a task that is over."""
    learned = [
        f"kept as {found.episode.memory_id}" if found.episode else "",
        f"what it taught: {found.strategy.memory_id}" if found.strategy else "",
        *(f"a mended call: {each.memory.memory_id}" for each in found.recoveries),
        *(f"kept apart as a candidate: {each.memory_id}" for each in found.knowledge),
    ]
    notes = (f"note: {note}" for note in found.notes)
    return _lines(f"The task is over: {found.task.outcome}.", *map(fence.one_line, (*learned, *notes)))


def _facts(memory: Memory) -> Iterable[tuple[str, str]]:
    """What is kept about a memory, labelled; anybody's words for themselves, or at the end."""
    marks = [mark for mark, on in (("marked for revision", memory.needs_revision), ("pinned", memory.pinned)) if on]
    known = (memory.kind, memory.status, f"confidence {memory.confidence:g}", *marks, f"source {memory.source}")
    yield "about it", ", ".join(known)
    if memory.tags:
        yield "its tags", short(", ".join(memory.tags), 40)
    if memory.key:
        yield "its value", f"{memory.key} = {short(str(memory.value), 40)}"


_OUTCOMES = {
    ADDED: "saved",
    MENTIONED: "known already, counted again",
    UPDATED: "saved, replaces an earlier value",
    CANDIDATE_KEPT: "kept apart as a candidate",
    SKIPPED: "known already",
    PURGED: "not saved: it was purged before",
}


def recorded(saved: Saved) -> str:
    """What the store holds now of one text that was to be remembered."""
    added = saved.added
    parts = [
        f"{_OUTCOMES[added.outcome]}: {added.memory.memory_id}",
        *_held(added.memory),
        f"replaces {_ids(saved.replaced)}" if saved.replaced else "",
        f"much like {', '.join(added.near)}" if added.near else "",
        f"{_ids(saved.pinned)} is pinned and stays: `update_memory` changes it, if the user says so"
        if saved.pinned
        else "",
    ]
    return fence.one_line("; ".join(filter(None, parts)))


def amended(saved: Saved) -> str:
    """What a memory is after it was corrected."""
    memory = saved.added.memory
    return fence.one_line("; ".join((f"changed: {memory.memory_id}", *_held(memory))))


def _held(memory: Memory) -> Iterable[str]:
    yield f"{memory.kind} in {memory.category}"
    if memory.key:
        yield f"{memory.key} = {_value(memory)}"
    if memory.tags:
        yield f"tags {short(', '.join(memory.tags), 40)}"
    if memory.pinned:
        yield "pinned"
    if memory.expires_at:
        yield f"until {memory.expires_at:%Y-%m-%d}"


def _value(memory: Memory) -> str:
    return short(memory.value if isinstance(memory.value, str) else json.dumps(memory.value, default=str), 40)


def _ids(memories: Sequence[Memory]) -> str:
    return ", ".join(memory.memory_id for memory in memories)


def beside(saved: Sequence[Saved]) -> Iterable[str]:
    """What was there before of what was just saved, fenced: replaced, pinned, or seeming to contradict it."""
    told = [
        (f"{word}, {fence.label(memory)}", memory.content)
        for each in saved
        for word, memories in (("replaced", each.replaced), ("pinned", each.pinned), ("contradicts", each.against))
        for memory in memories
    ]
    if told:
        yield fence.enclosed(fence.section("", _fitting(list(dict.fromkeys(told)), False)[0]))
    if any(each.against for each in saved):
        yield "Ask the user which is true; `update_memory` or `forget_memory` settles it."


def to_choose(memories: Sequence[Memory]) -> str:
    """What some words may mean, where they do not mean one memory."""
    if not memories:
        return "Nothing is known about this; nothing was forgotten."
    return _lines("Nothing was forgotten yet. Call again with the ids of what is meant:", _listed(memories))


def _listed(memories: Sequence[Memory]) -> str:
    once = {memory.memory_id: memory for memory in memories}
    shown, _ = _fitting([(fence.label(memory), memory.content) for memory in once.values()], False)
    return fence.enclosed(fence.section("", shown))


def forgotten(memories: Sequence[Memory], messages: Mapping[str, str]) -> str:
    """What was moved to the trash, and which messages were deleted: a model must see if these were the wrong ones."""
    lines = [f"moved to the trash: {_quoted(memory.memory_id, memory.content)}" for memory in memories]
    lines += [f"deleted, with what was said in it: {_quoted(name, text)}" for name, text in messages.items()]
    return "\n".join(lines)


QUOTED = 25
"""Tokens that are quoted of what was forgotten."""


def _quoted(name: str, text: str) -> str:
    return fence.one_line(f'{name} "{short(text, QUOTED)}"')


def context(pack: ContextPack) -> str:
    """The recalled part of a context."""
    notes = (fence.one_line(f"note: {short(note, 40)}") for note in pack.notes)
    receipt = f"<!-- receipt {pack.receipt} -->" if pack.receipt and pack.text else ""
    return _lines(pack.text or "Nothing is known about this.", receipt, *notes)


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
