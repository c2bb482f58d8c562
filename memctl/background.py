"""Work that nobody waits for: one thread, with a store of its own, that does one piece after the other."""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any, Generic, Protocol, Self, TypeVar

from memctl.errors import MemctlError


class Reopenable(Protocol):
    """What can be opened once more, for a thread of its own."""

    def another(self) -> Self: ...

    def close(self) -> None: ...


E = TypeVar("E", bound=Reopenable)

CLOSING = 10.0
"""Seconds for which the end of a program waits for work that is not done."""


class Worker(Generic[E]):
    """A thread with a store of its own, opened for the first piece of work and closed after the last.

    The thread does not keep a program alive: what must not be lost is on disk before it is given to a worker.

    Args:
        store: the store whose memories are worked on; only the thread's own is used there.
        failed: is called in the thread with what went wrong, as a sentence.
    """

    def __init__(self, store: E, failed: Callable[[str], object]) -> None:
        self._store, self._failed = store, failed
        self._waiting: deque[tuple[str, Callable[[E], Any]]] = deque()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._working = self._closed = False

    def submit(self, act: Callable[[E], Any], name: str = "") -> None:
        """Do something later.

        Args:
            name: where one of this name waits already, this one is left out: that one will see everything.
        """
        with self._changed:
            if self._closed or (name and any(name == other for other, _ in self._waiting)):
                return
            self._waiting.append((name, act))
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True, name="memctl-background")
                self._thread.start()
                atexit.register(self.close)
            self._changed.notify_all()

    def wait(self, seconds: float | None = None) -> int:
        """Wait until all is done, at most so long. Returns how many pieces of work are not."""
        with self._changed:
            self._changed.wait_for(lambda: not self._left(), seconds)
            return self._left()

    def close(self, seconds: float | None = None) -> int:
        """As `wait`, at most `CLOSING` seconds where none are given; then the thread ends with the piece it is at.

        Returns:
            how many pieces were given up.
        """
        left = self.wait(CLOSING if seconds is None else seconds)
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        atexit.unregister(self.close)
        if self._thread and not left:
            self._thread.join()
        return left

    def _left(self) -> int:
        return len(self._waiting) + self._working

    def _run(self) -> None:
        store = None
        while act := self._next():
            try:
                store = store or self._store.another()
                act(store)
            except MemctlError as problem:
                self._failed(problem.message)
            except Exception as problem:  # the thread must go on with the rest
                self._failed(f"{type(problem).__name__}: {problem}")
        if store is not None:
            store.close()

    def _next(self) -> Callable[[E], Any] | None:
        """The next piece of work, waited for; None at the end."""
        with self._changed:
            self._working = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._waiting:
                return None
            self._working = True
            return self._waiting.popleft()[1]
