"""The values that go into the index and come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memctl.core.formats.document import FILE_NAME
from memctl.core.models import DOCUMENTS, MESSAGES, Memory
from memctl.storage.index import decoding


@dataclass(frozen=True)
class FileState:
    """What is known of a file without opening it, and the hash of its content where that was read."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    hash: str = ""
    seen_ns: int = 0
    problem: str = ""
    readable: bool = True

    @property
    def stamp(self) -> tuple[int, int, int, int]:
        """Equal stamps mean the same file, unless it was touched within the clock's grain."""
        return (self.size, self.mtime_ns, self.ctime_ns, self.inode)


@dataclass(frozen=True)
class Entry:
    """One thing that can be found.

    Args:
        path: the file it is in; `ref` names it there (a memory's id, a passage's hash; empty for a whole file).
        hash: of `raw`, its exact bytes in the file.
        memory: the record it is, or belongs to; None where the record cannot be read (`problem` says why).
        text: what to search in.
        dated: its date in words, which full text knows beside that; a vector would be moved by it.
        memory_id: the record an answer should show; empty for a reflection that has none yet.
    """

    path: str
    ref: str
    hash: str
    raw: bytes
    line: int
    memory: Memory | None
    text: str = ""
    memory_id: str = ""
    text_hash: str = ""
    problem: str = ""
    dated: str = ""


@dataclass(frozen=True)
class Row:
    """An entry as the index gives it back; the port's `Match`."""

    key: int
    path: str
    ref: str
    raw: bytes
    line: int
    memory_id: str
    layer: str
    category: str
    problem: str = ""

    @property
    def part(self) -> str:
        return decoding.part_of(self.path)

    @property
    def is_record(self) -> bool:
        return self.path == FILE_NAME

    @property
    def text_name(self) -> str:
        return "" if self.is_record or self.part == MESSAGES else self.path

    @property
    def passage(self) -> str:
        if self.part == MESSAGES:
            return self.ref if decoding.PASSAGE_MARK in self.ref else ""
        return decoding.passage_id(self.path, self.line) if self.part == DOCUMENTS else ""

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", "replace")

    @property
    def memory(self) -> Memory:  # not kept: whoever goes through all rows would hold every memory at once
        return decoding.memory_of(self.path, self.raw, self.line)


@dataclass(frozen=True)
class FileUpdate:
    """What became of one file: its new state (None: it is gone), entries new or changed, and refs that went.

    `lines` says where entries that are the same stand now, by ref, where that changed.

    `base` is the state this was worked out against: where the index has another by now, the update is dropped, because
    somebody else has looked at the file since (the next sync looks again). `header` is what stands beside the records
    of `memory.json`, where that changed. `logged` is the newest operation of the log whose effect this is known to
    hold, where it is known.
    """

    path: str
    base: FileState | None
    state: FileState | None
    entries: Sequence[Entry] = ()
    removed: Sequence[str] = ()
    header: Mapping[str, object] | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    logged: str = ""
