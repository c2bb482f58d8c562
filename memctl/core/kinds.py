"""The kinds of memory: a row for each, with all that a kind decides by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FACT, PREFERENCE, EPISODE, KNOWLEDGE, STRATEGY = "fact", "preference", "episode", "knowledge", "strategy"

MESSAGE = "message"
"""The kind of a message where it is shown beside memories; no record has it."""

BY_AGE, BY_DISUSE = "age", "disuse"


@dataclass(frozen=True)
class Kind:
    """What a kind decides.

    Args:
        importance: of a new memory (formulas: preference 0.8, method 0.6, anything else 0.5).
        category: records of this category that name no kind are of this one.
        fades: by what a memory is archived in time: `BY_AGE`, `BY_DISUSE`, or nothing.
        profile: whether it says what somebody is or wants: then it is in the profile, and can be denied.
        contradicts: whether two of the kind can contradict each other; events happen many times, advice is no fact.
        lasting: whether it is a wish that holds until it is taken back.
        outcome: whether it is about something that was tried, and may have failed.
        section: the heading of a context under which it stands; empty: under that of what answers the question.
    """

    name: str
    importance: float = 0.5
    category: str = ""
    fades: str = ""
    profile: bool = False
    contradicts: bool = False
    lasting: bool = False
    outcome: bool = False
    section: str = ""


_ROWS = (
    Kind(FACT, profile=True, contradicts=True),
    Kind(PREFERENCE, 0.8, "preference", profile=True, contradicts=True, lasting=True, section="constraints"),
    Kind(EPISODE, fades=BY_AGE, outcome=True),
    Kind(KNOWLEDGE),
    Kind(STRATEGY, 0.6, "strategy", fades=BY_DISUSE, outcome=True, section="strategies"),
)
TABLE: Mapping[str, Kind] = {row.name: row for row in _ROWS}
KINDS = tuple(TABLE)
OUT_OF_PROFILE = tuple(row.name for row in _ROWS if not row.profile)

DEFAULT = FACT
"""The kind of a record that names none, and how one of a kind is treated that memctl does not know."""


def kind(name: str) -> Kind:
    """The row of a kind; of one that memctl does not know, the default's."""
    return TABLE.get(name, TABLE[DEFAULT])


def of_category(category: str) -> str:
    """The kind of a record of this category that names none."""
    return next((row.name for row in _ROWS if row.category == category and category), DEFAULT)
