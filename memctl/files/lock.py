"""One writer at a time for each user, across processes; the system releases the lock of a process that died."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memctl import times
from memctl.errors import LockedError
from memctl.files import atomic

_PAUSE_SECONDS = 0.002
_LONGEST_PAUSE_SECONDS = 0.05


@contextmanager
def exclusive(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the lock file for the length of the block.

    Args:
        timeout: seconds to wait for another holder; 0 tries once.

    Raises:
        LockedError: still held after `timeout`; the message names the holder.
        StorageError: the lock file cannot be written.
    """
    atomic.make_directory(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, atomic.FILE_MODE)
    except OSError as problem:
        raise atomic.storage_error(problem, path) from None
    try:
        _wait(handle, path, timeout)
        _sign(handle)
        yield
    finally:
        os.close(handle)


def _wait(handle: int, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    pause = _PAUSE_SECONDS
    while not _try(handle):
        if time.monotonic() >= deadline:
            raise LockedError(f"the store is in use: {holder(path)}", hint="Try again, or stop that process.")
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(handle: int) -> None:
    """Say who holds the lock, for the message others get."""
    command = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    since = times.to_text(times.utc_now())
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}
    with suppress(OSError):  # a courtesy: a full disk must not keep anybody out
        os.pwrite(handle, json.dumps(holder).ljust(256).encode(), 0)


def holder(path: Path) -> str:
    """Who signed the lock last, in words."""
    try:
        found = json.loads(path.read_text())
        return f"held by {found['command']} (process {found['pid']} on {found['host']}) since {found['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "held by another process"
