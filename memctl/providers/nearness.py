"""How near texts are to one another by the built-in model, whose cosines mean the same in every store.

Nearness is not sameness: a number or a negation may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memctl.providers import builtin

if TYPE_CHECKING:
    import numpy as np

NEAR = 0.65
"""The least cosine of two near texts: nine in ten pairs that say the same in `bench/judgement/cases` reach it."""


def units(texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A vector of length 1 for each text, (texts, 256); zeros for a text without a known word."""
    import numpy as np

    vectors = np.asarray(builtin.model().embed(texts), dtype=np.float32).reshape(len(texts), -1)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)
    return vectors
