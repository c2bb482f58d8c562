"""What a decision sees: one user's memories on disk, read through the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from memctl.core import records
from memctl.core.formats import codec, document, knowledge, reflections, transcript_lines, trash
from memctl.core.models import MEMORIES, Filters, LogLine, Memory, Reflection
from memctl.core.names import FEEDBACK
from memctl.core.records import IdMaker
from memctl.errors import NotFoundError
from memctl.storage.entries.rows import Row
from memctl.storage.files import local_state, opening, replay
from memctl.storage.files.layout import PRIVATE, UserFolder, path_of
from memctl.storage.index.sqlite import SqliteIndex
from memctl.storage.ports.search import Search
from memctl.storage.ports.view import Counts, StoredDocument


@dataclass(frozen=True)
class FolderView:
    """The port `View` over a user's folder, read through the index."""

    index: SqliteIndex
    folder: UserFolder
    ids: IdMaker
    given: dict[str, str] = field(default_factory=dict)
    """The last id issued in each second, whatever happened to its memory."""

    def new_id(self, created: datetime) -> str:
        return self._free(self.ids(created, datetime.now(UTC)), {})

    def unused(self, memories: Sequence[Memory]) -> list[Memory]:
        last: dict[str, str | None] = {}
        return [replace(memory, memory_id=self._free(memory.memory_id, last)) for memory in memories]

    def _free(self, drawn: str, last: dict[str, str | None]) -> str:
        """The id, or the next free one after those of its second, which `last` caches."""
        return records.free_id(drawn, last, self.given, self.index.records.last_id, self._is_taken)

    def _is_taken(self, memory_id: str) -> bool:
        in_trash = self.folder.root / path_of(trash.name_of(memory_id))
        return memory_id in self.tombstones or in_trash.exists()

    @cached_property
    def tombstones(self) -> set[str]:
        return document.tombstones(self.header)

    @property
    def search(self) -> Search:
        return self.index

    def get(self, memory_id: str) -> Memory | None:
        raw = self.raws([memory_id]).get(memory_id)
        return None if raw is None else document.decode_raw(raw)

    def need(self, memory_id: str) -> Memory:
        if memory := self.get(memory_id):
            return memory
        raise NotFoundError(f"no memory {memory_id!r}")

    def raws(self, memory_ids: Sequence[str] | None = None) -> dict[str, bytes]:
        if memory_ids is None:
            return {row.ref: row.raw for row in self.index.records.every()}
        return self.index.records.raws(memory_ids)

    def raw_records(self) -> Iterator[tuple[str, bytes]]:
        return self.index.records.every_raw()

    def is_message(self, message_id: str) -> bool:
        return bool(self.index.message(message_id))

    def matching(self, filters: Filters, now: datetime) -> Iterator[Memory]:
        rows = self.index.matching(replace(filters, only=MEMORIES), now)
        return (row.memory for row in rows if row.is_record)

    def all(self) -> Iterator[Memory]:
        return (row.memory for row in self.index.records.every())

    def same_text(self, content: str) -> list[Memory]:
        return [row.memory for row in self.index.records.by_text(codec.text_hash(content))]

    def with_key(self, category: str, key: str) -> list[Memory]:
        return [row.memory for row in self.index.records.by_key(category, key)]

    def imported(self, external_id: str) -> list[Memory]:
        return [row.memory for row in self.index.records.by_external(external_id)]

    def expect(self, memories: Sequence[Memory]) -> None:
        """Does nothing: each lookup takes microseconds."""

    def pinned(self, limit: int, now: datetime) -> list[Memory]:
        return [row.memory for row in self.index.records.pinned(limit, now)]

    def tagged(self, tag: str, limit: int, now: datetime) -> list[Memory]:
        return [row.memory for row in self.index.records.tagged(tag, limit, now)]

    def profile(self, least_confidence: float, limit: int, now: datetime) -> list[Memory]:
        return [row.memory for row in self.index.records.profile(least_confidence, limit, now)]

    def categories(self) -> set[str]:
        return self.index.records.categories()

    def kinds(self) -> set[str]:
        return self.index.records.kinds()

    def tag_counts(self) -> Mapping[str, int]:
        return self.index.records.tag_counts()

    def counts(self) -> Counts:
        return self.index.records.counts()

    def naming(self, ids: Iterable[str]) -> list[Memory]:
        return [row.memory for row in self.index.records.naming(ids)]

    def texts(self, below: tuple[str, ...]) -> list[str]:
        known = [path for path in self.index.files() if path != document.FILE_NAME]
        log = [FEEDBACK] if self.folder.feedback_log.exists() else []
        return [name for name in (*known, *log) if name.startswith(below)]

    def documents(self) -> list[StoredDocument]:
        counts = self.index.documents()
        states = sorted(self.index.files().items())
        return [
            StoredDocument(path, state.size, counts.get(path, 0), state.problem)
            for path, state in states
            if knowledge.is_document(path)
        ]

    def is_regular(self, name: str) -> bool:
        path = self.folder.root / name
        return path.is_file() and not path.is_symlink()

    def deletions(self, message_ids: Iterable[str], now: datetime) -> tuple[LogLine, ...]:
        rows = {message_id: self.index.message(message_id) for message_id in message_ids}
        return tuple(
            LogLine(path, transcript_lines.deletion(message_id, now))
            for message_id, parts in rows.items()
            for path in dict.fromkeys(row.path for row in parts)
        )

    def ids_starting(self, beginning: str, limit: int) -> list[str]:
        return self.index.records.ids_starting(beginning, limit)

    def ids_ending(self, ending: str, limit: int) -> list[str]:
        return self.index.records.ids_ending(ending, limit)

    def newest_ids(self, beginning: str, limit: int, *, end: int = 0) -> list[str]:
        return self.index.records.newest_ids(beginning, limit, end=end)

    def ids_around(self, ids: Iterable[str], length: int) -> list[str]:
        return self.index.records.ids_around(ids, length)

    def referring(self, name: str) -> set[str]:
        return self.index.records.referring(name)

    def orphans(self) -> list[Reflection]:
        return [reflections.parse(row.raw, row.path) for row in self.index.records.orphans()]

    def expired(self, now: datetime) -> list[Memory]:
        return [row.memory for row in self.index.records.expired(now)]

    def repeated(self) -> set[str]:
        state = self.index.files().get(document.FILE_NAME)
        if state is None or not state.problem:
            return set()
        return document.repeated(document.parse(self.read(document.FILE_NAME) or b""))

    def misnamed(self) -> list[Row]:
        return self.index.records.misnamed()

    def read(self, name: str) -> bytes | None:
        """See the port; memctl's own files only if this machine's user wrote them."""
        path = path_of(name)
        data = opening.read(self.folder.resolve(path), self.folder.root)
        return data if not path.startswith(PRIVATE) or local_state.is_own(self.folder, path, data) else None

    def has_line(self, line: LogLine) -> bool:
        return replay.has_line(self.folder, line)

    def reflection(self, name: str) -> Reflection | None:
        data = self.read(name)
        return None if data is None else reflections.parse(data, name)

    @property
    def header(self) -> Mapping[str, Any]:
        return self.index.header()
