"""Answers to questions, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memctl.present.plain import memory_line, one_line

if TYPE_CHECKING:
    from memctl.core.models import Hit, Reranking, Route

SHOWN_LINES, SHOWN_WIDTH = 6, 500
"""How much of a hit a terminal shows; `memctl show` prints all of it."""

MORE_LINES, MORE_WIDTH = 50, 2_000
"""The same for a pipe. What is cut says so."""

LEAST_SHOWN = 0.0005
"""A part of a score that would be printed as zero is left out."""


FAR = 0.2
"""Relevance below which a hit that shares no word with the question is no answer, only the nearest there is."""


def is_far(hits: Sequence[Hit]) -> bool:
    """Whether there are hits, and none of them is close to the question."""
    return bool(hits) and not any(hit.matched or hit.relevance >= FAR for hit in hits)


def hit(number: int, found: Hit, *, explain: bool, brief: bool) -> Iterator[str]:
    """The lines of a hit: its relevance, what it is, its text.

    Args:
        explain: with how it earned its place.
        brief: with as much of its text as a terminal shows.
    """
    yield f"{number:>2}. {found.relevance:.2f}  {_owner(found)}{memory_line(found.memory)}".rstrip()
    for line in _text(found.memory.content, brief):
        yield f"    {line}"
    if found.via and found.memory.layer not in ("DOC", "MSG"):
        yield f"    (by its reflection {found.via})"
    if explain:
        parts = "  ".join(f"{name} {value:+.3f}" for name, value in found.parts.items() if abs(value) >= LEAST_SHOWN)
        yield f"    score {found.score:.3f} = {parts}   words: {', '.join(found.matched) or '-'}"


def _text(content: str, brief: bool) -> list[str]:
    most, width = (SHOWN_LINES, SHOWN_WIDTH) if brief else (MORE_LINES, MORE_WIDTH)
    lines = [line for line in content.splitlines() if line.strip()]
    left = len(lines) - most
    more = [f"… {left} more lines; `memctl show` prints them"] if left > 0 else []
    return [*(one_line(line, width) for line in lines[:most]), *more]


def owned_id(found: Hit) -> str:
    """The id of a hit, behind the name of its user where that is another."""
    return f"{_owner(found)}{found.memory.memory_id}"


def _owner(found: Hit) -> str:
    """What stands before the id of another user's memory."""
    return f"{found.owner}/" if found.owner else ""


def route(taken: Route) -> str:
    """Where a question was sent, and why."""
    where = ", ".join(taken.categories) or "every category"
    cues = f" by {', '.join(repr(cue) for cue in taken.cues)}" if taken.cues else ""
    more = "; widened, because hits elsewhere are as good or the routed ones too few" if taken.widened else ""
    when = "; asks for the present" if taken.present else ""
    return f"route: {taken.intent} → {where}, layers {', '.join(taken.layers)}{cues}{more}{when}"


def reranked(done: Reranking) -> str:
    """What a reranker did and cost, for a person."""
    return f"reranked {done.candidates} candidates with {done.model} in {done.milliseconds:.0f} ms"
