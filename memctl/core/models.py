"""The values the program passes around: frozen, without behaviour beyond what derives from their own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memctl.core import kinds
from memctl.core.kinds import KINDS as KINDS

CATEGORIES = ("work", "life", "preference", "emotion", "strategy")
STATUSES = ("active", "candidate", "superseded", "archived")

ACTIVE, CANDIDATE, SUPERSEDED, ARCHIVED = STATUSES

LAYER_RECORD = "L2"
LAYER_REFLECTION = "L3"
LAYERS = (LAYER_RECORD, LAYER_REFLECTION)
"""The layers of records; one with another text is treated as `L2`."""

LAYER_DOCUMENT = "DOC"
"""A passage of a document below `knowledge/`: no record, and in no file of memctl's."""

LAYER_MESSAGE = "MSG"
"""A message of a transcript, or a passage of a long one: no record either."""

MEMORIES, MESSAGES, DOCUMENTS = PARTS = ("memories", "messages", "documents")
"""What an answer may hold."""

CONSTRAINT = "constraint"
"""The tag of a memory that holds whatever is asked."""


@dataclass(frozen=True, slots=True)  # with more than thirty fields, a dictionary of its own would take 1.5 kB
class Memory:
    """One structured long-term memory (an L2 record), or a reflection that has no record yet (L3).

    `docs/file-format.md` specifies each field. Numbers: `confidence` and `importance` in [0, 1], `reward` in [-1, 1];
    `importance` is the base value, never the decayed one. `extra` holds fields memctl does not know and gives back
    unchanged.
    """

    memory_id: str
    content: str
    layer: str = LAYER_RECORD
    kind: str = kinds.DEFAULT
    category: str = "life"
    subcategory: str = ""
    tags: tuple[str, ...] = ()
    key: str = ""
    value: Any = None
    confidence: float = 0.8
    importance: float = 0.5
    reward: float = 0.0
    source: str = "user"
    created_at: datetime | None = None
    updated_at: datetime | None = None
    occurred_at: datetime | None = None
    imported_at: datetime | None = None
    expires_at: datetime | None = None
    last_accessed_at: datetime | None = None
    access_count: int = 0
    mentions: int = 1
    pinned: bool = False
    status: str = ACTIVE
    archived_at: datetime | None = None
    archived_reason: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    conflicts_with: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    sources: tuple[str, ...] = ()
    needs_revision: bool = False
    summary_md_ref: str = ""
    session_id: str = ""
    external_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def when(self) -> datetime | None:
        """The time the memory is about: when it happened, else when it was written."""
        return self.occurred_at or self.created_at

    @property
    def known_kind(self) -> str:
        """The kind that rules go by: a person may write any text as `kind`."""
        return kinds.kind(self.kind).name

    @property
    def title(self) -> str:
        """The first line of the content, for lists."""
        return self.content.strip().split("\n", 1)[0]


@dataclass(frozen=True)
class Reflection:
    """A Markdown file below `reflections/` (L3).

    `path` is relative to the user's folder; `generated_hash` is the hash of the body memctl last wrote there, empty
    in a file a person wrote; `fields` is the whole front matter, unknown fields included, `front` its text.
    """

    path: str
    body: str
    memory_id: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    generated_hash: str = ""
    front: str = ""

    @property
    def title(self) -> str:
        """The first heading, else the file's name."""
        for line in self.body.splitlines():
            if line.startswith("#") and line.lstrip("#").strip():
                return line.lstrip("#").strip()
        return self.path.rsplit("/", 1)[-1].removesuffix(".md")


@dataclass(frozen=True)
class Filters:
    """What a search or a list may return. Empty means no restriction."""

    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    statuses: tuple[str, ...] = (ACTIVE,)
    since: datetime | None = None
    until: datetime | None = None
    pinned: bool | None = None
    needs_revision: bool | None = None
    expired: bool = False
    """Whether what has expired, and waits for the next write to be moved to the trash, is shown too."""
    as_of: datetime | None = None
    """Only what was believed at this time, whatever has become of it since: recorded by then, and neither superseded,
    archived, expired nor past its `valid_to`. `statuses` does not count then."""
    valid_at: datetime | None = None
    """Only what was so at this time, as is known now (with `as_of`: as was known then). What another has replaced
    counts for the time in which it was valid."""
    only: str = ""
    """One of `PARTS`: memories, messages or passages of documents alone; empty: all, as far as the other filters let
    them through."""


@dataclass(frozen=True)
class Query:
    """A question to the store.

    Args:
        text: the question as asked; any text is legal.
        top: how many hits at most.
        min_score: hits whose `relevance` (absolute, in [0, 1]) is below are left out.
        route: whether intent and domain of the question may narrow the search.
        rerank: the reranker that reads the best hits, by its name in the settings; empty for the one that is set there,
            `none` for none.
    """

    text: str
    top: int = 10
    filters: Filters = Filters()
    min_score: float = 0.0
    route: bool = True
    rerank: str = ""


@dataclass(frozen=True)
class Route:
    """What the question's wording says about where to look."""

    intent: str = "ask"
    categories: tuple[str, ...] = ()
    layers: tuple[str, ...] = (LAYER_RECORD, LAYER_REFLECTION)
    cues: tuple[str, ...] = ()
    present: bool = False
    widened: bool = False


@dataclass(frozen=True)
class Owned:
    """A record and whose it is; `owner` is empty for one's own."""

    memory: Memory
    owner: str = ""

    @property
    def name(self) -> str:
        """Its id, with the name of another owner before it."""
        return f"{self.owner}/{self.memory.memory_id}" if self.owner else self.memory.memory_id


@dataclass(frozen=True)
class Hit:
    """One answer.

    `score` orders the hits of one question and equals the sum of `parts`; `relevance` is absolute and comparable
    between questions. Both lie in [0, 1]. `via` names the reflection or document that matched, when it was not the
    record's own text. `owner` is the user whose memory it is, where another user asked.
    """

    memory: Memory
    score: float
    relevance: float
    parts: Mapping[str, float]
    via: str = ""
    matched: tuple[str, ...] = ()
    owner: str = ""


@dataclass(frozen=True)
class IndexState:
    """How far the index is the files: `fresh`, `pending` (something is not in it yet) or `stale` (files unreadable)."""

    state: str = "fresh"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reranking:
    """What a reranker did for an answer, and what it cost: how many hits it read, and in how many milliseconds."""

    model: str
    candidates: int
    milliseconds: float


@dataclass(frozen=True)
class QueryResult:
    """The answer to a `Query`: hits best first, and everything that says how far to trust them.

    `degraded` lists, in sentences, what made the answer worse than it should be; empty when nothing did.
    """

    query: Query
    hits: tuple[Hit, ...]
    route: Route
    index: IndexState
    receipt: str = ""
    degraded: tuple[str, ...] = ()
    origin: str = ""
    """Where the answer of another time comes from: `the records`, `git abc1234`, `the log`; empty for the present."""
    reranked: Reranking | None = None
    """None where no reranker had a say."""


TRASH, COUNTED = "trash/", "counted"
"""How the names of texts begin that are forgotten memories, and the name of the mark up to which uses were counted."""


@dataclass(frozen=True)
class TextEdit:
    """A text beside the records, before and after a change; None where there is none.

    Args:
        name: `reflections/…` and `knowledge/…` as users know them, `trash/…` of a forgotten memory (`trash.name_of`),
            or `COUNTED`.
    """

    name: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class LogLine:
    """One line of an append-only log (`feedback.jsonl`, `transcripts/…`) to add at its end, or to take out (`undo`).

    `line` has no line end; it holds an id of its own, so that it is in the log once.
    """

    log: str
    line: bytes
    added: bool = True


@dataclass(frozen=True)
class Change:
    """Everything one command does to what is stored: the only thing `engine.apply` accepts.

    Args:
        command: what the user did, for the log (`add`, `edit mem_…`).
        puts: records to add, or to replace by id.
        removes: ids of records to take out of `memory.json`.
        texts: other texts to write or delete.
        lines: lines of logs to add or to take out.
        header: top-level fields of `memory.json` to set (`tombstones`, `conflicts`).
        undoes: id of the operation this one takes back; `redoes`: id of the undo that this one takes back.
        raws: exact JSON of records put, by id, where it must not be written again (undo gives back a person's layout).
    """

    command: str
    puts: tuple[Memory, ...] = ()
    removes: tuple[str, ...] = ()
    texts: tuple[TextEdit, ...] = ()
    lines: tuple[LogLine, ...] = ()
    header: Mapping[str, Any] | None = None
    undoes: str = ""
    redoes: str = ""
    raws: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not (self.puts or self.removes or self.texts or self.lines or self.header is not None)


@dataclass(frozen=True)
class Problem:
    """Something wrong in a file that memctl can go on without.

    `fix` says what `doctor --fix` would do about it; empty when only a person can.
    """

    path: str
    message: str
    line: int = 0
    fix: str = ""
    code: str = ""
    column: int = 0

    def __str__(self) -> str:
        place = ":".join([self.path, *(str(number) for number in (self.line, self.column) if number)])
        return f"{place}: {self.message}"
