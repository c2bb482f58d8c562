"""Whether any memory answers a question at all: one decision per question. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from memctl.core.models import Hit
from memctl.core.text.stopwords import is_stop


def strength(hits: Sequence[Hit], weights: Mapping[str, float], counts: Mapping[str, int]) -> float:
    """How well the memories answer a question, absolute and in [0, 1].

    The relevance of the best hit, reduced if the store does not have the question's words: a question about other
    things often shares a common word with something, but its rare words are unknown. It is also reduced for Chinese and
    Japanese, whose terms are characters and pairs of them, which two texts may share by chance (docs/models.md).

    Args:
        weights: the weights of the question's words.
        counts: in how many entries each word occurs.
    """
    best = max((hit.relevance for hit in hits), default=0.0)
    content = {word: weight for word, weight in weights.items() if not _spans_words(word)}
    total = sum(content.values())
    known = sum(weight for word, weight in content.items() if counts.get(word)) / total if total else 1.0
    characters = sum(weight for word, weight in weights.items() if _is_characters(word)) / (
        sum(weights.values()) or 1.0
    )
    return best * sqrt(known) * (1 - BY_CHANCE * characters)


BY_CHANCE = 1 / 3
"""The strength of a question whose terms are all characters and pairs of them is reduced by this share."""


def _is_characters(term: str) -> bool:
    return len(term) <= 2 and not term.isascii()


def _spans_words(term: str) -> bool:
    """Whether a pair of characters has a stop word in it: it spans two words, and is new in most questions."""
    return len(term) == 2 and _is_characters(term) and any(is_stop(character) for character in term)


SMALL = 50
"""Below this many entries a store is small: it lacks most words of any question, and has little to include."""


def least(threshold: float, total: int) -> float:
    """The strength that is required in a store of this many entries."""
    return threshold * min(1.0, total / SMALL)
