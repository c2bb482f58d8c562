"""A lock for the threads that share a store, which a thread releases while it waits for a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, local
from typing import Any, Self


class ThreadLock:
    """A re-entrant lock around the calls on a store."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> Self:
        self._lock.acquire()
        _thread.locks.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _thread.locks.pop()
        self._lock.release()


class _Thread(local):
    """The locks that this thread holds, outermost first; a lock acquired twice is listed twice."""

    def __init__(self) -> None:
        self.locks: list[ThreadLock] = []


_thread = _Thread()


@contextmanager
def locks_released() -> Iterator[None]:
    """Release all locks of this thread while a model is called, so that other threads can use the store.

    Call it only where another process could change the store too: outside of file locks and transactions.
    """
    held, _thread.locks = _thread.locks, []
    for lock in reversed(held):
        lock._lock.release()
    try:
        yield
    finally:
        for lock in held:
            lock._lock.acquire()
        _thread.locks = held


def held() -> list[Any]:
    """The locks that this thread holds."""
    return list(_thread.locks)
