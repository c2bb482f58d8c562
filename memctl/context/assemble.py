"""Packing what is known into a part of the window, and saying of each thing why it is in or out. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memctl.context.fence import section
from memctl.context.tokens import Count

WHOLE, SUMMARY, EXCERPT, OUT = "whole", "summary", "excerpt", "left out"


@dataclass(frozen=True)
class Piece:
    """One thing that may go into a context.

    Args:
        section: the heading it stands under.
        name: a memory's id, or a document's place.
        label: what stands before its text.
        text: in full.
        weight: which of a section goes first.
        why: how it was found, for the explanation.
        priority: which is packed first, whatever its section; small goes first.
        shorter: gives shorter texts to try in its place, each with what it is (`summary`, `excerpt`); asked only where
            the text does not fit, because it may read a file.
    """

    section: str
    name: str
    label: str
    text: str
    weight: float
    why: str
    priority: int = 0
    shorter: Callable[[], Iterable[tuple[str, str]]] = tuple


@dataclass(frozen=True)
class Placed:
    """What became of a piece: `how` is whole, summary, excerpt or left out; `tokens` it takes; `why`."""

    section: str
    name: str
    how: str
    tokens: int
    why: str
    text: str = ""
    label: str = ""


def packed(pieces: Sequence[Piece], sections: Sequence[str], limit: int, count: Count) -> list[Placed]:
    """Fill `limit` tokens by priority, then by section and weight; what is placed stands in the order of the sections.

    A piece that does not fit is tried in its shorter forms; if none fits it is left out, and the next one is tried.
    """
    ordered = sorted(pieces, key=lambda p: (p.priority, sections.index(p.section), -p.weight, p.name))
    placed: list[Placed] = []
    left = limit
    opened: set[str] = set()
    for piece in ordered:
        heading = 0 if piece.section in opened else count(section(piece.section, ())) + 1
        found = _fitting(piece, left - heading, count)
        placed.append(found)
        if found.how != OUT:
            left -= found.tokens + heading
            opened.add(piece.section)
    return sorted(placed, key=lambda p: sections.index(p.section))


def _fitting(piece: Piece, room: int, count: Count) -> Placed:
    """The longest form of a piece that fits."""
    whole = count(_line(piece.label, piece.text)) + 1
    if whole <= room:
        return Placed(piece.section, piece.name, WHOLE, whole, piece.why, piece.text, piece.label)
    for how, text in piece.shorter() if room > 0 else ():
        cost = count(_line(piece.label, text)) + 1
        if cost <= room and cost < whole:
            why = f"{piece.why}; {how} instead of {whole} tokens"
            return Placed(piece.section, piece.name, how, cost, why, text, piece.label)
    return Placed(piece.section, piece.name, OUT, 0, f"{piece.why}; {whole} tokens do not fit into {max(0, room)}")


def _line(label: str, text: str) -> str:
    return section("", [(label, text)])


def rendered(placed: Sequence[Placed], sections: Sequence[str]) -> list[str]:
    """The Markdown of each section that has anything, in order."""
    found = []
    for name in sections:
        items = [(p.label, p.text) for p in placed if p.section == name and p.how != OUT]
        if items:
            found.append(section(name, items))
    return found
