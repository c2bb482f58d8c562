"""What a decision sees: one user's memories as they are on disk, by way of the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from memctl.core import records
from memctl.core.formats import codec, document, reflections
from memctl.core.models import Memory, Reflection
from memctl.core.records import IdMaker
from memctl.errors import NotFoundError
from memctl.storage.files import atomic, local_state, trash
from memctl.storage.files.layout import PRIVATE, UserFolder, path_of
from memctl.storage.folder.entries import memory_of
from memctl.storage.index.sqlite import SqliteIndex


@dataclass(frozen=True)
class View:
    """The user's memories as they are on disk right now; a decision may rely on it, because the lock is held."""

    index: SqliteIndex
    folder: UserFolder
    ids: IdMaker
    given: dict[str, str] = field(default_factory=dict)
    """The last id given out in each second, whatever became of its memory."""

    def new_id(self, created: datetime) -> str:
        """An id that no memory has, in time order."""
        return self._free(self.ids(created, datetime.now(UTC)), {})

    def unused(self, memories: Sequence[Memory]) -> list[Memory]:
        """New memories, under other ids where others were written in the same second meanwhile: ids tell the order."""
        last: dict[str, str | None] = {}
        return [replace(memory, memory_id=self._free(memory.memory_id, last)) for memory in memories]

    def _free(self, drawn: str, last: dict[str, str | None]) -> str:
        """The id, or the next one behind those of its second; `last` remembers these by the second."""
        low, high = records.same_second(drawn)
        known = last[low] if low in last else self.index.last_id(low, high)
        known = max(known or "", self.given.get(low, ""))  # one that was forgotten or undone since counts too
        free = drawn if known < drawn else records.next_id(known)
        while free in self.tombstones or (self.folder.root / path_of(trash.name_of(free))).exists():
            free = records.next_id(free)  # what was purged stays purged, what was forgotten can be brought back
        last[low] = free
        self.given[low] = free
        return free

    @cached_property
    def tombstones(self) -> set[str]:
        """Ids of what was purged."""
        return document.tombstones(self.header)

    def get(self, memory_id: str) -> Memory | None:
        """The record with this id."""
        found = self.index.raws(document.FILE_NAME, [memory_id])
        return document.decode_raw(found[memory_id]) if found else None

    def need(self, memory_id: str) -> Memory:
        """The record with this id.

        Raises:
            NotFoundError: there is none.
        """
        if memory := self.get(memory_id):
            return memory
        raise NotFoundError(f"no memory {memory_id!r}")

    def is_message(self, message_id: str) -> bool:
        """Whether a message with this id is kept on this machine."""
        return bool(self.index.messages(message_id))

    def all(self) -> Iterator[Memory]:
        """Every record, in time order."""
        return (memory_of(entry) for entry in self.index.records())

    def same_text(self, content: str) -> list[Memory]:
        """Records with exactly these words."""
        return [memory_of(entry) for entry in self.index.by_text(codec.text_hash(content))]

    def with_key(self, category: str, key: str) -> list[Memory]:
        """All records of one key/value fact, oldest first."""
        return [memory_of(entry) for entry in self.index.by_key(category, key)]

    def imported(self, external_id: str) -> list[Memory]:
        """Records that came from elsewhere under this id."""
        return [memory_of(entry) for entry in self.index.by_external(external_id)]

    def referring(self, path: str) -> set[str]:
        """Ids of the records that refer to a reflection."""
        return self.index.referring(path)

    def orphans(self) -> list[Reflection]:
        """Reflections that no record refers to or is named by."""
        return [reflections.parse(found.raw, found.path) for found in self.index.orphans()]

    def read(self, name: str) -> bytes | None:
        """A text, None where there is none; of memctl's own files, only what this machine's user wrote."""
        path = path_of(name)
        data = atomic.read(self.folder.resolve(path), self.folder.root)
        return data if not path.startswith(PRIVATE) or local_state.is_own(self.folder, path, data) else None

    def reflection(self, path: str) -> Reflection | None:
        data = self.read(path)
        return None if data is None else reflections.parse(data, path)

    @property
    def header(self) -> Mapping[str, Any]:
        return self.index.header()
