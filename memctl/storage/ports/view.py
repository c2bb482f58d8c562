"""What a decision sees of one user's memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from memctl.core.models import Change, Filters, LogLine, Memory, Reflection
from memctl.storage.ports.search import Search


@dataclass(frozen=True)
class StoredDocument:
    """A document.

    Args:
        size: in bytes.
        passages: how many it has.
        problem: why it is not read, or not read again; empty where it is.
    """

    name: str
    size: int
    passages: int
    problem: str


class View(Protocol):
    """One user's memories and texts at one moment. Under the lock a decision may rely on it; without, others may change
    them right after."""

    @property
    def search(self) -> Search:
        """The same memories, for searching."""

    # Memories

    def get(self, memory_id: str) -> Memory | None:
        """The memory with this id."""

    def need(self, memory_id: str) -> Memory:
        """The memory with this id.

        Raises:
            NotFoundError: there is none.
        """

    def all(self) -> Iterator[Memory]:
        """Every memory, in time order."""

    def matching(self, filters: Filters, now: datetime) -> Iterator[Memory]:
        """The memories that pass the filters, in the order in which they came."""

    def same_text(self, content: str) -> list[Memory]:
        """Memories with exactly these words."""

    def with_key(self, category: str, key: str) -> list[Memory]:
        """All memories of one key/value fact, oldest first."""

    def imported(self, external_id: str) -> list[Memory]:
        """Memories that came from elsewhere under this id."""

    def pinned(self, limit: int, now: datetime) -> list[Memory]:
        """Active pinned memories, the most important first."""

    def tagged(self, tag: str, limit: int, now: datetime) -> list[Memory]:
        """Active memories with a tag, the most important first."""

    def profile(self, least_confidence: float, limit: int, now: datetime) -> list[Memory]:
        """Active facts and preferences of at least this confidence: preferences first, the new before the old."""

    def categories(self) -> set[str]:
        """The categories that memories have."""

    def kinds(self) -> set[str]:
        """The kinds that memories have."""

    def tag_counts(self) -> Mapping[str, int]:
        """How many memories have each tag."""

    def raws(self, memory_ids: Sequence[str] | None = None) -> dict[str, bytes]:
        """The exact bytes of the records with these ids, or of all: what is stored, with unknown fields."""

    @property
    def tombstones(self) -> AbstractSet[str]:
        """Ids of what was purged."""

    @property
    def header(self) -> Mapping[str, Any]:
        """What is stored beside the memories: open conflicts, tombstones, fields that memctl does not know."""

    def ids_starting(self, beginning: str, limit: int) -> list[str]:
        """Ids that begin so."""

    def ids_ending(self, ending: str, limit: int) -> list[str]:
        """Ids that end so."""

    def newest_ids(self, beginning: str, limit: int, *, end: int = 0) -> list[str]:
        """The last ids, in falling order, that begin so; with `end` those whose last so many characters do."""

    def ids_around(self, ids: Iterable[str], length: int) -> list[str]:
        """Ids that end, or begin, with as many last characters of one of these."""

    # New ids

    def new_id(self, created: datetime) -> str:
        """An id that no memory has or had, in time order."""

    def unused(self, memories: Sequence[Memory]) -> list[Memory]:
        """New memories, under other ids where others were written in the same second meanwhile: ids tell the order."""

    # Messages and texts

    def has_line(self, line: LogLine) -> bool:
        """Whether a log or transcript holds a line."""

    def is_message(self, message_id: str) -> bool:
        """Whether a message with this id is kept."""

    def deletions(self, message_ids: Iterable[str], now: datetime) -> tuple[LogLine, ...]:
        """The lines that delete messages; nothing for one that is not known."""

    def texts(self, below: tuple[str, ...]) -> list[str]:
        """The names of the texts that begin with one of these."""

    def documents(self) -> list[StoredDocument]:
        """All documents, by name."""

    def is_regular(self, name: str) -> bool:
        """Whether a text is a file of its own: what `undo` could bring back."""

    def read(self, name: str) -> bytes | None:
        """A text (a reflection, a document, something in the trash), None where there is none."""

    def reflection(self, name: str) -> Reflection | None:
        """A reflection, None where there is none.

        Raises:
            InvalidDataError: it cannot be read.
        """

    def referring(self, name: str) -> set[str]:
        """Ids of the memories that refer to a reflection."""

    def orphans(self) -> list[Reflection]:
        """Reflections that no memory refers to or is named by."""


T = TypeVar("T")
Decision = Callable[[View], tuple[Change, T]]
"""Makes a change of what it sees, and a value for the caller; may be called again, when another change came between."""
