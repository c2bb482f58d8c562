"""Dividing a window of tokens: how much for instructions, memory, history, and what is kept free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SYSTEM, MEMORY, HISTORY = "system", "memory", "history"

SHARES: Mapping[str, tuple[float, float, float, float]] = {
    "simple": (0.15, 0.15, 0.45, 0.25),
    "medium": (0.20, 0.30, 0.30, 0.20),
    "complex": (0.15, 0.40, 0.25, 0.20),
}
"""By task: system, memory, history, reserve (formulas, context)."""

KNOWLEDGE_SHIFT = 0.10
"""Where documents are needed, memory takes so much from history."""

LEAST_ROOM = 0.25
"""Share of the window that is left for system, memory and history, however much the schemas of tools take."""

LONG_SESSION, LONG_SESSION_SHIFT = 30, 0.05
"""In a session of more messages, history takes so much from the reserve."""

MOST_MEMORY = 0.40
"""Memory pays little above this share of the window, so it borrows no further."""


@dataclass(frozen=True)
class Allocation:
    """Tokens for each part; `reserve` is for tool schemas and the answer, and is never lent."""

    system: int
    memory: int
    history: int
    reserve: int

    @property
    def total(self) -> int:
        return self.system + self.memory + self.history + self.reserve


def allocate(total: int, task: str = "medium", *, knowledge: bool = False, messages: int = 0) -> Allocation:
    """The parts of a window of `total` tokens; they add up to it.

    Args:
        task: `simple`, `medium` or `complex`.
        knowledge: whether the question needs documents.
        messages: how many messages the session holds.
    """
    system, memory, history, reserve = SHARES[task]
    if knowledge:
        memory, history = memory + KNOWLEDGE_SHIFT, history - KNOWLEDGE_SHIFT
    if messages > LONG_SESSION:
        history, reserve = history + LONG_SESSION_SHIFT, reserve - LONG_SESSION_SHIFT
    first, second, third = (int(total * share) for share in (system, memory, history))
    return Allocation(first, second, third, total - first - second - third)


def with_tools(allocation: Allocation, tokens: int) -> Allocation:
    """The parts beside tools whose schemas take so many tokens: what is beyond the reserve, all parts give up alike."""
    room = allocation.total - allocation.reserve
    left = max(room - max(0, tokens - allocation.reserve), min(room, int(allocation.total * LEAST_ROOM)))
    if left == room:
        return allocation
    system, memory, history = (p * left // room for p in (allocation.system, allocation.memory, allocation.history))
    return Allocation(system, memory, history, allocation.total - system - memory - history)


def lent(allocation: Allocation, wanted: Mapping[str, int]) -> dict[str, int]:
    """What each part may use, when parts that want less than they have lend the rest to those that want more.

    Args:
        wanted: tokens that system, memory and history would fill.

    Returns:
        tokens for each; never more than is wanted, in all never more than the window without its reserve.
    """
    shares = {SYSTEM: allocation.system, MEMORY: allocation.memory, HISTORY: allocation.history}
    granted = {part: min(wanted[part], share) for part, share in shares.items()}
    spare = sum(shares.values()) - sum(granted.values())
    for part in (SYSTEM, HISTORY, MEMORY):
        limit = max(shares[part], int(allocation.total * MOST_MEMORY)) if part == MEMORY else wanted[part]
        more = max(0, min(spare, min(wanted[part], limit) - granted[part]))
        granted[part] += more
        spare -= more
    return granted
