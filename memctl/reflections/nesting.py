"""Which texts are so near that a reader wants to see them together, by the vectors of the built-in model.

Nearness is not sameness: a number or a negation may differ. So nothing is left out on its account.
"""

from __future__ import annotations

from collections.abc import Sequence

from memctl.providers.builtin import BuiltinEmbedder

NEAR = 0.65
"""The least cosine of two near texts: over .9 of the pairs in `bench/judgement/cases/dev/same_*` reach it."""


def leading(texts: Sequence[str]) -> list[int]:
    """For each text the position of the nearest earlier text that leads, if there is a near one, or else its own."""
    if len(texts) < 2:
        return list(range(len(texts)))
    import numpy as np

    vectors = np.asarray(BuiltinEmbedder().embed(texts), dtype=np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)
    leaders: list[int] = []
    rows = np.empty_like(vectors)
    result = []
    for at, vector in enumerate(vectors):
        similarities = rows[: len(leaders)] @ vector
        best = int(similarities.argmax()) if leaders else 0
        if leaders and similarities[best] >= NEAR:
            result.append(leaders[best])
            continue
        rows[len(leaders)] = vector
        leaders.append(at)
        result.append(at)
    return result
