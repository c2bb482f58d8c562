"""Packing what is known into a part of the window, and saying of each thing why it is in or out. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from memctl.context.fence import heading_of, section, talk, utterance
from memctl.context.tokens import Count
from memctl.core.models import DOCUMENTS, MEMORIES, MESSAGES

WHOLE, SUMMARY, EXCERPT, OUT = "whole", "summary", "excerpt", "left out"


@dataclass(frozen=True)
class Piece:
    """One thing that may go into a context.

    Args:
        section: the heading it stands under.
        name: a memory's or message's id, or a document's place.
        label: what stands before its text; of a message, who said it.
        text: in full.
        weight: which of a section goes first.
        why: how it was found, for the explanation.
        priority: which is packed first, whatever its section; small goes first.
        shorter: gives shorter texts to try in its place, each with what it is (`summary`, `excerpt`); asked only where
            the text does not fit, because it may read a file.
        part: the part of an answer (`models.PARTS`) whose share it takes; empty for what has none.
        said: where in which talk a message was said; None for what is no message.
    """

    section: str
    name: str
    label: str
    text: str
    weight: float
    why: str
    priority: int = 0
    shorter: Callable[[], Iterable[tuple[str, str]]] = tuple
    part: str = ""
    said: Said | None = None


@dataclass(frozen=True)
class Said:
    """Where a message stands.

    Args:
        group: what it is listed under: a day, and the session where that says anything.
        when: in seconds, for the order.
        message: its id, which passages of one message share.
        follows: name of the piece that stands right before it in its run, empty for none.
    """

    group: str
    when: float
    message: str
    follows: str = ""


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
    said: Said | None = None


FIRST_ROUND: Mapping[str, float] = {MEMORIES: 0.3, MESSAGES: 0.3, DOCUMENTS: 0.2}
"""The share of the room that each part may fill before the others have had their turn …"""

GOOD_SHARE = 0.5
"""… with what has at least so much of the best weight. What it does not fill is everybody's."""

PROFILE_SHARE = 0.1
"""The share of the room that what is known in general may fill before what answers the question."""

SHORT = 100
"""Tokens beyond which what answers the question must be better to go first: by the square root of its length."""

MUST, GUIDE, ANSWER, BACKGROUND = range(4)
"""What is packed first: the task, what is pinned and constraints; what guides the answer (preferences and strategies
that fit the question); what answers it; who the user is."""


def packed(pieces: Sequence[Piece], sections: Sequence[str], limit: int, count: Count) -> list[Placed]:
    """Fill `limit` tokens; what is placed is in the order of the sections.

    What guides comes first, by section and weight. Then each part of an answer has its share, and what is left goes to
    the best of all of them. A piece that does not fit is tried in its shorter forms; if none fits it is left out, and
    the next one is tried.
    """
    room = _Room(limit, count)
    guides = [p for p in pieces if p.priority in (MUST, GUIDE)]
    for piece in sorted(guides, key=lambda p: (p.priority, sections.index(p.section), -p.weight, p.name)):
        room.place(piece)
    free = room.left
    background = sorted((p for p in pieces if p.priority == BACKGROUND), key=lambda p: (-p.weight, p.name))
    answers = sorted((p for p in pieces if p.priority == ANSWER), key=lambda p: (-_value(p, count), p.name))
    room.fill(background, int(PROFILE_SHARE * free) if answers else free)
    best = max((piece.weight for piece in answers), default=0.0)
    for part, share in FIRST_ROUND.items():
        room.fill([p for p in answers if p.part == part and p.weight >= GOOD_SHARE * best], int(share * free))
    for piece in (*answers, *background):
        room.place(piece)
    by_name = {placed.name: placed for placed in room.placed}
    return sorted(by_name.values(), key=lambda p: sections.index(p.section))


def _value(piece: Piece, count: Count) -> float:
    """The weight, less what it costs beyond a short text: twenty messages may say more than one long reply."""
    length = len(piece.text) // 4 if len(piece.text) < SHORT else count(piece.text)
    return piece.weight / sqrt(max(1.0, length / SHORT))


class _Room:
    """The room there is, while it is filled."""

    def __init__(self, limit: int, count: Count) -> None:
        self.left, self.count = limit, count
        self.placed: list[Placed] = []
        self._in: set[str] = set()
        self._opened: set[str] = set()
        self._wholes: dict[str, int] = {}
        self._costs: dict[str, int] = {}

    def fill(self, pieces: Sequence[Piece], limit: int) -> None:
        """Place whole pieces that fit, until `limit` tokens are used."""
        end = self.left - limit
        for piece in pieces:
            if piece.name not in self._in and self._opening(piece) + self._whole(piece) <= self.left - max(0, end):
                self.place(piece)

    def place(self, piece: Piece) -> None:
        if piece.name in self._in:
            return
        opening = self._opening(piece)
        fitting = _fitting(piece, self._whole(piece), self.left - opening, self.count)
        self.placed.append(fitting)
        if fitting.how != OUT:
            self.left -= fitting.tokens + opening
            self._in.add(piece.name)
            self._opened.update(_headings(piece))

    def _whole(self, piece: Piece) -> int:
        """Tokens of a piece in full."""
        if piece.name not in self._wholes:
            self._wholes[piece.name] = self.count(_line(piece, piece.text)) + 1
        return self._wholes[piece.name]

    def _opening(self, piece: Piece) -> int:
        """Tokens of the headings that a piece needs and that are not there yet."""
        return sum(self._cost(heading) for heading in _headings(piece) if heading not in self._opened)

    def _cost(self, heading: str) -> int:
        if heading not in self._costs:
            self._costs[heading] = self.count(heading) + 1
        return self._costs[heading]


def _headings(piece: Piece) -> list[str]:
    top = heading_of(piece.section)
    return [top, f"### {piece.said.group}"] if piece.said and piece.said.group else [top]


def _fitting(piece: Piece, whole: int, room: int, count: Count) -> Placed:
    """The longest form of a piece that fits; in full it takes `whole` tokens."""
    if whole <= room:
        return Placed(piece.section, piece.name, WHOLE, whole, piece.why, piece.text, piece.label, piece.said)
    for how, text in piece.shorter() if room > 0 else ():
        cost = count(_line(piece, text)) + 1
        if cost <= room and cost < whole:
            why = f"{piece.why}; {how} instead of {whole} tokens"
            return Placed(piece.section, piece.name, how, cost, why, text, piece.label, piece.said)
    return Placed(piece.section, piece.name, OUT, 0, f"{piece.why}; {whole} tokens do not fit into {max(0, room)}")


def _line(piece: Piece, text: str) -> str:
    return utterance(piece.label, text) if piece.said else section("", [(piece.label, text)])


def rendered(placed: Sequence[Placed], sections: Sequence[str]) -> list[str]:
    """The Markdown of each section that has anything, in order."""
    lines = []
    for name in sections:
        held = [p for p in placed if p.section == name and p.how != OUT]
        if held:
            items = [(p.label, p.text) for p in held if not p.said]
            lines.append(section(name, items) if items else talk(name, _by_group([p for p in held if p.said])))
    return lines


def _by_group(placed: Sequence[Placed]) -> list[tuple[str, list[list[tuple[str, str]]]]]:
    """Excerpts by day, in the order in which they were said."""
    groups: dict[str, list[list[tuple[str, str]]]] = {}
    for run in sorted(_runs(placed), key=lambda run: (run[0].said.when, run[0].name) if run[0].said else (0.0, "")):
        groups.setdefault(run[0].said.group if run[0].said else "", []).append(_utterances(run))
    return [*groups.items()]


def _runs(placed: Sequence[Placed]) -> list[list[Placed]]:
    """What was said right after each other, together."""
    day_of = {p.name: p.said.group for p in placed if p.said}
    next_of = {p.said.follows: p for p in placed if p.said and day_of.get(p.said.follows) == p.said.group}
    later = {p.name for p in next_of.values()}
    runs = []
    for first in placed:
        if first.name not in later:
            run = [first]
            while following := next_of.get(run[-1].name):
                run.append(following)
            runs.append(run)
    return runs


def _utterances(run: Sequence[Placed]) -> list[tuple[str, str]]:
    """Who said what; the passages of one message are one."""
    utterances: list[tuple[str, str, str]] = []
    for placed in run:
        message = placed.said.message if placed.said else placed.name
        if utterances and utterances[-1][0] == message:
            utterances[-1] = (message, utterances[-1][1], utterances[-1][2] + placed.text)
        else:
            utterances.append((message, placed.label, placed.text))
    return [(who, text) for _, who, text in utterances]
