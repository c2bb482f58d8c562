"""What memctl needs of a storage. Files implement it; a database can as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, TypeVar

from memctl.core.session import Queued, Session

T = TypeVar("T")


class SessionStorage(Protocol):
    """The sessions of one user, the contents offloaded from them, and the queue of messages that left them.

    Ids of sessions are checked here: UsageError where a text cannot be one.
    """

    # Sessions

    def ids(self) -> list[str]:
        """All sessions that are stored."""

    def exists(self, session_id: str) -> bool:
        """Whether a session is stored, whoever wrote it."""

    def load(self, session_id: str) -> Session:
        """A session.

        Raises:
            NotFoundError: it is not stored; near ids are suggested.
            InvalidDataError: it cannot be read.
        """

    def load_if_exists(self, session_id: str) -> Session | None:
        """As `load`; None where it is not stored."""

    def change(
        self, session_id: str, decide: Callable[[Session], tuple[Session, T]], now: datetime, *, foreign: bool = False
    ) -> T:
        """Read, decide and write under the session's lock; returns the value of the decision.

        A session that is not stored begins empty.

        Args:
            foreign: also change a session that another user wrote; else it is moved aside, and a new one begins.
        """

    def locked(self, session_id: str) -> AbstractContextManager[None]:
        """The session's lock. `write`, `delete` and changes of the queue are called with it held.

        Raises:
            LockedError: somebody else has it for too long.
        """

    def write(self, session: Session, now: datetime) -> Session:
        """Store a session as it is now."""

    def delete(self, session_id: str) -> bool:
        """Remove a session and what was offloaded from it; returns whether it was stored."""

    def clear_temporary(self) -> None:
        """Remove what processes that died left behind."""

    # Offloaded contents

    def reference(self, session_id: str, text: str) -> str:
        """The reference that is in a message for a content; nothing is stored."""

    def offload(self, session_id: str, text: str) -> str:
        """Store a content; returns its reference."""

    def read_offloaded(self, reference: str) -> str:
        """An offloaded content.

        Raises:
            NotFoundError: it went with its session.
            UsageError: no such reference can be.
        """

    def offloaded(self, session_id: str) -> list[str]:
        """The references of all contents that were offloaded from a session."""

    def clear_offloaded(self, session_id: str) -> None:
        """Remove the contents that were offloaded from a session."""

    # The queue

    def queue_id(self, session_id: str, message_ids: Sequence[str], now: datetime) -> str:
        """An id for messages that are queued: in time order, within a second in the order of the calls."""

    def enqueue(self, queued: Queued) -> None:
        """Put messages into the queue, or replace what is there under the same id: durable when this returns."""

    def waiting(self, session_id: str = "") -> list[tuple[str, str]]:
        """What waits, oldest first: session and queue id; of one session or of all."""

    def is_waiting(self, session_id: str, queue_id: str) -> bool:
        """Whether the queue holds this."""

    def queued(self, session_id: str, queue_id: str) -> Queued | None:
        """What waits under an id; None where it is gone.

        Raises:
            InvalidDataError: it cannot be read.
        """

    def dequeue(self, session_id: str, queue_id: str) -> None:
        """Take out of the queue what was learned from."""
