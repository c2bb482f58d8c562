"""Sessions as files below `sessions/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TypeVar

from memctl.core.formats import sessions as form
from memctl.core.names import check_session_id
from memctl.core.session import Queued, Session
from memctl.storage.files import queue, sessions
from memctl.storage.folder.gateway import Gateway

T = TypeVar("T")


class FolderSessions:
    """The port `SessionStorage` over a user's folder."""

    def __init__(self, gateway: Gateway, timeout: float) -> None:
        self._gateway, self._folder, self._timeout = gateway, gateway.folder, timeout

    # Sessions

    def ids(self) -> list[str]:
        return sessions.ids(self._folder)

    def exists(self, session_id: str) -> bool:
        return sessions.path_of(self._folder, session_id).is_file()

    def load(self, session_id: str) -> Session:
        return sessions.load(self._folder, session_id)

    def load_if_exists(self, session_id: str) -> Session | None:
        return sessions.load_if_exists(self._folder, session_id)

    def change(
        self, session_id: str, decide: Callable[[Session], tuple[Session, T]], now: datetime, *, foreign: bool = False
    ) -> T:
        value, moved = sessions.change(self._folder, session_id, decide, now, timeout=self._timeout, foreign=foreign)
        self._gateway.moved_aside += moved
        return value

    def locked(self, session_id: str) -> AbstractContextManager[None]:
        return sessions.locked(self._folder, session_id, timeout=self._timeout)

    def write(self, session: Session, now: datetime) -> Session:
        return sessions.write(self._folder, session, now)

    def delete(self, session_id: str) -> bool:
        return sessions.delete(self._folder, session_id)

    def clear_temporary(self) -> None:
        sessions.clear_temporary(self._folder, timeout=self._timeout)

    # Offloaded texts

    def reference(self, session_id: str, text: str) -> str:
        return form.reference(session_id, text)

    def offload(self, session_id: str, text: str) -> str:
        return sessions.offload(self._folder, session_id, text)

    def read_offloaded(self, reference: str) -> str:
        return sessions.read_offloaded(self._folder, reference)

    def offloaded(self, session_id: str) -> list[str]:
        return sessions.offloaded(self._folder, session_id)

    def clear_offloaded(self, session_id: str) -> None:
        sessions.clear_offloaded(self._folder, session_id)

    # The queue

    def queue_id(self, session_id: str, message_ids: Sequence[str], now: datetime) -> str:
        return queue.id_of(self._folder, session_id, message_ids, now)

    def enqueue(self, queued: Queued) -> None:
        queue.put(self._folder, queued)

    def waiting(self, session_id: str = "") -> list[tuple[str, str]]:
        return queue.waiting(self._folder, check_session_id(session_id) if session_id else "")

    def is_waiting(self, session_id: str, queue_id: str) -> bool:
        return queue.is_waiting(self._folder, session_id, queue_id)

    def queued(self, session_id: str, queue_id: str) -> Queued | None:
        return queue.read(self._folder, session_id, queue_id)

    def dequeue(self, session_id: str, queue_id: str) -> None:
        queue.remove(self._folder, session_id, queue_id)
