"""Whether anything that was found answers a question at all: one decision a question. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from memctl.core.models import Hit
from memctl.core.text.stopwords import is_stop


def strength(hits: Sequence[Hit], weights: Mapping[str, float], counts: Mapping[str, int]) -> float:
    """How well what is known answers a question, absolute and in [0, 1].

    The relevance of the best hit, less where the store does not know the question's words at all: a question about
    other things often shares a common word with something, but its rare words are unknown. Less, too, for a question in
    Chinese or Japanese, whose terms are characters and pairs of them: two texts share some by chance (docs/models.md).

    Args:
        weights: of the words of the question.
        counts: in how many entries each stands.
    """
    best = max((hit.relevance for hit in hits), default=0.0)
    telling = {word: weight for word, weight in weights.items() if not _spans_words(word)}
    whole = sum(telling.values())
    known = sum(weight for word, weight in telling.items() if counts.get(word)) / whole if whole else 1.0
    characters = sum(weight for word, weight in weights.items() if _is_characters(word)) / (
        sum(weights.values()) or 1.0
    )
    return best * sqrt(known) * (1 - BY_CHANCE * characters)


BY_CHANCE = 1 / 3
"""By so much a question whose terms are all characters and pairs of them counts less."""


def _is_characters(term: str) -> bool:
    return len(term) <= 2 and not term.isascii()


def _spans_words(term: str) -> bool:
    """Whether a pair of characters has a stop word in it: it is of two words, and new in most questions."""
    return len(term) == 2 and _is_characters(term) and any(is_stop(character) for character in term)


SMALL = 50
"""Entries below which a store is small: most words of any question are unknown to it, and it has little to put in."""


def least(threshold: float, total: int) -> float:
    """The strength that is enough in a store of so many entries."""
    return threshold * min(1.0, total / SMALL)
