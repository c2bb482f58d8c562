"""Vectors as the index stores them: bytes for an exact second look, bits for a fast first one."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple


class Packed(NamedTuple):
    """A vector as it is stored; both parts are empty where the model knew nothing of the text."""

    vector: bytes
    signs: bytes


def pack(vector: Sequence[float]) -> Packed:
    return Packed(b"", b"") if is_zero(vector) else Packed(to_bytes(vector), to_bits(vector))


def to_bytes(vector: Sequence[float]) -> bytes:
    """The vector as int8, scaled so that its largest component is 127 (cosine does not see the scale)."""
    largest = max(map(abs, vector), default=0)
    if not largest:
        return bytes(len(vector))
    scale = 127 / largest
    return array("b", [round(x * scale) for x in vector]).tobytes()


def to_bits(vector: Sequence[float]) -> bytes:
    """One sign bit a component, in whole bytes."""
    digits = "".join("1" if x > 0 else "0" for x in vector)
    width = -(-len(digits) // 8)
    return int(digits.ljust(width * 8, "0") or "0", 2).to_bytes(width, "big")


def is_zero(vector: Sequence[float]) -> bool:
    """Whether the model knew nothing of the text; such a vector has no direction."""
    return not any(vector)
