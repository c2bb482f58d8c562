"""What tells two sentences apart that exclude each other."""

from __future__ import annotations

from dataclasses import dataclass

from memctl.judgement.wording import Word

POLARITY, VALUE = "polarity", "value"

Pair = tuple[tuple[Word, ...], tuple[Word, ...]]
"""Words of the first sentence, and those of the second that they exclude."""


@dataclass(frozen=True)
class Clash:
    """In what two sentences exclude each other.

    Args:
        kind: `polarity` or `value`.
        one: the words of the first that the `other` ones exclude; of a polarity, those that deny.
        shared: the words that both have.
        cost: how much else differs.
    """

    kind: str
    one: tuple[Word, ...]
    other: tuple[Word, ...]
    shared: tuple[Word, ...]
    cost: int = 0
