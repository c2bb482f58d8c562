"""Sessions on disk: one JSON file each, and offloaded content.

A change reads, decides and writes under the session's lock, so two processes lose nothing of one another's. A whole
state that was loaded earlier is saved only if the file is still what it was. What leaves a session goes to `queue`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from memctl.core import times
from memctl.core.formats.strict_json import DECODER
from memctl.core.names import check_session_id
from memctl.core.session import Session
from memctl.errors import ConflictError, InvalidDataError, NotFoundError, UsageError
from memctl.storage.files import atomic, local_state, lock, signing
from memctl.storage.files.layout import UserFolder

T = TypeVar("T")

STRIPES = 16
"""Lock files for all sessions together: a lock a session would leave a file for each that ever was."""

LARGEST = 64 * 1024 * 1024

_OWN = ("sessionId", "components", "timestamp", signing.FIELD)
_REFERENCE = re.compile(r"(?P<session>[^/\\\0]+)/(?P<name>[0-9a-f]{32})")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


# Sessions


def path_of(folder: UserFolder, session_id: str) -> Path:
    """Where a session's file lies.

    Raises:
        UsageError: it can be no session's id.
        RefusedError: a link leads out of the folder.
    """
    return folder.resolve(f"sessions/{check_session_id(session_id)}.json")


def ids(folder: UserFolder) -> list[str]:
    """Ids of the sessions there are."""
    paths = folder.sessions.glob("*.json") if folder.sessions.is_dir() else ()
    return sorted(path.name.removesuffix(".json") for path in paths if path.is_file() and is_id(path.stem))


def is_id(name: str) -> bool:
    try:
        return check_session_id(name) == name
    except UsageError:
        return False


def load_if_exists(folder: UserFolder, session_id: str) -> Session | None:
    """A session; None where it has no file.

    Raises:
        InvalidDataError: the file is broken, or that of another session.
    """
    path = path_of(folder, session_id)
    data = atomic.read(path)
    if data is None:
        return None
    own = folder.signer.verifies(kind(session_id), data)
    return replace(parse(data, check_session_id(session_id), _shown(path)), own=own)


def kind(session_id: str) -> str:
    """What a session's file is signed as."""
    return f"sessions/{check_session_id(session_id)}.json"


def load(folder: UserFolder, session_id: str) -> Session:
    """A session.

    Raises:
        NotFoundError: it has no file; near ids are suggested.
        InvalidDataError: as `load_if_exists`.
    """
    from difflib import get_close_matches

    if session := load_if_exists(folder, session_id):
        return session
    near = get_close_matches(session_id, ids(folder), 3)
    hint = (
        f"Did you mean {' or '.join(near)}?"
        if near
        else "`memctl session list` shows those that are open, `memctl transcripts` what was said in all."
    )
    raise NotFoundError(f"no session {session_id!r}", hint=hint)


def save(folder: UserFolder, session: Session, now: datetime, *, timeout: float) -> Session:
    """Write a session as a whole, if its file is still what it was loaded from.

    Raises:
        ConflictError: somebody else saved it, or deleted it, since.
    """
    with locked(folder, session.session_id, timeout=timeout):
        present = load_if_exists(folder, session.session_id)
        if (present.digest if present else "") != session.digest:
            hint = "Load it again and make the change again; nothing was overwritten."
            raise ConflictError(f"session {session.session_id} was saved by someone else in the meantime", hint=hint)
        return write(folder, session, now)


def change(
    folder: UserFolder,
    session_id: str,
    decide: Callable[[Session], tuple[Session, T]],
    now: datetime,
    *,
    timeout: float,
    foreign: bool = False,
) -> tuple[T, bool]:
    """Read, decide and write under the session's lock; what nobody saved begins empty.

    Args:
        foreign: also build on what somebody else wrote; it stays another's. Else that is moved aside, unread.

    Returns:
        the value of the decision, and whether another's was moved aside.

    Raises:
        LockedError, StorageError, InvalidDataError: nothing was changed.
    """
    with locked(folder, session_id, timeout=timeout):
        present = load_if_exists(folder, session_id)
        aside = present is not None and not (present.own or foreign)
        before = Session(check_session_id(session_id)) if present is None or aside else present
        after, value = decide(before)
        # Not compared as values: to Python 1 and true are equal.
        if dump(after) == dump(before):
            return value, False
        if aside:
            local_state.set_session_aside(folder, path_of(folder, session_id))
        write(folder, after, now)
        return value, aside


def write(folder: UserFolder, session: Session, now: datetime) -> Session:
    """Put a session's file in place as a whole; call it with the lock held. What began as another's stays so."""
    stamped = replace(session, timestamp=times.to_text(now))
    data = dump(stamped)
    if session.own:
        data = folder.signer.signed(kind(session.session_id), data)
    atomic.replace(path_of(folder, session.session_id), data, root=folder.root)
    return replace(stamped, digest=_digest(data))


def delete(folder: UserFolder, session_id: str) -> bool:
    """Remove a session's file and what was offloaded from it; call it with the lock held. False where nothing was."""
    path = path_of(folder, session_id)
    there = path.is_file()
    atomic.remove(path)
    clear_offloaded(folder, session_id)
    return there


@contextmanager
def locked(folder: UserFolder, session_id: str, *, timeout: float) -> Iterator[None]:
    """Hold the lock of a session. Whoever holds it must not wait for the user's lock: a purge takes them in that order.

    Raises:
        LockedError: somebody else holds it for longer than `timeout` seconds.
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


# The file


def parse(data: bytes, session_id: str, path: str) -> Session:
    """A session from its file's bytes.

    Raises:
        InvalidDataError: not the JSON object of a session, or another session's; with the line.
    """
    parsed = decoded(data, path)
    named, components = parsed.get("sessionId", session_id), parsed.get("components", {})
    if not isinstance(components, Mapping):
        raise InvalidDataError("`components` must be an object: NAME and state", path=path)
    if named != session_id:
        hint = "Rename the file, or set `sessionId` to its name."
        raise InvalidDataError(f"holds the session {named!r}", path=path, hint=hint)
    stamp = parsed.get("timestamp", "")
    extra = {name: value for name, value in parsed.items() if name not in _OWN}
    return Session(session_id, components, stamp if isinstance(stamp, str) else str(stamp), extra, _digest(data))


def decoded(data: bytes, path: str) -> dict[str, Any]:
    if len(data) > LARGEST:
        raise InvalidDataError(f"is larger than {LARGEST // 1024**2} MiB", path=path)
    try:
        text = data.decode("utf-8-sig")
        parsed = DECODER.decode(text)
    except json.JSONDecodeError as problem:
        raise InvalidDataError(
            f"is no JSON: {problem.msg}", path=path, line=problem.lineno, column=problem.colno, hint=HINT
        ) from None
    except UnicodeDecodeError:
        raise InvalidDataError("is not valid UTF-8", path=path, hint=HINT) from None
    except (ValueError, RecursionError) as problem:
        reason = "is nested too deep" if isinstance(problem, RecursionError) else str(problem)
        raise InvalidDataError(reason, path=path, hint=HINT) from None
    if not isinstance(parsed, dict):
        raise InvalidDataError("must hold a JSON object", path=path, line=1, hint=HINT)
    return parsed


HINT = "The file is left as it is; repair it by hand, or move it away."


def dump(session: Session) -> bytes:
    """The file's bytes.

    Raises:
        InvalidDataError: a component's state has no form in JSON.
    """
    whole = {"sessionId": session.session_id, "components": dict(session.components), "timestamp": session.timestamp}
    return encoded({**whole, **session.extra}, f"session {session.session_id}")


def encoded(value: Mapping[str, Any], what: str) -> bytes:
    """JSON as it is written: Unicode unescaped, half a character (a cut emoji of a model) escaped.

    Raises:
        InvalidDataError: it has no such form.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidDataError(f"{what} cannot be written as JSON: {problem}") from None
    return _LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode() + b"\n"


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _shown(path: Path) -> str:
    return f"sessions/{path.name}"


# What is offloaded


def reference(session_id: str, text: str) -> str:
    """The reference under which a text is, or will be, offloaded: `SESSION/NAME`; the same for the same text."""
    return f"{session_id}/{_digest(text.encode('utf-8', 'surrogatepass'))}"


def offload(folder: UserFolder, session_id: str, text: str) -> str:
    """Lay a text aside, durable, and return its reference."""
    ref = reference(check_session_id(session_id), text)
    atomic.replace(_offloaded(folder, ref), text.encode("utf-8", "surrogatepass"))
    return ref


def read_offloaded(folder: UserFolder, ref: str) -> str:
    """A text that was offloaded.

    Raises:
        NotFoundError: it is gone with its session, or was never there.
        InvalidDataError: the file does not hold what was put there.
        UsageError: no such reference can be.
    """
    data = atomic.read(_offloaded(folder, ref))
    if data is None:
        raise NotFoundError(f"nothing is offloaded under {ref!r}", hint="It goes when its session ends.")
    if _digest(data) != ref.rpartition("/")[2]:  # its name says what it held when this user put it there
        raise InvalidDataError(f"what is offloaded under {ref!r} is not what it was", hint="Somebody changed it.")
    return data.decode("utf-8", "surrogatepass")


def offloaded(folder: UserFolder, session_id: str) -> list[str]:
    """References of all that is offloaded from a session."""
    place = _offload_folder(folder, session_id)
    paths = sorted(place.glob("*.txt")) if place.is_dir() else []
    return [f"{session_id}/{path.stem}" for path in paths]


def clear_offloaded(folder: UserFolder, session_id: str, keep: Sequence[str] = ()) -> None:
    """Remove what is offloaded from a session, but for the references that are still in use."""
    for ref in offloaded(folder, session_id):
        if ref not in keep:
            atomic.remove(folder.resolve(_offload_name(ref)))
    place = _offload_folder(folder, session_id)
    if place.is_dir() and not any(place.iterdir()):
        place.rmdir()


def _offload_folder(folder: UserFolder, session_id: str) -> Path:
    return folder.resolve(f"sessions/{check_session_id(session_id)}.d")


def _offloaded(folder: UserFolder, ref: str) -> Path:
    match = _REFERENCE.fullmatch(ref)
    if match is None or not is_id(match["session"]):
        raise UsageError(f"{ref!r} is no reference to content", hint="A reference is SESSION/ and 32 hex digits.")
    return folder.resolve(_offload_name(ref))


def _offload_name(ref: str) -> str:
    session_id, _, name = ref.partition("/")
    return f"sessions/{session_id}.d/{name}.txt"


# Purging and tidying


def owner(path: str) -> str:
    """The session that a file below `sessions/` belongs to, by its path in the user's folder; empty where none does."""
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
    """What interrupted writes left behind."""
    paths = (path for path in all_files(folder) if not path.is_symlink())
    return [path for path in paths if path.name.startswith(atomic.TEMPORARY_PREFIX)]


def clear_temporary(folder: UserFolder, *, timeout: float) -> int:
    """Remove what writes of a process that died left behind; returns how many."""
    if not temporary_files(folder):
        return 0
    with all_locked(folder, timeout=timeout):
        paths = temporary_files(folder)
        for path in paths:
            atomic.remove(path)
    return len(paths)
