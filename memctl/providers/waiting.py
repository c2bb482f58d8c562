"""How long the server of a model is waited for; one that does not answer is not waited for again and again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from typing import TypeVar

from memctl.core.turns import given_up
from memctl.errors import ProviderError

T = TypeVar("T")

PAUSE = 30.0
"""Seconds for which a server that did not answer is not waited for."""

_patience: ContextVar[float | None] = ContextVar("patience", default=None)


class PassingError(ProviderError):
    """A failure that may be over in a moment; `pause` is how many seconds the server asks to wait, if it does."""

    pause: float | None = None


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Wait no longer than this for each server that is asked inside, and do nothing there that can be done later.

    Args:
        seconds: None: as long as its own time limit says. Infinite: that, and also for one that did not answer lately.
    """
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def in_a_hurry() -> bool:
    """Whether what can be done later is left for later."""
    seconds = _patience.get()
    return seconds is not None and seconds < math.inf


def in_thread(work: Callable[[], T]) -> Future[T]:
    """What work gives, done in a thread that nobody needs to wait for, the end of the program neither.

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
        raise ProviderError("the program is ending: no model is asked any more") from problem
    return future


class Service:
    """One server. When it has not answered, calls fail at once for `PAUSE` seconds, with the reason.

    After that, a call that is in a hurry still fails at once; its request goes on in a thread of its own, and when it
    is answered, the server is back.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._problem: ProviderError | None = None
        self._until = 0.0
        self._trying = False

    def ask(self, request: Callable[[], T]) -> T:
        """What the request gives; no turn is held meanwhile.

        Raises:
            ProviderError: as the request does; or the server was not waited for.
        """
        patience = _patience.get()
        if self._problem is not None and patience != math.inf:
            if self._trying or time.monotonic() < self._until:
                raise self._not_asked(self._problem)
            if patience is not None:
                self._begin(request)
                raise self._not_asked(self._problem)
        with given_up():
            return self._done(request) if patience is None or patience == math.inf else self._soon(request, patience)

    def _soon(self, request: Callable[[], T], seconds: float) -> T:
        try:
            return self._begin(request).result(seconds)
        except TimeoutError:
            message = f"{self._place} did not answer within {seconds:g} s"
            slow = ProviderError(message, hint="Check that the server runs and is idle.")
            self._problem = self._problem or slow
            raise slow from None

    def _begin(self, request: Callable[[], T]) -> Future[T]:
        """Ask in a thread; until it ends, no other call asks."""

        def tried() -> T:
            try:
                return self._done(request)
            finally:
                self._trying = False

        self._trying = True
        return in_thread(tried)

    def _done(self, request: Callable[[], T]) -> T:
        """The request's result; whether the server answers is noted."""
        try:
            result = request()
        except PassingError as problem:
            self._problem, self._until = problem, time.monotonic() + PAUSE
            raise
        self._problem = None
        return result

    def _not_asked(self, problem: ProviderError) -> ProviderError:
        message = f"{problem.message.rstrip('.')} (it is not waited for until it answers)"
        return ProviderError(message, hint=problem.hint)
