"""What conversations need of a storage. A folder implements it (`storage/folder/messages.py`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memctl.core.kept import KeptMessage, Paused
from memctl.core.models import Memory


@dataclass(frozen=True)
class Run:
    """A run of a session at a glance: its first and last message, how many there are, and their size in bytes."""

    run: str
    session: str
    first: datetime | None
    last: datetime | None
    messages: int
    size: int


@dataclass(frozen=True, order=True)
class Place:
    """Where a message stands: the run, and a number or name that grows along the run."""

    run: str
    order: tuple[str, int]


@dataclass(frozen=True)
class Version:
    """What a message says in one place."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Differing:
    """A message that says different things in different places, after a merge. The last version is in answers."""

    message_id: str
    versions: tuple[Version, ...]


class Messages(Protocol):
    """The messages of one user.

    A message at a *glance* is a memory of layer MSG, as a question finds it: without its large texts, a long one by
    each of its passages. What was deleted is nowhere but in `mentioned`, until an undo brings it back.
    """

    # Writing

    def append(self, messages: Sequence[KeptMessage], now: datetime) -> None:
        """Add messages: durable when this returns, and found by the next question.

        Raises:
            LockedError, StorageError: none of them was added.
        """

    def delete(self, message_ids: Sequence[str], now: datetime, command: str) -> list[str]:
        """Delete messages, as one operation that `undo` takes back; returns those that were there."""

    def finish_deletions(self, before: datetime, *, dry_run: bool = False) -> tuple[int, int]:
        """Remove for good what was deleted by then; returns how many messages and large texts."""

    # Reading

    def refresh(self) -> None:
        """Take in what others have written."""

    def glances(self) -> Iterable[Memory]:
        """All messages at a glance, in the order in which they were received."""

    def glance(self, message_id: str) -> Memory | None:
        """A message at a glance; None where it is not known."""

    def whole(self, message_id: str) -> KeptMessage | None:
        """A message with its large texts in full; None where it is not known."""

    def run(self, run: str) -> list[KeptMessage]:
        """The messages of a run, in order, without their large texts."""

    def newest(self, run: str, window: Sequence[str], most: int) -> list[KeptMessage]:
        """The newest messages of a run behind the last that is in the window, whole and in order, at most so many;
        those too that another process added just now."""

    def runs(self, session: str = "") -> list[Run]:
        """The runs of one session, or of all, the oldest first."""

    def place(self, message_id: str) -> Place | None:
        """Where a message stands; None where it is not known."""

    def mentioned(self, message_ids: Sequence[str]) -> set[str]:
        """Those of some ids that were ever used, by a deleted message too."""

    def differing(self) -> list[Differing]:
        """The messages that say different things in different places."""

    def of_logs(self, names: Sequence[str], message_ids: Collection[str]) -> list[KeptMessage]:
        """Those of some messages that are in these transcripts, deleted ones too."""

    def starting(self, beginning: str) -> list[str]:
        """Some ids that begin so."""

    def size(self) -> int:
        """Of everything that is kept, in bytes."""

    # What the user of this machine decided

    def privacy(self) -> str:
        """Whether others may get the messages with the rest."""

    def paused(self) -> Paused:
        """What is not kept for now."""

    def pause(self, paused: Paused) -> None:
        """Decide what is not kept from now on."""

    def notice(self) -> tuple[float, datetime] | None:
        """Which retention, in days, was announced last, and when."""

    def announce(self, days: float, at: datetime) -> None:
        """Note that a retention was announced."""
