"""What a question needs of a storage: what can match, and how well each of the signals says that it does.

A `key` names something that can match, for as long as it stays as it is. It says nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memctl.core.models import Filters, Memory

Vector = Sequence[float]

SORTED = ("created", "occurred", "importance", "confidence")
"""By what a storage sorts memories without reading them: some of `selection.SORTS`."""


@dataclass(frozen=True)
class Scored:
    """A match with the score of one signal: bm25 (unbounded, larger is better) or cosine (in [-1, 1])."""

    key: int
    score: float


@dataclass(frozen=True)
class Neighbours:
    """The keys right before and after a match in its session; `asks`: whether the match is a short question."""

    key: int
    asks: bool
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Said:
    """Where a match comes from.

    Args:
        session: it was said in, empty where it was not said.
        speaker: who said it.
        when: in seconds since 1970; None where nobody knows.
        stands: whether it is a lasting wish or instruction.
        part: of the answer it belongs to, one of `models.PARTS`.
        text_name: of the document or reflection it is in.
        category: of the memory it is or belongs to, as far as that is known; empty for messages and documents.
    """

    session: str
    speaker: str
    when: float | None
    stands: bool
    part: str = ""
    text_name: str = ""
    category: str = ""


class Match(Protocol):
    """Something that can match: a memory, a reflection, a message, or a passage of a message or a document."""

    @property
    def key(self) -> int: ...

    @property
    def part(self) -> str:
        """The part of an answer it belongs to: one of `models.PARTS`."""

    @property
    def is_record(self) -> bool:
        """Whether it is a memory itself, with a record of its own."""

    @property
    def memory_id(self) -> str:
        """The memory it is or, for a reflection, belongs to; empty where there is none."""

    @property
    def text_name(self) -> str:
        """The name of the reflection or document it is, or is in; empty for memories and messages."""

    @property
    def passage(self) -> str:
        """What names the passage, where it is one; empty for a whole."""

    @property
    def text(self) -> str:
        """What is stored of it, as text."""

    @property
    def memory(self) -> Memory:
        """It, seen as a memory."""


class Search(Protocol):
    """The searchable content of one user's memories. Every method sees one moment; so does all that is done within
    `snapshot`."""

    def snapshot(self) -> AbstractContextManager[None]:
        """What is read inside is of one moment, whatever other processes write."""

    def matches(self, keys: Sequence[int]) -> Sequence[Match]:
        """The matches with these keys, in this order, as far as they are still there."""

    def matching(self, filters: Filters, now: datetime) -> Sequence[Match]:
        """All that passes the filters, in the order in which it came."""

    def in_order(self, filters: Filters, now: datetime, sort: str, *, ascending: bool) -> Sequence[int]:
        """The keys of the memories that pass the filters, sorted by one of `SORTED`, the largest first unless
        `ascending`; ties by id."""

    def record_of(self, reflection: Match) -> Match | None:
        """The memory a reflection belongs to."""

    def message(self, message_id: str) -> Sequence[Match]:
        """A message, or its passages in order; none where it is not known."""

    def document(self, name: str) -> Sequence[Match]:
        """The passages of a document, in its order."""

    # Sizes

    def total(self) -> int:
        """How much can match."""

    def size(self, part: str) -> int:
        """How much of a part of an answer can match."""

    def has(self, part: str) -> bool:
        """Whether there is anything of a part of an answer."""

    def documents(self) -> Mapping[str, int]:
        """How many passages each document has, by name."""

    def usual_message(self, most: int) -> int:
        """The mean size in bytes of messages, each counted with at most `most`; 0 where there are none."""

    # Words

    def term_counts(self, words: Iterable[str]) -> Mapping[str, int]:
        """In how many of all that can match each term stands."""

    def passages_with(self, words: Iterable[str]) -> Mapping[str, int]:
        """In how many passages of documents each term stands."""

    def full_text(self, words: Sequence[str], filters: Filters, now: datetime, limit: int) -> Sequence[Scored]:
        """Matches with any of the terms, best bm25 first."""

    def sharing_rarest(
        self, words: Sequence[str], filters: Filters, now: datetime, *, rarest: int, limit: int
    ) -> Sequence[Match]:
        """Matches with some of the rarest of the terms that stand anywhere, best first."""

    # Vectors

    def nearest(self, vector: Vector, filters: Filters, now: datetime, limit: int) -> Sequence[Scored]:
        """Matches by cosine to the vector, nearest first."""

    def expect_nearest(self, vector: Vector, pools: Iterable[Filters], now: datetime, limit: int) -> None:
        """A hint: `nearest` will be called with these arguments, for each of the pools."""

    def cosines(self, vector: Vector, keys: Iterable[int]) -> Mapping[int, float]:
        """Cosine of the vector to each of the matches that have one."""

    # What stands beside a match

    def passing(self, keys: Iterable[int], filters: Filters, now: datetime) -> set[int]:
        """The keys of the matches that pass the filters."""

    def neighbours(self, keys: Sequence[int]) -> Sequence[Neighbours]:
        """What stands right before and after each of the matches that have a session."""

    def following(self, messages: Iterable[str], count: int) -> Mapping[str, Sequence[int]]:
        """The keys of what stands right behind each of these messages in its run, at most `count`, in order."""

    def said(self, keys: Iterable[int]) -> Mapping[int, Said]:
        """By whom, where and when each of the matches was said."""
