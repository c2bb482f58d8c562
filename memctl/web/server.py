"""Serving the local page, and the one-time link that opens it."""

from __future__ import annotations

import socket
from collections.abc import Callable

from memctl.agent import loopback
from memctl.store import MemoryStore
from memctl.web import guard
from memctl.web.app import Site, application
from memctl.web.checks import Checks
from memctl.web.guard import Keys
from memctl.web.pool import Pool

WARM_UP = 1.5
"""Seconds to wait for the first checks, so that the first page shows what they found."""


def link(keys: Keys, listening: socket.socket) -> str:
    """The address that opens the page, once."""
    return f"http://{loopback.HOST}:{listening.getsockname()[1]}{guard.OPEN}?token={keys.link}"


def serve(
    store: MemoryStore,
    listening: socket.socket,
    keys: Keys,
    *,
    opened: tuple[str | None, str | None],
    read_only: bool,
    ready: Callable[[], None],
) -> None:
    """Serve the page of a store on a socket, until interrupted.

    Args:
        opened: the store and the user as they were given, for the process that checks.
        ready: called once the first page can show what the checks have found, or after a moment.
    """
    checks, pool = Checks(*opened), Pool(store)
    site = Site(pool, checks, keys, listening.getsockname()[1], store.user, read_only)
    try:
        store.refresh()
        checks.warm_up(store.engine.storage.stamp(), WARM_UP)
        ready()
        loopback.serve(application(site), listening)
    finally:
        checks.close()
        pool.close()
