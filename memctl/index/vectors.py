"""Vectors as the index stores them: one int8 form for a fast first look at all, one for an exact look at the best.

Both have one byte a component and differ in scale. A *sketch* is scaled by the vector's root mean square, so that the
Manhattan distance of two sketches, which SQLite can take of every memory four times as fast as the cosine, follows the
distance of the vectors: the nearest 200 by sketch held all of the true nearest ten. The *vector* is scaled by its
largest component, which keeps more of it, for the cosine of those.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from math import sqrt
from operator import mul
from typing import NamedTuple

SKETCH_UNIT = 24
"""What a component as large as the root mean square becomes; one 5.3 times as large is the most that fits."""


class Packed(NamedTuple):
    """A vector as it is stored; both parts are empty where the model knew nothing of the text."""

    vector: bytes
    sketch: bytes


def pack(vector: Sequence[float]) -> Packed:
    """Both stored forms of a vector; empty for a zero vector, which has no direction."""
    largest = max(map(abs, vector), default=0)
    if not largest:
        return Packed(b"", b"")
    unit = sqrt(sum(map(mul, vector, vector)) / len(vector))
    return Packed(_int8(vector, 127 / largest), _int8(vector, SKETCH_UNIT / unit))


@lru_cache(maxsize=8)
def packed_question(vector: tuple[float, ...]) -> Packed:
    """As `pack`, for the vector of a question, which is compared with several sets of entries."""
    return pack(vector)


def _int8(vector: Sequence[float], scale: float) -> bytes:
    """The vector times the scale, as whole numbers from -127 to 127."""
    try:
        return array("b", map(round, map(mul, vector, repeat(scale)))).tobytes()
    except OverflowError:
        return array("b", [max(-127, min(127, round(x * scale))) for x in vector]).tobytes()
