"""Ids as people type them: a beginning or an ending that no other id has stands for the whole id."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable
from itertools import pairwise

SHORTEST_ENDING = 4
"""Characters from which an ending is taken for an id: a shorter one may be a number that somebody meant otherwise."""

SHOWN = 6
"""Characters of an ending that are shown where fewer would do: it stays good while memories are added."""
DRAWN = 12
"""Characters at the end of an id made here that are drawn at random."""
_MADE_HERE = re.compile(r"mem_\d{8}_[0-9a-f]{12}")


def fitting(given: str, ids: Collection[str]) -> list[str]:
    """The ids that begin so; where none does, those that end so."""
    starting = [name for name in ids if given and name.startswith(given)]
    return starting or [name for name in ids if len(given) >= SHORTEST_ENDING and name.endswith(given)]


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """The ending of each id that no other has and no other begins with; ids from elsewhere stay whole."""
    ordered = sorted({name[::-1] for name in ids})
    names = sorted(name[::-1] for name in ordered)
    least = [1 + max(_shared(each, other) for other in around) for each, around in _with_neighbours(ordered)]
    endings = {each[::-1]: each[: max(length, SHOWN)][::-1] for each, length in zip(ordered, least, strict=True)}
    return {name: _typed(name, endings[name], names) for name in names}


def _with_neighbours(ordered: list[str]) -> Iterable[tuple[str, tuple[str, str]]]:
    triples = pairwise(pairwise(["", *ordered, ""]))
    return ((each, (before, after)) for (before, each), (_, after) in triples)


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _typed(name: str, ending: str, names: list[str]) -> str:
    at = bisect_left(names, ending)
    taken = at < len(names) and names[at].startswith(ending)
    return ending if _MADE_HERE.fullmatch(name) and not taken else name
