"""Packed vectors in pgvector's form, so that cosines equal those of a folder's index to the last bit."""

from __future__ import annotations

from array import array
from math import sqrt
from operator import mul


def literal(packed: bytes) -> str:
    """A vector of whole numbers, which `halfvec` stores exactly."""
    return f"[{','.join(map(str, array('b', packed)))}]"


def norm(packed: bytes) -> float:
    """Its length."""
    values = array("b", packed)
    return sqrt(sum(map(mul, values, values)))


def sketch(packed: bytes) -> str:
    """A sketch, as bits."""
    return f"x{packed.hex()}"
