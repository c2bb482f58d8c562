"""The queue of messages that left their sessions and become episodes: a JSON file each in `sessions/pending/`.

Messages are in the queue, on disk, before they are removed from the session's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from memctl.core.formats import queue as form
from memctl.core.formats.sessions import is_id
from memctl.core.names import check_session_id
from memctl.core.session import Queued
from memctl.storage.files import atomic, opening
from memctl.storage.files.layout import UserFolder


def id_of(folder: UserFolder, session_id: str, message_ids: Sequence[str], now: datetime) -> str:
    """The id for queued messages: in time order, and within a second in the order of the calls."""
    return form.id_of(session_id, message_ids, now, [name for _, name in waiting(folder)])


def put(folder: UserFolder, queued: Queued) -> None:
    """Queue messages durably. Call it with the session's lock held, before they leave its file."""
    path, data = _path(folder, queued.session_id, queued.queue_id), form.dump(queued)
    if queued.own:
        data = folder.signer.signed(f"sessions/pending/{path.name}", data)
    atomic.replace(path, data, root=folder.root)


def waiting(folder: UserFolder, session_id: str = "") -> list[tuple[str, str]]:
    """The session and queue id of what is queued, oldest first; for one session or all."""
    paths = folder.pending.glob("*.json") if folder.pending.is_dir() else ()
    parts = [path.name.removesuffix(".json").rpartition(".") for path in paths]
    known = [(owner, name) for owner, _, name in parts if form.is_queue_id(name) and is_id(owner)]
    return sorted((pair for pair in known if session_id in ("", pair[0])), key=lambda pair: (pair[1], pair[0]))


def read(folder: UserFolder, session_id: str, name: str) -> Queued | None:
    """The queued messages with an id; None if they were processed.

    Raises:
        InvalidDataError: the file is malformed.
    """
    path = _path(folder, session_id, name)
    data = opening.read(path)
    if data is None:
        return None
    relative = f"sessions/pending/{path.name}"
    return replace(form.parse(data, session_id, name, relative), own=folder.signer.verifies(relative, data))


def is_waiting(folder: UserFolder, session_id: str, name: str) -> bool:
    return _path(folder, session_id, name).is_file()


def remove(folder: UserFolder, session_id: str, name: str) -> None:
    """Remove messages from the queue that became an episode."""
    atomic.remove(_path(folder, session_id, name))


def _path(folder: UserFolder, session_id: str, name: str) -> Path:
    return folder.resolve(f"sessions/pending/{check_session_id(session_id)}.{name}.json")
