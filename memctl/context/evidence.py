"""What of all that is known belongs into a context, under which heading, and with which marks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memctl.context.assemble import ANSWER, GUIDE, Piece, Said
from memctl.context.corrections import telling as _telling
from memctl.context.cut import text_of
from memctl.context.fence import label
from memctl.context.shown import failed, speaker
from memctl.context.shown import text_of as text_of_memory
from memctl.core import kinds, times
from memctl.core.limits import SIMILARITY
from memctl.core.models import CANDIDATE, LAYER_DOCUMENT, LAYER_MESSAGE, MEMORIES, MESSAGES, SUPERSEDED, Hit, Memory
from memctl.core.provenance import SAID
from memctl.core.text.shortening import one_line
from memctl.core.text.terms import terms
from memctl.extraction.correcting import is_of_another

TASK, CONSTRAINTS, STRATEGIES, FAILURES, RELEVANT, TALK, DOCUMENTS, OTHERS, PROFILE = SECTIONS = (
    "Current task",
    "Constraints and preferences",
    "What worked before",
    "What failed before, and why",
    "Relevant memories",
    "From conversations",
    "From documents",
    "Memories of other users",
    "About the user",
)
"""In the order of injection: constraints and preferences, strategies, recent and relevant experience."""

_OF_KINDS = {"constraints": CONSTRAINTS, "strategies": STRATEGIES}
"""The headings that `kinds.Kind.section` names."""

LEAST_IMPORTANCE = 0.3
"""Of episodes."""

RECENCY_SHARE, RECENCY_BASE = 0.3, 0.95
"""Of experience that answers equally well the new comes before the old: a share of its weight fades by the day."""

MAIN = "main"
"""The session that is not named: most agents have one."""

_CLAUSES = re.compile(r"[.!?;,\n。！？；，]+")


# The question


def recent_turns(question: str, messages: Sequence[Mapping[str, Any]], most: int, longest: int) -> str:
    """What the user and the assistant said right before a question, the newest last; no tools' output."""
    texts = [text_of(m.get("content")) for m in messages if m.get("role") in ("user", "assistant")]
    said = [text for text in texts if text.strip()]
    if said and said[-1] == question:
        said.pop()
    return "\n".join(said[-most:])[-longest:]


def texts_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """What is in the window already, calls of tools too, in one text."""
    texts = [text_of(m.get("content")) for m in messages if m.get("content")]
    calls = [call.get("function") or {} for m in messages for call in m.get("tool_calls") or ()]
    return "\n".join(map(one_line, (*texts, *(f"{call.get('name')}: {call.get('arguments')}" for call in calls))))


def stands_in(hit: Hit, shown: str) -> bool:
    """Whether a message is in the window already."""
    return is_message(hit) and repeats(hit.memory.content, shown)


def repeats(text: str, shown: str) -> bool:
    return one_line(text) in shown


# Pieces


def is_message(hit: Hit) -> bool:
    return hit.memory.layer == LAYER_MESSAGE


def is_preference(memory: Memory) -> bool:
    return memory.category == "preference" or memory.kind == kinds.PREFERENCE


def faint(memory: Memory) -> bool:
    """Whether it is an episode that nobody needs to hear of."""
    return memory.kind == kinds.EPISODE and memory.importance <= LEAST_IMPORTANCE


def extracted_from(memory: Memory) -> tuple[str, ...]:
    """The ids of the first and the last message that an episode was taken from, where no model wrote it."""
    span = memory.metadata.get(SAID) if memory.kind == kinds.EPISODE else None
    own_words = memory.metadata.get("generated_by")
    return tuple(str(each) for each in span) if isinstance(span, list) and not own_words else ()


def section_of(memory: Memory) -> tuple[str, int]:
    """The heading a hit stands under, and when it is packed."""
    if memory.layer == LAYER_DOCUMENT:
        return DOCUMENTS, ANSWER
    if failed(memory):
        return FAILURES, GUIDE if memory.kind == kinds.STRATEGY else ANSWER
    section = _OF_KINDS.get(kinds.kind(memory.kind).section, RELEVANT)
    if section == RELEVANT or (section == STRATEGIES and memory.needs_revision):
        return RELEVANT, ANSWER
    return section, GUIDE


def weight(hit: Hit, section: str, now: datetime) -> float:
    """What decides which of a section goes first: of strategies their reward, of experience also how new it is."""
    memory = hit.memory
    if section in (STRATEGIES, FAILURES) and memory.kind == kinds.STRATEGY:
        return 1 + memory.reward
    if memory.kind == kinds.EPISODE and SIMILARITY not in hit.parts:  # else its age is in the score already
        age = max(0.0, times.days_between(memory.when, now)) if memory.when else 365.0
        return hit.score * float(1 - RECENCY_SHARE / 2 + RECENCY_SHARE * RECENCY_BASE**age)
    return hit.score


def reason(hit: Hit) -> str:
    judged = f", relevance {hit.relevance:.2f}" if hit.relevance else ""
    return f"answers the question (score {hit.score:.2f}{judged})"


def labelled(memory: Memory) -> str:
    return label(memory)


def said(memory: Memory, follows: str) -> Said:
    """Where a message is in what was said."""
    session = str(memory.metadata.get("session") or "")
    day = f"{memory.when:%Y-%m-%d}" if memory.when else ""
    group = ", ".join(part for part in (day, session if session != MAIN else "") if part)
    return Said(group, memory.when.timestamp() if memory.when else 0.0, memory.memory_id, follows)


def message_piece(hit: Hit, name: str, why: str, said: Said, about: Changes) -> Piece:
    text = hit.memory.content + about.note(hit.memory)
    return Piece(TALK, name, speaker(hit.memory), text, hit.score, why, ANSWER, part=MESSAGES, said=said)


def of_another(hit: Hit) -> Piece:
    """What another user knows about the question; it says whose it is."""
    named = replace(hit.memory, memory_id=f"{hit.owner}/{hit.memory.memory_id}")
    why = f"answers the question (relevance {hit.relevance:.2f}), of another user"
    shown = f"{label(named)}, of another user"
    return Piece(OTHERS, named.memory_id, shown, text_of_memory(hit.memory), hit.relevance, why, ANSWER, part=MEMORIES)


def without_repeats(pieces: Sequence[Piece]) -> list[Piece]:
    """One piece of each text."""
    once: dict[str, Piece] = {}
    for piece in pieces:
        once.setdefault(one_line(piece.text), piece)
    return list(once.values())


# What has changed


@dataclass(frozen=True)
class Changes:
    """Values that were superseded, each with what took its place, and values that wait for confirmation; by the id of
    what is shown, what the user said later that takes it back."""

    superseded: tuple[tuple[Memory, Memory], ...] = ()
    candidates: Mapping[str, tuple[Memory, ...]] = field(default_factory=dict)
    later: Mapping[str, Memory] = field(default_factory=dict)
    _words: dict[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict, compare=False)

    def note(self, memory: Memory) -> str:
        """What must stand beside a memory or message: the value that holds since, or that may hold; empty for none."""
        notes = [
            f" (since {_day(new)}: {one_line(new.content)})"
            for old, new in self.superseded
            if self._states(memory, old, new)
        ]
        notes += [
            f" (said on {_day(other)}, not confirmed: {one_line(other.content)})"
            for other in self.candidates.get(memory.memory_id, ())
        ]
        if not notes and (later := self.later.get(memory.memory_id)):
            said = "the user said later, on" if later.layer == LAYER_MESSAGE else "corrected since"
            notes = [f" ({said} {_day(later)}: {one_line(later.content)})"]
        return "".join(dict.fromkeys(notes))

    def _states(self, memory: Memory, old: Memory, new: Memory) -> bool:
        """Whether something says what was superseded: the record itself, what it was made from, or an older message
        with all words of the record, or with those that make the difference and with others of the old value."""
        if memory.memory_id in (old.memory_id, *old.sources):
            return True
        if memory.layer == LAYER_DOCUMENT or memory.memory_id in (new.memory_id, *new.sources):
            return False
        since = new.valid_from or new.when
        if memory.when and since and memory.when > since:
            return False
        telling, others = self._difference(old, new)
        if _of_somebody_else(memory.content, telling) and not is_of_another(old.content):
            return False
        words = frozenset(terms(memory.content))
        if memory.when and since and memory.when < since and _telling(old.content) <= words:
            return True  # "I no longer work at Siemens" has all words of "I work at Siemens": it is the newer one
        return bool(telling) and telling <= words and bool(others & words)

    def _difference(self, old: Memory, new: Memory) -> tuple[frozenset[str], frozenset[str]]:
        """The words that only the old value has, and what else the record says."""
        if old.memory_id not in self._words:
            was = _telling(str(old.value) if old.value is not None else old.content)
            is_ = _telling(f"{new.content} {new.value if new.value is not None else ''}")
            different = was - is_
            self._words[old.memory_id] = different, _telling(f"{old.content} {old.key}") - different
        return self._words[old.memory_id]


def _of_somebody_else(text: str, words: frozenset[str]) -> bool:
    """Whether the parts of a text that hold any of the words all speak of somebody else."""
    clauses = [clause for clause in _CLAUSES.split(text) if words & frozenset(terms(clause))]
    return bool(clauses) and all(map(is_of_another, clauses))


def _day(memory: Memory) -> str:
    since = memory.valid_from or memory.when
    return f"{since:%Y-%m-%d}" if since else "then"


def changes(shown: Sequence[Memory], changed: Sequence[Memory], get: Callable[[str], Memory | None]) -> Changes:
    """What has become of the values that the shown memories replaced, and of those that were found to have changed.

    Args:
        shown: memories that may be put in.
        changed: superseded values and candidates that the question is about.
        get: gives a memory by its id.
    """
    old = {memory.memory_id: memory for memory in changed if memory.status == SUPERSEDED}
    for memory in shown:
        for earlier in memory.supersedes:
            if earlier not in old and (known := get(earlier)) is not None:
                old[earlier] = known
    pairs = [(each, new) for each in old.values() if (new := _newest(each, get)) is not None]
    waiting: dict[str, tuple[Memory, ...]] = {}
    for candidate in changed:
        if candidate.status == CANDIDATE:
            for other in candidate.conflicts_with:
                waiting[other] = (*waiting.get(other, ()), candidate)
    return Changes(tuple(pairs), waiting)


def _newest(memory: Memory, get: Callable[[str], Memory | None]) -> Memory | None:
    """What took a value's place at last; None where nothing did."""
    seen, newest = {memory.memory_id}, memory
    while newest.superseded_by and newest.superseded_by not in seen:
        seen.add(newest.superseded_by)
        later = get(newest.superseded_by)
        if later is None:
            break
        newest = later
    return newest if newest is not memory else None
