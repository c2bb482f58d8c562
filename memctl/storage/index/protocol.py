"""What the rest of the program asks of an index, and the values that cross this border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memctl.core.models import Memory


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
        path: the file it stands in; `ref` names it there (a memory's id, a passage's hash; empty for a whole file).
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
class Found:
    """An entry as the index gives it back; the caller decodes `raw`."""

    rowid: int
    path: str
    ref: str
    raw: bytes
    line: int
    memory_id: str
    layer: str
    category: str
    problem: str = ""


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


@dataclass(frozen=True)
class Scored:
    """A row with the score of one signal: bm25 (unbounded, larger is better) or cosine (in [-1, 1])."""

    rowid: int
    score: float


@dataclass(frozen=True)
class Neighbours:
    """What stands right before and after an entry in its session; `asks`: whether the entry is a short question."""

    rowid: int
    asks: bool
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Said:
    """Where an entry comes from: its session, who said it, in seconds when, the file; `stands`: a lasting wish or
    instruction."""

    session: str
    speaker: str
    when: float | None
    stands: bool
    path: str = ""


Vector = Sequence[float]
