"""Every system call that writes a user's files, in one place, so that tests can make each of them fail.

A write is: temporary file in the same directory, fsync, rename, fsync of the directory. A new directory is made durable
in its parent before anything in it counts. Where the system can swap two names in one step, the displaced file is kept,
so that a save by an editor in the last microsecond is not lost.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter
from pathlib import Path

from memctl.errors import RefusedError, StorageError

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
TEMPORARY_PREFIX = ".memctl-tmp-"

UNSURE = "It is written, but it is not certain that it outlasts a power cut. Look after the disk, then do it again."
"""Hint of an error that comes after the change was made."""

_NO_SWAP = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM, errno.ENOENT}
"""What a system says that cannot swap two names, or a path that has gone since."""


def fsync_directory(path: Path) -> None:
    """Make names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directory(path: Path) -> None:
    """Create a directory and its parents, private to the owner."""
    with told(path):
        if path.is_dir():
            return
    make_directory(path.parent)
    try:
        os.mkdir(path, DIRECTORY_MODE)
        with suppress(PermissionError):  # a parent that may be written and not read
            fsync_directory(path.parent)
    except FileExistsError:
        if not path.is_dir():
            raise StorageError(f"{path} is in the way: a folder is needed there") from None
    except OSError as problem:
        raise storage_error(problem, path) from None


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What the system refuses in the block, as memctl's own error about `path`."""
    try:
        yield
    except OSError as problem:
        raise storage_error(problem, path) from None


def confirm(path: Path) -> None:
    """Make durable that `path` has the name it has, or none any more.

    Raises:
        StorageError: it is done, and may not outlast a power cut.
    """
    try:
        fsync_directory(path.parent)
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else str(problem)
        raise StorageError(f"cannot make sure of {path}: {reason}", hint=UNSURE) from None


def storage_error(problem: OSError, path: Path) -> StorageError:
    """The system's refusal in a sentence, with what to do."""
    hints = {
        28: "Free some space and run the command again.",
        122: "The disk quota is used up: free some space and run the command again.",
        5: "The disk does not work as it should; the system's log (`dmesg`) may say why.",
        13: "Check who owns the folder and its permissions (`ls -ld`).",
        30: "The file system is read-only: reading works, changes need a writable folder.",
    }
    reason = os.strerror(problem.errno) if problem.errno else str(problem)
    return StorageError(f"cannot write {path}: {reason}", hint=hints.get(problem.errno or 0, ""))


def read(path: Path) -> bytes | None:
    """The bytes of a file of a store, None where there is none.

    Raises:
        StorageError: it is there and cannot be read, or is no regular file: unreadable is never taken for empty.
    """
    return _read(path, regular)


def read_given(path: Path) -> bytes | None:
    """As `read`, for a file that the user has named: it may be a link, or a pipe."""
    return _read(path, None)


def _read(path: Path, opener: Callable[[str, int], int] | None) -> bytes | None:
    try:
        with open(path, "rb", opener=opener) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise unread(problem, path) from None
    except ValueError as problem:
        raise StorageError(f"cannot read {path}: {problem}") from None


def regular(name: str, flags: int) -> int:
    """Opener for files of a store: a link may lead anywhere, a pipe is waited for, a device never ends.

    Raises:
        OSError: ELOOP for a link, ENXIO for anything else that is no regular file.
    """
    handle = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, FILE_MODE)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.ENXIO, _NO_FILE, name)
    return handle


def check_regular(path: Path) -> None:
    """Refuse what is there and is no regular file.

    Raises:
        StorageError: it is a link, a folder, a pipe, a device.
    """
    with told(path):
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise StorageError(f"cannot write {path}: {_NO_FILE}")


def unread(problem: OSError, path: Path) -> StorageError:
    """The system's refusal to read, with what to do."""
    if problem.errno in _NO_FILES:
        return StorageError(f"cannot read {path}: {_NO_FILE}")
    reason = os.strerror(problem.errno) if problem.errno else str(problem)
    return StorageError(f"cannot read {path}: {reason}", hint="Check its permissions.")


_NO_FILE = "it is not a regular file (put the real file there)"
_NO_FILES = (errno.ELOOP, errno.ENXIO, errno.EOPNOTSUPP)
"""What the system says of links, of pipes without a reader, of sockets."""


def replace(path: Path, data: bytes, *, keep: Path | None = None) -> os.stat_result:
    """Put `data` at `path` as a whole or not at all, and return the new file's stat.

    Args:
        keep: where to leave the file that was displaced, if the system can swap names atomically.

    Raises:
        StorageError: nothing was changed; or it was, and the hint is `UNSURE`.
    """
    refuse_link(path)
    make_directory(path.parent)
    temporary = path.with_name(TEMPORARY_PREFIX + secrets.token_hex(6))
    try:
        result = _write_new(temporary, data, _mode_for(path))
        _move(temporary, path, keep)
    except OSError as problem:
        discard(temporary)
        raise storage_error(problem, path) from None
    confirm(path)
    return result


def create(path: Path, data: bytes) -> bool:
    """Put `data` at `path` if there is nothing yet; False where somebody else was first.

    Raises:
        StorageError: as `replace`.
    """
    make_directory(path.parent)
    temporary = path.with_name(TEMPORARY_PREFIX + secrets.token_hex(6))
    try:
        _write_new(temporary, data, FILE_MODE)
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as problem:
        raise storage_error(problem, path) from None
    finally:
        discard(temporary)
    confirm(path)
    return True


def discard(temporary: Path) -> None:
    """Remove a temporary file; where the system refuses, the next writer clears it away."""
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def refuse_link(path: Path) -> None:
    """A symbolic link in a store may point anywhere: never write through one."""
    with told(path):
        link = path.is_symlink()
    if link:
        hint = "Put the real file in the folder, or link the user's whole folder instead."
        raise RefusedError(f"{path} is a symbolic link; memctl does not write through links", hint=hint)


def _mode_for(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return FILE_MODE


def _write_new(path: Path, data: bytes, mode: int) -> os.stat_result:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    try:
        write_all(handle, data)
        if mode != FILE_MODE:
            os.fchmod(handle, mode)
        os.fsync(handle)
        return os.fstat(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write everything: one call may write less than it was given."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _move(temporary: Path, path: Path, keep: Path | None) -> None:
    if keep is None or not path.exists() or not _exchange(temporary, path):
        os.replace(temporary, path)
        return
    try:
        os.replace(temporary, keep)
    except OSError as problem:
        _swap_back(temporary, path, problem)
        raise


def _swap_back(temporary: Path, path: Path, problem: OSError) -> None:
    """Undo a swap whose displaced file cannot be laid aside.

    Raises:
        StorageError: that is refused too. The file stays under its temporary name: it may hold what a person saved.
    """
    with suppress(OSError):
        if _exchange(temporary, path):
            return
    raise StorageError(f"{storage_error(problem, path).message}, after it was written", hint=UNSURE)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names in one step; False where the system or the file system cannot.

    Raises:
        OSError: it can, and does not.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    swap = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, rename_exchange = -100, 2
    if swap is None:
        return False
    if swap(here, os.fsencode(first), here, os.fsencode(second), rename_exchange) == 0:
        return True
    if (number := ctypes.get_errno()) in _NO_SWAP:
        return False
    raise OSError(number, os.strerror(number), os.fspath(second))


def append(path: Path, data: bytes) -> None:
    """Add `data` at the end of a log and make it durable.

    Raises:
        StorageError: the log may hold a torn last line, which readers skip.
    """
    refuse_link(path)
    make_directory(path.parent)
    try:
        new = not path.exists()
        handle = regular(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        if new:
            fsync_directory(path.parent)
    except OSError as problem:
        raise storage_error(problem, path) from None


def remove(path: Path) -> None:
    """Delete a file for good; one that is not there is fine.

    Raises:
        StorageError: as `replace`.
    """
    with told(path):
        path.unlink(missing_ok=True)
        there = path.parent.is_dir()
    if there:
        confirm(path)


def write_new(path: Path, data: bytes) -> None:
    """A private file, durable once its folder is synced; for what lies in a folder nobody uses yet.

    Raises:
        StorageError: something is there already, or the system refuses.
    """
    make_directory(path.parent)
    try:
        _write_new(path, data, FILE_MODE)
    except OSError as problem:
        raise storage_error(problem, path) from None


@contextmanager
def streamed(path: Path) -> Iterator[BufferedWriter]:
    """A private file to write piece by piece, which takes its place as a whole when all is written, or not at all."""
    refuse_link(path)
    temporary = path.with_name(TEMPORARY_PREFIX + secrets.token_hex(6))
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, FILE_MODE)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        raise storage_error(problem, path) from None
    finally:
        discard(temporary)
    confirm(path)


def move_directory(source: Path, target: Path) -> None:
    """Rename a folder to where nothing is, durably.

    Raises:
        StorageError: nothing was moved; or it was, and the hint is `UNSURE`.
    """
    with told(target):
        source.rename(target)
    try:
        confirm(target)
        confirm(source)
    except StorageError as problem:
        try:
            target.rename(source)
        except OSError:
            raise problem from None
        raise StorageError(problem.message, hint="Nothing was moved.") from None
