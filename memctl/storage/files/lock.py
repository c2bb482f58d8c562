"""One writer at a time for each user, across processes; the system releases the lock of a process that died.

The lock is `flock`. The note in its file says who holds it and is taken out when it lets go: it is for the message that
others get. Only in a folder that machines share does it decide: there the system may not know of the other machine, so
the note of one that has not let go keeps the lock until a person, who knows that nothing runs there any more, deletes
the file.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from memctl.core import times
from memctl.errors import LockedError, StorageError, quoted
from memctl.storage.files import atomic

_PAUSE_SECONDS = 0.005
"""About as long as a busy writer is without the lock between two changes; a longer one would keep others out."""
_LONGEST_NOTE = 4096

COURTESY_SECONDS = 1.0
"""How long a waiter without the turn waits for the turn's holder, which may be stopped."""

_UNSUPPORTED = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}

_SHARED = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "drvfs", "prl_fs", "ceph", "glusterfs",
    "lustre", "afs", "gfs2", "ocfs2",
}  # fmt: skip
"""File systems that other machines may write to at the same time; those of user space (`fuse.…`) may be, too."""


@dataclass(frozen=True)
class Holder:
    """Who signed a lock.

    Args:
        since: RFC 3339, by that machine's clock.
        boot: of that system's current run; empty where the system does not say.
        start: of the process, in the system's ticks; a later process with the same number has another.
    """

    pid: int
    host: str
    command: str
    since: str
    boot: str = ""
    start: str = ""

    @property
    def elsewhere(self) -> bool:
        """On another machine; containers on one machine share its system, which knows of all their locks."""
        return self.host != socket.gethostname() and (not self.boot or self.boot != boot_id())

    @property
    def known_here(self) -> bool:
        """Whether the process can be looked up by its number."""
        return self.host == socket.gethostname() and self.boot == boot_id()

    @property
    def gone(self) -> bool:
        """Known to have ended: no such process, or one that began later has its number."""
        state, start = _process(self.pid)
        return self.known_here and (not state or bool(self.start and start and start != self.start))

    @property
    def stopped(self) -> bool:
        return self.known_here and not self.gone and _process(self.pid)[0] in ("T", "t")

    def __str__(self) -> str:
        state = ", which is stopped" if self.stopped else ""
        return f"{self.command} (process {self.pid} on {self.host}{state}) since {self.since}"


@contextmanager
def exclusive(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the lock file for the length of the block.

    Args:
        timeout: seconds to wait for another holder; 0 tries once.

    Raises:
        LockedError: still held after `timeout`; the message names the holder.
        StorageError: the lock file cannot be written, or locks do not work there.
    """
    atomic.make_directory(path.parent)
    _unlink_shared(path)
    owner, handle = os.getpid(), _taken(path, timeout)
    try:
        _sign(handle)
        yield
    finally:
        if os.getpid() == owner:
            _let_go(handle)
        os.close(handle)


def _unlink_shared(path: Path) -> None:
    """A lock file with another name elsewhere (a hard link) may be anything: the note must not be written into it."""
    with atomic.writing(path):
        if os.path.lexists(path) and path.lstat().st_nlink > 1 and path.is_file():
            path.unlink()


def _taken(path: Path, timeout: float) -> int:
    """An open lock file that is ours."""
    begun, turn = time.monotonic(), None
    try:
        while True:
            waited = time.monotonic() - begun
            turn = _turn(path) if turn is None else turn
            if turn is not None or waited >= min(timeout, COURTESY_SECONDS):
                if (handle := _taken_now(path)) is not None:
                    return handle
                if waited >= timeout:
                    raise _locked(path)
            time.sleep(_PAUSE_SECONDS)
    finally:
        if turn is not None:
            os.close(turn)


def _turn(path: Path) -> int | None:
    """The right to be the next, so that a busy writer keeps nobody out; None where another process has it."""
    with suppress(OSError):
        handle = os.open(path.with_name(path.name + ".turn"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, atomic.FILE_MODE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except OSError:
            os.close(handle)
    return None


def _taken_now(path: Path) -> int | None:
    """The lock file, open and ours, if it can be had at this moment."""
    handle = _opened(path)
    ours = False
    try:
        ours = _try(handle, path) and _in_place(handle, path) and _left_elsewhere(handle, path) is None
    finally:
        if not ours:
            os.close(handle)
    return handle if ours else None


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, atomic.FILE_MODE)
    except OSError as problem:
        if problem.errno in (errno.EISDIR, errno.ELOOP):
            reason = "it is not a regular file (delete it: memctl makes a new one)"
            raise StorageError(f"cannot write {path}: {reason}") from None
        raise atomic.storage_error(problem, path) from None


def _try(handle: int, path: Path) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:
        if problem.errno not in _UNSUPPORTED:
            raise atomic.storage_error(problem, path) from None
        hint = "Two programs could write at once there. Move the store to a disk of this machine."
        raise StorageError(f"the file system of {path} does not support locks", hint=hint) from None
    return True


def _in_place(handle: int, path: Path) -> bool:
    """Whether the file that was locked is the one others find: somebody may have deleted it meanwhile."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat(follow_symlinks=False))
    return False


def _left_elsewhere(handle: int, path: Path) -> Holder | None:
    """Another machine that did not let go, where this one's system cannot know whether it still works."""
    holder = _note(handle)
    return holder if holder and holder.elsewhere and is_shared(path) else None


def _sign(handle: int) -> None:
    """Say who holds the lock, for the message others get."""
    command = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    since = times.to_text(datetime.now(UTC).replace(microsecond=0))  # a clock that is set would tell nothing
    pid = os.getpid()
    holder = Holder(pid, socket.gethostname(), command[:200], since, boot_id(), _process(pid)[1])
    note = json.dumps(asdict(holder)).encode()
    with suppress(OSError):  # a courtesy: a full disk must not keep anybody out
        os.ftruncate(handle, os.pwrite(handle, note, 0))


def _let_go(handle: int) -> None:
    """Take the note out, then the lock off: closing alone would leave it to a child that was forked meanwhile."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)


def _note(handle: int) -> Holder | None:
    """Who signed last and has not let go, None where nobody did (or is just about to)."""
    try:
        note = {"boot": "", "start": ""} | json.loads(os.pread(handle, _LONGEST_NOTE, 0))
        texts = {name: str(note[name]) for name in ("host", "command", "since", "boot", "start")}
        return Holder(int(note["pid"]), **texts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


# Messages

_GONE = "If nothing runs there any more, delete the lock file; what was begun is completed or dropped."


def _locked(path: Path) -> LockedError:
    handle = _opened(path)
    try:
        message, hint = _described(_note(handle), path)
    finally:
        os.close(handle)
    return LockedError(f"the store is in use: {message}", hint=hint)


def _described(holder: Holder | None, path: Path) -> tuple[str, str]:
    """Who holds a lock, and what to do."""
    if holder is None or holder.gone:
        name = quoted(str(path))
        return "held by another process", f"Try again; `fuser {name}` or `lsof {name}` names it."
    if holder.elsewhere:
        return f"held by {holder}, another machine", f"Try again, or stop it there. {_GONE} It is {path}."
    hint = "Try again, or stop that process."
    if holder.stopped:
        hint = f"`kill -CONT {holder.pid}` lets it go on; `kill -KILL {holder.pid}` ends it without loss."
    return f"held by {holder}", hint


def examine(path: Path) -> str:
    """Who holds a lock, or has left it behind for a person to decide on; empty where it is free."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        if not _try(handle, path):
            message, hint = _described(_note(handle), path)
            return f"is {message}: {hint}"
        holder = _left_elsewhere(handle, path)
        return f"is held by {holder}, another machine. {_GONE}" if holder else ""
    except StorageError as problem:
        return f"{problem.message}: {problem.hint}"
    finally:
        os.close(handle)


# The system


@cache
def boot_id() -> str:
    """What tells this run of this machine's system from others; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _process(pid: int) -> tuple[str, str]:
    """A process's state (one letter, such as T for stopped) and start; the state is empty where there is no such."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "", ""
    except (OSError, OverflowError):  # somebody else's
        pass
    return "?", ""


def is_shared(path: Path) -> bool:
    """Whether other machines may write to a file's system at the same time."""
    kind = file_system(path)
    return kind in _SHARED or kind.startswith("fuse.")


def file_system(path: Path) -> str:
    """The kind of file system a file lies on, by the longest mount point above it; empty where nobody says."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    real = path.resolve()
    mounts: list[tuple[int, int, str]] = []
    for line in lines:
        before, _, after = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), before.split()[4])  # a blank is \040
        if real.is_relative_to(point):
            mounts.append((len(point), len(mounts), after.split()[0]))
    return max(mounts, default=(0, 0, ""))[2]
