"""Vectors as they are stored, one by one and many at once."""

import random

import pytest

from memctl.storage.entries.vectors import Packed, pack, packed_all


@pytest.mark.parametrize("size", [256, 384, 20])
def test_many_vectors_are_packed_as_each_alone(size: int) -> None:
    chance = random.Random(7)
    whole = [[chance.randint(-3_000, 3_000) for _ in range(size)] for _ in range(60)]
    small = [[chance.choice((-1, 0, 1)) for _ in range(size)] for _ in range(20)]
    vectors = [*whole, *small, [0] * size, [1] * size, [-(2**15)] + [0] * (size - 1)]

    assert packed_all(vectors) == [pack(vector) for vector in vectors]
    assert packed_all(vectors)[80] == Packed(b"", b"")


def test_vectors_of_fractions_and_few_vectors_are_packed_one_by_one() -> None:
    chance = random.Random(8)
    vectors = [[chance.gauss(0, 1) for _ in range(64)] for _ in range(40)]

    assert packed_all(vectors) == [pack(vector) for vector in vectors]
    assert packed_all([[3, -4, 0, 0, 1, 0, 0, 2]]) == [pack([3, -4, 0, 0, 1, 0, 0, 2])]
    assert packed_all([]) == []
