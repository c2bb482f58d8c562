"""A storage backend: one user's memories, texts, messages and sessions, and the one way in which they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, Self, TypeVar

from memctl.core.formats.document import RawRecord
from memctl.core.formats.trash import Trashed
from memctl.core.models import Change, IndexState
from memctl.core.operations import Operation
from memctl.core.receipts import Receipt
from memctl.core.records import IdMaker
from memctl.errors import MemctlError
from memctl.storage.ports.messages import Messages
from memctl.storage.ports.search import Search
from memctl.storage.ports.sessions import SessionStorage
from memctl.storage.ports.view import Decision, View

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how many are done, how many there are."""


@dataclass(frozen=True)
class SyncReport:
    """What a look at the truth brought into what is derived from it.

    Args:
        changed: entries added or changed; `removed`: entries taken out.
        notes: sentences on what is wrong with the truth; what is derived keeps the last good state of that.
        blocked: an error every write must raise, because the truth cannot be read.
        pending: entries without a vector, and why.
    """

    changed: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()
    blocked: MemctlError | None = None
    pending: int = 0
    pending_reason: str = ""

    @property
    def index_state(self) -> IndexState:
        if self.blocked:
            return IndexState("stale", self.notes)
        if self.pending:
            return IndexState(
                "pending", (*self.notes, f"{self.pending} entries have no vector yet: {self.pending_reason}")
            )
        return IndexState("fresh", self.notes)


class Receipts(Protocol):
    """Which memories each question was answered with: local truth, of this machine's user alone."""

    def write(self, query: str, ids: Sequence[str], used: Sequence[str], now: datetime) -> str:
        """Note an answer; returns the receipt, empty where nothing can be written (reading must still work)."""

    def read(self, *, strict: bool = False) -> Iterator[Receipt]:
        """All receipts, oldest first; each counts once.

        Args:
            strict: raise StorageError where they cannot be read, instead of taking them for none.
        """


@dataclass(frozen=True)
class Revision:
    """A state that version control keeps."""

    name: str
    at: datetime

    def __str__(self) -> str:
        return f"git {self.name[:7]}"


class Revisions(Protocol):
    """What version control knows of the memories. A storage without it knows nothing."""

    def head(self) -> Revision | None:
        """The newest state; None where there is none, or where version control may not be asked here."""

    def find(self, text: str) -> Revision | None:
        """The state that a text names.

        Raises:
            RefusedError: version control may not be asked here.
        """

    def last_before(self, moment: datetime) -> Revision | None:
        """The newest state of that moment."""

    def records(self, revision: Revision) -> tuple[dict[str, bytes], int]:
        """The exact records of a state by their ids, and how many cannot be read.

        Raises:
            NotFoundError: it does not hold this user's memories.
        """

    def texts(self, revision: Revision, names: tuple[str, ...]) -> dict[str, bytes | None]:
        """The texts below these names that are different now, as they were; None for one that was not there."""


class Storage(Protocol):
    """One user's storage."""

    @property
    def user(self) -> str: ...

    @property
    def root(self) -> Path | None:
        """The folder it is in; None where it is not in a folder."""

    @property
    def ids(self) -> IdMaker:
        """Makes ids of new memories."""

    @property
    def search(self) -> Search: ...

    @property
    def sessions(self) -> SessionStorage: ...

    @property
    def messages(self) -> Messages: ...

    @property
    def receipts(self) -> Receipts: ...

    @property
    def revisions(self) -> Revisions: ...

    # Changing

    def view(self) -> View:
        """The memories as they are now; without the lock, others may change them right after."""

    def apply(self, decide: Decision[T], now: datetime, *, tidy: bool = True) -> T:
        """Decide on a change under the lock and make it durable.

        Args:
            tidy: first make the change that is `due`.

        Returns:
            the value that was decided on with the change.

        Raises:
            LockedError, StorageError, InvalidDataError, RefusedError: nothing was changed.
        """

    def due(self, now: datetime) -> Change:
        """What the next change will do first: move what has expired to the trash, give new reflections records."""

    def locked(self) -> AbstractContextManager[None]:
        """With nobody else changing the memories."""

    # What is derived

    @property
    def report(self) -> SyncReport | None:
        """What the last look at the truth found; None before the first."""

    def refresh(self, *, vectors: bool = False) -> SyncReport:
        """Take in what others have changed; it never fails, the report says what is wrong.

        Args:
            vectors: also make missing vectors, a few of them where the model is slow.
        """

    def sync(
        self, *, deep: bool = False, allow_mass_change: bool = False, progress: Progress | None = None
    ) -> SyncReport:
        """As `refresh`, with all vectors.

        Args:
            deep: read everything again, whatever it looks like from outside.
            allow_mass_change: also where more than a quarter of the memories are gone.
        """

    def embed(self) -> SyncReport:
        """As `refresh`, with all vectors."""

    def reindex(self, progress: Progress | None = None) -> SyncReport:
        """Drop what is derived and make it again from the truth."""

    def model(self) -> str:
        """The identity of the model whose vectors are searched."""

    def healed(self, action: Callable[[], T]) -> T:
        """Do something; where what is derived turns out to be damaged, rebuild it and do it again."""

    def compact(self) -> int:
        """Give back unused space; returns the bytes freed."""

    def search_of(
        self, records: Mapping[str, bytes], *, vectors: bool = True
    ) -> AbstractContextManager[tuple[Search, str]]:
        """A search in other records than the present ones, and why it lacks vectors (empty where it has them)."""

    # What was

    def operations(self, memory_id: str = "") -> list[Operation]:
        """What was done, oldest first; to one memory, or to all."""

    @property
    def operations_trimmed(self) -> bool:
        """Whether there once were older operations than `operations` gives."""

    def trashed(self) -> list[Trashed]:
        """What lies in the trash, the newest first."""

    def unreadable(self) -> Mapping[str, RawRecord]:
        """The records that cannot be read, by their ids."""

    def unbelieved(self) -> str:
        """A sentence on what somebody else wrote, and is ignored; empty where there is nothing of the kind."""

    def another(self) -> Self:
        """The same storage once more, for another thread; whoever opens it closes it.

        Raises:
            StorageError: it cannot be opened again.
        """

    def close(self) -> None: ...
