"""How many entries hold a term, and what of a question in a large index follows from that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import log

import apsw

from memctl.storage.index import database as db
from memctl.storage.index import search

KEPT = 10_000
"""Counts kept at most: of so many different words in the questions between two changes."""

MANY = 2_000
"""So many entries are scored faster than a part of them is chosen."""

CHOOSING = 6
"""The rarest terms choose; with more, the ways to combine them multiply."""

SHARE = 0.5
"""How much of the weight of the choosing terms an entry must hold to be scored."""


class Frequencies:
    """Counts of terms and of all entries, looked up once and kept until the index changes.

    SQLite finds how many entries hold a word by going through all of them, and questions repeat their words.
    """

    def __init__(self) -> None:
        self._state: tuple[object, ...] = ()
        self._counts: dict[str, int] = {}
        self._total: int | None = None
        self._sizes: dict[str, int] = {}

    def of(self, connection: apsw.Connection, words: Iterable[str]) -> dict[str, int]:
        """In how many entries each term stands."""
        self._look(connection)
        return {word: self._count(connection, word) for word in dict.fromkeys(words)}

    def total(self, connection: apsw.Connection) -> int:
        """How many entries there are."""
        self._look(connection)
        if self._total is None:
            self._total = int(db.value(connection, "SELECT count(*) FROM entries"))
        return self._total

    def size(self, connection: apsw.Connection, part: str) -> int:
        """How many entries a part of an answer has (`models.PARTS`)."""
        self._look(connection)
        if part not in self._sizes:
            sql = f"SELECT count(*) FROM entries e WHERE {search.within(part)}"
            self._sizes[part] = int(db.value(connection, sql))
        return self._sizes[part]

    def _count(self, connection: apsw.Connection, word: str) -> int:
        if word not in self._counts:
            self._counts[word] = int(db.value(connection, "SELECT doc FROM terms WHERE term = ?", (word,)) or 0)
        return self._counts[word]

    def _look(self, connection: apsw.Connection) -> None:
        """Forget everything where others (`data_version`) or this connection have written, or may take back a write."""
        version = db.value(connection, "PRAGMA data_version")
        writing = connection.txn_state() == apsw.SQLITE_TXN_WRITE
        state = () if writing else (connection, version, connection.total_changes())
        if writing or state != self._state or len(self._counts) > KEPT:
            self._state, self._counts, self._total, self._sizes = state, {}, None, {}


def selection(counts: Mapping[str, int], total: int) -> str:
    """A full-text expression for the entries that are worth scoring; empty where all that hold any term are scored.

    In a large index most entries hold only one word of a question, the most frequent one. Worth scoring are those that
    hold half the weight (idf) of its rarest words: any of the smallest sets of them that come to so much.
    """
    if sum(counts.values()) <= MANY:
        return ""
    weights = {word: log((total + 1) / (count + 0.5)) for word, count in counts.items() if count and '"' not in word}
    rarest = sorted(weights, key=lambda word: (-weights[word], word))[:CHOOSING]
    enough = SHARE * sum(weights[word] for word in rarest)
    sets: list[tuple[str, ...]] = []
    for size in range(1, len(rarest) + 1):
        sets += [some for some in combinations(rarest, size) if _reaches(some, enough, weights, sets)]
    return " OR ".join("(" + " AND ".join(f'"{word}"' for word in some) + ")" for some in sets)


def _reaches(
    some: Sequence[str], enough: float, weights: Mapping[str, float], smaller: Sequence[tuple[str, ...]]
) -> bool:
    """Whether these come to enough, and no smaller set of them does."""
    return sum(weights[word] for word in some) >= enough and not any(set(some) >= set(one) for one in smaller)
