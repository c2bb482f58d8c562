"""The queue of messages that left their sessions to become episodes: one JSON file each in `sessions/pending/`.

What leaves a session is here, on disk, before it leaves the session's file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memctl.core import times
from memctl.core.names import check_session_id
from memctl.core.session import EVICTED, Queued
from memctl.errors import InvalidDataError
from memctl.storage.files import atomic
from memctl.storage.files.layout import UserFolder
from memctl.storage.files.sessions import HINT, decoded, encoded, is_id

_QUEUED = re.compile(r"evt_\d{14}_[0-9a-f]{16}")


MOST_IN_A_SECOND = 0xFFFF


def id_of(folder: UserFolder, session_id: str, message_ids: Sequence[str], now: datetime) -> str:
    """The id under which messages are queued: in time order, within a second in the order of the calls."""
    head = f"evt_{now:%Y%m%d%H%M%S}_"
    before = [name for _, name in waiting(folder) if name.startswith(head)]
    place = min(int(before[-1][len(head) : len(head) + 4], 16) + 1, MOST_IN_A_SECOND) if before else 0
    content = "\0".join((session_id, *message_ids)).encode("utf-8", "surrogatepass")
    return f"{head}{place:04x}{blake2b(content, digest_size=6).hexdigest()}"


def put(folder: UserFolder, queued: Queued) -> None:
    """Put messages into the queue, durable; call it with the session's lock held, before they leave its file."""
    path, data = _path(folder, queued.session_id, queued.queue_id), encoded(_as_json(queued), "the queue")
    atomic.replace(path, folder.signer.signed(_kind(path), data) if queued.own else data, root=folder.root)


def _as_json(queued: Queued) -> dict[str, Any]:
    return {
        "queueId": queued.queue_id,
        "sessionId": queued.session_id,
        "at": times.to_text(queued.at),
        "reason": queued.reason,
        "kept": queued.kept,
        "messages": list(queued.messages),
    }


def waiting(folder: UserFolder, session_id: str = "") -> list[tuple[str, str]]:
    """What waits, oldest first: session and queue id; of one session or of all."""
    paths = folder.pending.glob("*.json") if folder.pending.is_dir() else ()
    parts = [path.name.removesuffix(".json").rpartition(".") for path in paths]
    known = [(owner, name) for owner, _, name in parts if _QUEUED.fullmatch(name) and is_id(owner)]
    return sorted((pair for pair in known if session_id in ("", pair[0])), key=lambda pair: (pair[1], pair[0]))


def read(folder: UserFolder, session_id: str, name: str) -> Queued | None:
    """What waits under an id; None where it is done with.

    Raises:
        InvalidDataError: the file is broken.
    """
    path = _path(folder, session_id, name)
    data = atomic.read(path)
    if data is None:
        return None
    shown = f"sessions/pending/{path.name}"
    parsed = decoded(data, shown)
    messages = parsed.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise InvalidDataError("`messages` must be a list of objects", path=shown, hint=HINT)
    try:
        at = times.from_value(parsed.get("at"))
    except ValueError as problem:
        raise InvalidDataError(f"`at`: {problem}", path=shown, hint=HINT) from None
    own = folder.signer.verifies(_kind(path), data)
    return Queued(
        name, session_id, at, tuple(messages), str(parsed.get("reason", EVICTED)), own, parsed.get("kept") is True
    )


def _kind(path: Path) -> str:
    return f"sessions/pending/{path.name}"


def is_waiting(folder: UserFolder, session_id: str, name: str) -> bool:
    return _path(folder, session_id, name).is_file()


def remove(folder: UserFolder, session_id: str, name: str) -> None:
    """Take out of the queue what has become an episode."""
    atomic.remove(_path(folder, session_id, name))


def _path(folder: UserFolder, session_id: str, name: str) -> Path:
    return folder.resolve(f"sessions/pending/{check_session_id(session_id)}.{name}.json")
