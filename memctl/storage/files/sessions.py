"""Sessions on disk: one JSON file each, and offloaded texts.

A change reads, decides and writes under the session's lock, so two processes lose nothing of each other's. A state that
was loaded earlier is saved only if the file has not changed since. Messages that leave a session go to `queue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from memctl.core import times
from memctl.core.formats.sessions import dump, is_id, not_found, offloaded_text, parse, parts_of, reference
from memctl.core.names import check_session_id
from memctl.core.session import Session
from memctl.storage.files import atomic, local_state, lock, opening
from memctl.storage.files.layout import UserFolder

T = TypeVar("T")

STRIPES = 16
"""Number of lock files for all sessions: one for each session would leave a file for every session that ever was."""


# Sessions


def path_of(folder: UserFolder, session_id: str) -> Path:
    """The path of a session's file.

    Raises:
        UsageError: the id is not allowed.
        RefusedError: a link leads out of the folder.
    """
    return folder.resolve(f"sessions/{check_session_id(session_id)}.json")


def ids(folder: UserFolder) -> list[str]:
    """The ids of all sessions."""
    paths = folder.sessions.glob("*.json") if folder.sessions.is_dir() else ()
    return sorted(path.name.removesuffix(".json") for path in paths if path.is_file() and is_id(path.stem))


def load_if_exists(folder: UserFolder, session_id: str) -> Session | None:
    """A session; None if it has no file.

    Raises:
        InvalidDataError: the file is malformed, or belongs to another session.
    """
    path = path_of(folder, session_id)
    data = opening.read(path)
    if data is None:
        return None
    own = folder.signer.verifies(kind(session_id), data)
    return replace(parse(data, check_session_id(session_id), f"sessions/{path.name}"), own=own)


def kind(session_id: str) -> str:
    """The kind under which a session's file is signed."""
    return f"sessions/{check_session_id(session_id)}.json"


def load(folder: UserFolder, session_id: str) -> Session:
    """A session.

    Raises:
        NotFoundError: it has no file; similar ids are suggested.
        InvalidDataError: as `load_if_exists`.
    """
    if session := load_if_exists(folder, session_id):
        return session
    raise not_found(session_id, ids(folder))


def change(
    folder: UserFolder,
    session_id: str,
    decide: Callable[[Session], tuple[Session, T]],
    now: datetime,
    *,
    timeout: float,
    foreign: bool = False,
) -> tuple[T, bool]:
    """Read, decide and write under the session's lock; a session without a file begins empty.

    Args:
        foreign: also change a session that another user wrote, which keeps its owner; otherwise that is moved to
            `unverified/` unread.

    Returns:
        the value of the decision, and whether another user's session was moved.

    Raises:
        LockedError, StorageError, InvalidDataError: nothing was changed.
    """
    with locked(folder, session_id, timeout=timeout):
        present = load_if_exists(folder, session_id)
        aside = present is not None and not (present.own or foreign)
        before = Session(check_session_id(session_id)) if present is None or aside else present
        after, value = decide(before)
        # not compared as values: in Python, 1 equals True
        if dump(after) == dump(before):
            return value, False
        if aside:
            local_state.set_session_aside(folder, path_of(folder, session_id))
        write(folder, after, now)
        return value, aside


def write(folder: UserFolder, session: Session, now: datetime) -> Session:
    """Write a session's file; call it with the lock held. A session of another user stays theirs."""
    stamped = replace(session, timestamp=times.to_text(now))
    data = dump(stamped)
    if session.own:
        data = folder.signer.signed(kind(session.session_id), data)
    atomic.replace(path_of(folder, session.session_id), data, root=folder.root)
    return replace(stamped, stored=True)


def delete(folder: UserFolder, session_id: str) -> bool:
    """Delete a session's file and offloaded texts; call it with the lock held. False if there was nothing."""
    path = path_of(folder, session_id)
    there = path.is_file()
    atomic.remove(path)
    clear_offloaded(folder, session_id)
    return there


@contextmanager
def locked(folder: UserFolder, session_id: str, *, timeout: float) -> Iterator[None]:
    """Hold the lock of a session. Its holder must not wait for the user's lock: a purge takes the two in the other
    order.

    Raises:
        LockedError: another process holds it for longer than `timeout` seconds.
    """
    stripe = blake2b(check_session_id(session_id).encode(), digest_size=4).digest()[0] % STRIPES
    with lock.exclusive(_stripe(folder, stripe), timeout=timeout):
        yield


@contextmanager
def all_locked(folder: UserFolder, *, timeout: float) -> Iterator[None]:
    """Hold the locks of all sessions."""
    with ExitStack() as stack:
        for stripe in range(STRIPES):
            stack.enter_context(lock.exclusive(_stripe(folder, stripe), timeout=timeout))
        yield


def _stripe(folder: UserFolder, number: int) -> Path:
    return folder.session_locks / f"sessions-{number:02d}"


# Offloaded texts


def offload(folder: UserFolder, session_id: str, text: str) -> str:
    """Offload a text durably; returns its reference."""
    ref = reference(check_session_id(session_id), text)
    atomic.replace(_offloaded(folder, ref), text.encode("utf-8", "surrogatepass"))
    return ref


def read_offloaded(folder: UserFolder, ref: str) -> str:
    """An offloaded text.

    Raises:
        NotFoundError: it was deleted with its session, or never existed.
        InvalidDataError: the file has another content than was offloaded.
        UsageError: the reference is malformed.
    """
    data = opening.read(_offloaded(folder, ref))
    return offloaded_text(ref, data)


def offloaded(folder: UserFolder, session_id: str) -> list[str]:
    """The references of all texts offloaded from a session."""
    place = _offload_folder(folder, session_id)
    paths = sorted(place.glob("*.txt")) if place.is_dir() else []
    return [f"{session_id}/{path.stem}" for path in paths]


def clear_offloaded(folder: UserFolder, session_id: str) -> None:
    """Delete the texts offloaded from a session."""
    for ref in offloaded(folder, session_id):
        atomic.remove(folder.resolve(_offload_name(ref)))
    place = _offload_folder(folder, session_id)
    if place.is_dir() and not any(place.iterdir()):
        place.rmdir()


def _offload_folder(folder: UserFolder, session_id: str) -> Path:
    return folder.resolve(f"sessions/{check_session_id(session_id)}.d")


def _offloaded(folder: UserFolder, ref: str) -> Path:
    parts_of(ref)
    return folder.resolve(_offload_name(ref))


def _offload_name(ref: str) -> str:
    session_id, _, name = ref.partition("/")
    return f"sessions/{session_id}.d/{name}.txt"


# Purging and cleaning up


def owner(path: str) -> str:
    """The session of a file below `sessions/`, by its path in the user's folder; empty if it belongs to none."""
    parts = path.split("/")
    if len(parts) == 2 and path.endswith(".json"):
        return parts[1].removesuffix(".json")
    if len(parts) == 3 and parts[1] == "pending" and path.endswith(".json"):
        return parts[2].removesuffix(".json").rpartition(".")[0]
    return parts[1].removesuffix(".d") if len(parts) == 3 and parts[1].endswith(".d") else ""


def all_files(folder: UserFolder) -> list[Path]:
    """Every file below `sessions/`."""
    return sorted(path for path in folder.sessions.rglob("*") if path.is_file()) if folder.sessions.is_dir() else []


def temporary_files(folder: UserFolder) -> list[Path]:
    """Temporary files of interrupted writes."""
    paths = (path for path in all_files(folder) if not path.is_symlink())
    return [path for path in paths if path.name.startswith(atomic.TEMPORARY_PREFIX)]


def clear_temporary(folder: UserFolder, *, timeout: float) -> int:
    """Delete temporary files of processes that died; returns how many."""
    if not temporary_files(folder):
        return 0
    with all_locked(folder, timeout=timeout):
        paths = temporary_files(folder)
        for path in paths:
            atomic.remove(path)
    return len(paths)
