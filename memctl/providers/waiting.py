"""Time limits for model servers, and a pause after a failure so that callers do not wait for it again and again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from typing import TypeVar

from memctl.core.thread_locks import locks_released
from memctl.errors import ProviderError

T = TypeVar("T")

PAUSE = 30.0
"""Seconds during which calls to a failed server fail at once."""

_patience: ContextVar[float | None] = ContextVar("patience", default=None)


class PassingError(ProviderError):
    """A temporary failure; `pause` is the number of seconds that the server asks to wait, if any."""

    pause: float | None = None


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Limit the wait for each server called inside, and defer work that can be done later.

    Args:
        seconds: None for the server's own time limit; infinite also retries a server that failed recently.
    """
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def is_time_limited() -> bool:
    """Whether to defer work that can be done later."""
    seconds = _patience.get()
    return seconds is not None and seconds < math.inf


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Run work in a daemon thread, which does not keep the program from ending.

    Raises:
        ProviderError: the program is ending.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    try:
        Thread(target=run, daemon=True, name="memctl-model").start()
    except RuntimeError as problem:  # from Python 3.12 on, there are no new threads while a program ends
        raise ProviderError("the program is ending: no more models are called") from problem
    return future


class Service:
    """One server. After a failure, calls fail at once for `PAUSE` seconds, with the same reason.

    After that, a call under a time limit still fails at once, but its request runs in a thread; if that succeeds, later
    calls use the server again.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._problem: ProviderError | None = None
        self._until = 0.0
        self._trying = False

    def ask(self, request: Callable[[], T]) -> T:
        """The result of the request; releases the thread's locks meanwhile.

        Raises:
            ProviderError: as the request does; or the server failed recently.
        """
        patience = _patience.get()
        if self._problem is not None and patience != math.inf:
            if self._trying or time.monotonic() < self._until:
                raise self._not_waited_for(self._problem)
            if patience is not None:
                self._begin(request)
                raise self._not_waited_for(self._problem)
        with locks_released():
            return self._run(request) if patience is None or patience == math.inf else self._in_time(request, patience)

    def _in_time(self, request: Callable[[], T], seconds: float) -> T:
        try:
            return self._begin(request).result(seconds)
        except TimeoutError:
            message = f"{self._url} did not answer within {seconds:g} s"
            slow = ProviderError(message, hint="Check that the server runs and is idle.")
            self._problem = self._problem or slow
            raise slow from None

    def _begin(self, request: Callable[[], T]) -> Future[T]:
        """Run the request in a thread; until it ends, other calls fail at once."""

        def tried() -> T:
            try:
                return self._run(request)
            finally:
                self._trying = False

        self._trying = True
        return in_thread(tried)

    def _run(self, request: Callable[[], T]) -> T:
        """Run the request and record whether the server answers."""
        try:
            result = request()
        except PassingError as problem:
            self._problem, self._until = problem, time.monotonic() + PAUSE
            raise
        self._problem = None
        return result

    def _not_waited_for(self, problem: ProviderError) -> ProviderError:
        message = f"{problem.message.rstrip('.')} (the server failed recently; it is not waited for)"
        return ProviderError(message, hint=problem.hint)
