"""Packing what is known into a part of the window, and saying of each thing why it is in or out. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memctl.context.fence import section
from memctl.context.tokens import Count

WHOLE, SUMMARY, EXCERPT, OUT = "whole", "summary", "excerpt", "left out"

FIRST_MESSAGES, LAST_MESSAGES = 2, 5
"""Messages that stay when the history does not fit, beside those of the system."""

PER_MESSAGE = 4
"""Tokens a message costs beside its text."""


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


# History


def cost(message: Mapping[str, Any], count: Count) -> int:
    """Tokens of one message, tool calls and results included."""
    texts = [value for name, value in message.items() if name not in ("role", "time", "id")]
    return PER_MESSAGE + sum(count(value if isinstance(value, str) else _as_text(value)) for value in texts if value)


def _as_text(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def trimmed(
    messages: Sequence[Mapping[str, Any]], limit: int, count: Count
) -> tuple[list[Mapping[str, Any]], list[int]]:
    """The messages that fit: those of the system, the first two and the last five, then the newest before them.

    A tool call and its results stay or go together. Where even those that should stay do not fit, the oldest of them
    go first, those of the system last.

    Returns:
        the kept messages in order, and the positions of the others.
    """
    costs = [cost(message, count) for message in messages]
    groups = _groups(messages)
    total = len(messages)
    protected = {i for i, m in enumerate(messages) if m.get("role") == "system"}
    middle = [i for i in range(total) if i not in protected]
    edges = {*middle[:FIRST_MESSAGES], *middle[-LAST_MESSAGES:]}
    kept: set[int] = set()
    left = limit

    def take(group: Sequence[int]) -> None:
        nonlocal left
        price = sum(costs[i] for i in group if i not in kept)
        if price <= left:
            kept.update(group)
            left -= price

    for wanted in (protected, edges, set(range(total))):
        for group in reversed(groups):
            if wanted & set(group) and not set(group) <= kept:
                take(group)
    return [messages[i] for i in sorted(kept)], [i for i in range(total) if i not in kept]


def _groups(messages: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Positions that stay or go together: a message with tool calls and the results that follow it."""
    groups: list[list[int]] = []
    for at, message in enumerate(messages):
        if groups and (message.get("role") == "tool" or message.get("tool_call_id")):
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups
