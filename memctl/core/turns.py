"""Turns: a lock for the threads that share a store, given up by a thread for as long as it waits for a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any, Self


class Turn:
    """A lock that one thread may take several times. Calls made with it run one after the other, models apart."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> Self:
        self._lock.acquire()
        _mine.turns.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _mine.turns.pop()
        self._lock.release()


class _Mine(local):
    """The turns that a thread holds, the outermost first, each as often as it was taken."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []


_mine = _Mine()


@contextmanager
def given_up() -> Iterator[None]:
    """Give up all turns of this thread while a model is asked; others may use the store meanwhile.

    Call it only where another process could change the store as well: outside of file locks and of transactions.
    """
    held, _mine.turns = _mine.turns, []
    for turn in reversed(held):
        turn._lock.release()
    try:
        yield
    finally:
        for turn in held:
            turn._lock.acquire()
        _mine.turns = held


def held() -> list[Any]:
    """The turns that this thread holds."""
    return list(_mine.turns)
