"""How candidates are chosen: the same rules in every storage, so that all give the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import log

EXACT_SCAN_LIMIT = 400
"""Up to this many vectors are all compared exactly; beyond, sketches choose the candidates."""

SKETCH_CANDIDATES, SKETCHES_A_HIT = 400, 2
"""The least number of candidates, and the factor on the number of wanted hits."""

FEW_TIMES, OVERFETCH = 2, 1_000
"""How many of the best are checked, in turn, before a filter is applied to all: this many times the wanted number, then
this many."""

SMALL_PART = 0.2
"""A part of an answer with less than this share of all entries is searched by listing its rows; for a larger one, the
best of all entries are taken, and those of other parts removed."""

MOST_WORDS = 256
"""The most words of a text that are counted to find its rarest."""

MANY = 2_000
"""Up to this many entries, scoring all is faster than choosing some."""

CHOOSING = 6
"""The number of rarest terms that choose; with more, their combinations multiply."""

SHARE = 0.5
"""The share of the weight of the choosing terms that an entry must have to be scored."""


def sketches_for(limit: int) -> int:
    """How many of the nearest sketches are compared exactly to find this many entries."""
    return max(SKETCH_CANDIDATES, SKETCHES_A_HIT * limit)


def choosing(counts: Mapping[str, int], total: int) -> tuple[dict[str, float], float]:
    """The words that choose which entries are scored, rarest first, with their weights (idf), and the weight that an
    entry must reach. Without words, all entries with any word are scored.

    In a large index most entries have only one word of a question, the most frequent one.

    Args:
        counts: the number of entries with each word.
    """
    if sum(counts.values()) <= MANY:
        return {}, 0.0
    weights = {word: log((total + 1) / (count + 0.5)) for word, count in counts.items() if count}
    rarest = sorted(weights, key=lambda word: (-weights[word], word))[:CHOOSING]
    return {word: weights[word] for word in rarest}, SHARE * sum(weights[word] for word in rarest)


LEAST_WORDS = 2


def rarest_words(counts: Mapping[str, int], most: int, quick: bool = False) -> list[str]:
    """The rarest words that any entry has.

    Args:
        quick: as many as few entries have, and at least two: scoring many entries takes long.
    """
    rarest = sorted((word for word, count in counts.items() if count), key=lambda word: (counts[word], word))[:most]
    if not quick:
        return rarest
    entries = accumulate(counts[word] for word in rarest)
    return [word for at, (word, n) in enumerate(zip(rarest, entries, strict=True)) if n <= MANY or at < LEAST_WORDS]
