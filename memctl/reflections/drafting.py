"""A language model's draft of a reflection, and not believing what it does not show.

Every point must name the memories it comes from, share their words and bring no number of its own. A poor draft is
asked for again, at most twice; then the caller's extractive one stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memctl.consolidation.summaries import POINT, TEXT, point_fault
from memctl.context.fence import fenced
from memctl.core.models import Memory
from memctl.core.text.language import language_of
from memctl.core.text.shortening import one_line
from memctl.providers.answers import conversation
from memctl.reflections.extractive import Draft, Point, assembled

MOST_MEMORIES = 60
"""Memories that are shown to a model at once; of more, the rules' draft is taken."""

MOST_SECTIONS, MOST_POINTS = 8, 40
_LONGEST_TITLE = 120

_SECTION = {
    "type": "object",
    "properties": {"heading": TEXT, "points": {"type": "array", "items": POINT}},
    "required": ["heading", "points"],
}
REFLECTION: Mapping[str, Any] = {
    "type": "object",
    "properties": {"title": TEXT, "summary": TEXT, "sections": {"type": "array", "items": _SECTION}},
    "required": ["title", "summary", "sections"],
}

_TASK = (
    "Write a reflection on these memories for the person who keeps them: `title`; `summary` (one sentence, the most "
    "important thing); `sections` by subject, the weightiest first, each with `heading` and `points`. A point is one "
    "sentence and names in `sources` the ids of the memories it comes from; say what changed over time, what repeats, "
    "what was learned. Write in the language of the memories. Use only what is in them: no number, name or claim "
    "of your own."
)


def asked(memories: Sequence[Memory]) -> list[dict[str, str]]:
    """What a model is asked."""
    return conversation(_TASK, fenced(memories))


def checked(answer: Mapping[str, Any], memories: Sequence[Memory], title: str) -> Draft:
    """A model's reflection.

    Raises:
        ValueError: it is poor.
    """
    if complaint := fault(answer, memories):
        raise ValueError(complaint)
    return _draft(answer, memories, title)


def fault(answer: Mapping[str, Any], memories: Sequence[Memory]) -> str:
    """What is wrong with a model's reflection; empty where it will do."""
    known = {memory.memory_id: memory.content for memory in memories}
    points = [point for section in answer["sections"] for point in section["points"]]
    if not answer["title"].strip() or len(answer["title"]) > _LONGEST_TITLE:
        return f"`title` is empty or longer than {_LONGEST_TITLE} characters"
    if not points or len(points) > MOST_POINTS or len(answer["sections"]) > MOST_SECTIONS:
        return f"there must be 1 to {MOST_SECTIONS} sections with 1 to {MOST_POINTS} points in all"
    summary = {"text": answer["summary"], "sources": list(known)}
    return next((reason for point in (summary, *points) if (reason := point_fault(point, known))), "")


def _draft(answer: Mapping[str, Any], memories: Sequence[Memory], title: str) -> Draft:
    sections = [
        (_flat(section["heading"]), [Point(_flat(p["text"]), tuple(p["sources"]), 1.0) for p in section["points"]])
        for section in answer["sections"]
        if section["points"]
    ]
    title = title or _flat(answer["title"])
    return Draft(
        title,
        assembled(title, memories, sections, language_of(*(memory.content for memory in memories))),
        _flat(answer["summary"]),
    )


def _flat(text: str) -> str:
    """One line, that cannot begin a heading or a list of its own."""
    return one_line(text).lstrip("#-*> ")
