"""What a tool answers: short texts, memories fenced as data, and where to get more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memctl.agent.shared import Shared
from memctl.context import fence, tokens
from memctl.lifecycle.adding import ADDED, CANDIDATE_KEPT, MENTIONED, PURGED, SKIPPED, UPDATED, Added
from memctl.models import Hit, Memory, QueryResult
from memctl.retrieval import rank
from memctl.store import MemoryStore
from memctl.usecases.closing import Closed

ANSWER_TOKENS = 650
"""The most that memories may take in an answer, so that all of it stays below 800 by stricter counts too."""

FULL_TOKENS = 8_000
"""The same where the whole was asked for."""

ITEM_TOKENS = 75
"""How much of one memory a list shows: about 300 Latin or 110 Chinese characters."""


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
    items = [(_label(shared, hit), hit.memory.content) for hit in result.hits]
    shown, cut = _fitting(items, full)
    close = rank.used(sorted(result.hits, key=lambda hit: -hit.score))
    left = len(items) - len(shown)
    return _lines(
        "" if close else "Nothing close is known; the nearest:",
        fence.enclosed(fence.section("", shown)),
        "Texts that end in … are cut: `show_memory` gives the whole." if cut else "",
        f"{left} more left out: ask more narrowly, or with `full`." if left else "",
        *_notes(result),
    )


def _label(shared: Shared, hit: Hit) -> str:
    store = shared.stores[hit.owner] if hit.owner else shared.own
    return fence.label(_named(shared, store, hit.memory))


def _named(shared: Shared, store: MemoryStore, memory: Memory) -> Memory:
    return replace(memory, memory_id=shared.name_of(store, memory.memory_id))


def _fitting(items: Sequence[tuple[str, str]], full: bool) -> tuple[list[tuple[str, str]], bool]:
    """As many items as an answer holds, each cut, and whether any was."""
    room = FULL_TOKENS if full else ANSWER_TOKENS
    shown: list[tuple[str, str]] = []
    cut = False
    for name, text in items:
        line = short(text, FULL_TOKENS if full else ITEM_TOKENS)
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
    reflection, problem = store.readable_reflection(memory)
    room = FULL_TOKENS if full else ANSWER_TOKENS
    content = short(memory.content, room // 2 if reflection else room)
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


def recorded(added: Added) -> str:
    """What became of one text that was to be remembered."""
    near = f"; much like {', '.join(added.near)}" if added.near else ""
    return fence.one_line(f"{_OUTCOMES[added.outcome]}: {added.memory.memory_id}{near}")


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
