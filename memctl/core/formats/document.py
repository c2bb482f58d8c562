"""`memory.json` as bytes: where each record stands, and how to change one without touching the others.

Untouched records keep their exact bytes, also when a person formatted them, because an edit is a splice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from memctl import distribution
from memctl.core.formats import codec
from memctl.core.formats.json_reader import JsonReader
from memctl.core.formats.strict_json import misplaced
from memctl.core.models import Memory
from memctl.errors import FormatVersionError, InvalidDataError

Array = tuple[int, int]
"""Where the `[` and the `]` of a list stand."""

FORMAT = "memctl/1"
FILE_NAME = "memory.json"
TOMBSTONES = "tombstones"

_BYTE_SPACE = b" \t\r\n"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class RawRecord:
    """One element of `memories`: its exact bytes, where they start, and what they mean, or why not (`problem`). One
    that was not `wanted` has neither."""

    raw: bytes
    start: int
    line: int
    memory: Memory | None
    problem: str = ""


@dataclass(frozen=True)
class Document:
    """A parsed `memory.json`: `header` is everything beside `memories`, whose `[` and `]` stand at `array`."""

    header: Mapping[str, Any]
    records: tuple[RawRecord, ...]
    array: tuple[int, int]

    @property
    def memories(self) -> dict[str, Memory]:
        """Readable records by id; of two with one id the first counts (doctor reports the other)."""
        memories: dict[str, Memory] = {}
        for record in self.records:
            if record.memory is not None:
                memories.setdefault(record.memory.memory_id, record.memory)
        return memories


@dataclass(frozen=True)
class Splice:
    """Replace the bytes [start, end) by `text`."""

    start: int
    end: int
    text: bytes


def empty(user_id: str, header: Mapping[str, Any] = MappingProxyType({})) -> bytes:
    """The `memory.json` of a user who has no memories; `header`: what stands beside them, if it is known."""
    fields = {"format": FORMAT, "user_id": user_id, **header, "memories": []}
    return (json.dumps(fields, ensure_ascii=False, indent=2) + "\n").encode()


MARKED = "holds git conflict markers, for git merged it by lines (`memctl git settle` merges it by records)"
MARKED_HINT = "Settle it with `memctl git settle`; `memctl git install` makes git merge by records from now on."

_BROKEN_HINT = "Mend the file by hand (nothing was changed), then run `memctl doctor`."


Take = Callable[[RawRecord, Any], None]
"""Is given each record, and the JSON value that it is."""

Wanted = Callable[[bytes], bool]
"""Whether a record is to be decoded, told by its bytes."""


def _every(raw: bytes) -> bool:
    return True


def parse(data: bytes, path: str = FILE_NAME, wanted: Wanted = _every) -> Document:
    """Read a whole `memory.json`.

    A record that is valid JSON but no valid memory is kept with its `problem`; everything else that is wrong makes
    the file unreadable, because nothing may be guessed about where the rest begins.

    Raises:
        InvalidDataError: with line and column.
        FormatVersionError: written by a newer memctl.
    """
    records: list[RawRecord] = []
    header, array = walk(data, lambda record, value: records.append(record), path, wanted)
    return Document(header, tuple(records), array)


def walk(data: bytes, take: Take, path: str = FILE_NAME, wanted: Wanted = _every) -> tuple[dict[str, Any], Array]:
    """As `parse`, giving one record after the other; returns what a document has beside them."""
    reader = JsonReader(_decode_text(data, path), path, _BROKEN_HINT)
    offsets = _Offsets(reader.text, data)
    if reader.skip() == "[":
        header: dict[str, Any] = {}
        array = _array(reader, offsets, take, wanted)
    else:
        header, array = _parse_object(reader, offsets, take, wanted)
    if reader.skip():
        raise reader.fail("unexpected text after the end of the document")
    _check_format(header, path)
    return header, array


def _array(reader: JsonReader, offsets: _Offsets, take: Take, wanted: Wanted) -> Array:
    reader.skip()
    start = offsets.byte_at(reader.at)
    for record, value in _records(reader, offsets, wanted):
        take(record, value)
    return start, offsets.byte_at(reader.at) - 1


def _decode_text(data: bytes, path: str) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        column = problem.start - (data.rfind(b"\n", 0, problem.start) + 1) + 1
        raise InvalidDataError(no_utf8(data), path=path, line=line, column=column, hint=_BROKEN_HINT) from None
    if line := conflict_line(text):
        raise InvalidDataError(MARKED, path=path, line=line, column=1, hint=MARKED_HINT)
    # A byte order mark is what some editors leave behind; as white space it keeps every offset.
    return " " + text[1:] if text.startswith("\ufeff") else text


def no_utf8(data: bytes) -> str:
    """What to say of text in another encoding; editors of Windows call UTF-16 "Unicode"."""
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "is UTF-16, and must be saved as UTF-8" if wide else "is not valid UTF-8"


def conflict_line(text: str) -> int:
    """The line of the first git conflict marker, 0 where there is none. (One pass: hostile files have many.)"""
    begun = 0
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return 0
    for number, ended in enumerate(text.split("\n"), 1):  # not `splitlines`: U+2028 may stand within a memory
        line = ended.rstrip("\r")
        if not begun and (line.startswith("<<<<<<< ") or line == "<<<<<<<"):
            begun = number
        elif begun and (line.startswith(">>>>>>> ") or line == ">>>>>>>"):
            return begun
    return 0


class _Offsets:
    """Byte offsets of growing character positions, counted once over the text."""

    def __init__(self, text: str, data: bytes) -> None:
        self.text, self.ascii = text, len(text) == len(data)
        self.bom = 2 if data.startswith(b"\xef\xbb\xbf") else 0
        self.char = self.byte = self.line_char = 0
        self.line = 1

    def byte_at(self, char: int) -> int:
        if self.ascii:
            return char
        self.byte += len(self.text[self.char : char].encode("utf-8"))
        self.char = char
        return self.byte + self.bom

    def line_at(self, char: int) -> int:
        self.line += self.text.count("\n", self.line_char, char)
        self.line_char = char
        return self.line


def _parse_object(reader: JsonReader, offsets: _Offsets, take: Take, wanted: Wanted) -> tuple[dict[str, Any], Array]:
    header: dict[str, Any] = {}
    array: Array | None = None
    if reader.skip() != "{":
        reason = "must hold an object or a list of records"
        odd = misplaced(reader.text, reader.at)
        raise reader.fail(f"{odd}; the file {reason}" if odd else reason if reader.skip() else f"is empty; it {reason}")
    for name in reader.members():
        if name in header or (name == "memories" and array is not None):
            raise reader.fail(f"the name {name!r} stands twice in one object")
        if name == "memories":
            if reader.skip() != "[":
                raise reader.fail("'memories' must be a list of records")
            array = _array(reader, offsets, take, wanted)
        else:
            start = reader.at
            header[name] = reader.value()
            if _has_lone_surrogate([name, header[name]]):
                raise reader.fail("holds a lone surrogate (half a character)", start)
    if array is None:
        raise reader.fail("has no 'memories'", 0, hint='A memory.json is {"memories": [...]}; see docs/file-format.md.')
    return header, array


def _records(reader: JsonReader, offsets: _Offsets, wanted: Wanted) -> Iterator[tuple[RawRecord, Any]]:
    for _ in reader.elements():
        reader.skip()
        start = reader.at
        value = reader.value()
        text = reader.text[start : reader.at]
        if _SURROGATE_ESCAPE.search(text) and _has_lone_surrogate(value):
            raise reader.fail("the record holds a lone surrogate (half a character)", start)
        raw, place = text.encode(), (offsets.byte_at(start), offsets.line_at(start))
        yield _raw_record(value, raw, *place) if wanted(raw) else RawRecord(raw, *place, None), value


def _has_lone_surrogate(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _raw_record(value: Any, raw: bytes, start: int, line: int) -> RawRecord:
    try:
        return RawRecord(raw, start, line, codec.decode(value))
    except codec.RecordError as problem:
        return RawRecord(raw, start, line, None, str(problem))


def id_of(record: RawRecord) -> str:
    """The id of a record, readable or not; empty where it has none."""
    if record.memory is not None:
        return record.memory.memory_id
    value = json.loads(record.raw)
    memory_id = value.get("memory_id") if isinstance(value, dict) else None
    return str(memory_id) if isinstance(memory_id, str | int) and not isinstance(memory_id, bool) else ""


def _check_format(header: Mapping[str, Any], path: str) -> None:
    form = header.get("format", FORMAT)
    if form != FORMAT:
        hint = f"{distribution.UPGRADE} This version reads memctl/1 and has changed nothing."
        raise FormatVersionError(f"has format {form!r}, which this memctl does not know", path=path, line=1, hint=hint)


def repeated(parsed: Document) -> set[str]:
    """Ids of several records that do not say the same; the first of them counts."""
    first: dict[str, bytes] = {}
    raws = [(record.memory.memory_id, record.raw) for record in parsed.records if record.memory]
    return {name for name, raw in raws if first.setdefault(name, raw) != raw}


def tombstones(header: Mapping[str, Any]) -> set[str]:
    """Ids of what was purged; anything but a list of texts is taken for none."""
    value = header.get(TOMBSTONES)
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()


def apply_splices(data: bytes, splices: Sequence[Splice]) -> bytes:
    """The data with all splices applied; they must not overlap."""
    parts: list[bytes | memoryview] = []
    at, whole = 0, memoryview(data)  # a slice of it copies nothing: the file is copied once, by `join`
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        parts += [whole[at : splice.start], splice.text]
        at = splice.end
    return b"".join([*parts, whole[at:]])


def insert_after(place: int, texts: Sequence[bytes]) -> Splice:
    """Insert records behind the one that ends at `place`."""
    return Splice(place, place, b"".join(b",\n    " + text for text in texts))


def insert_first(array_start: int, texts: Sequence[bytes]) -> Splice:
    """Insert records at the head of the array whose `[` stands at `array_start` and which keeps some records."""
    return Splice(array_start + 1, array_start + 1, b"\n    " + b",\n    ".join(texts) + b",")


def fill(array: tuple[int, int], texts: Sequence[bytes]) -> Splice:
    """Make these the only records of the array."""
    inside = b"\n    " + b",\n    ".join(texts) + b"\n  " if texts else b""
    return Splice(array[0] + 1, array[1], inside)


def cut(data: bytes, start: int, end: int) -> Splice:
    """Take out the record at [start, end) with the comma that belongs to it."""
    after = _skip_space(data, end)
    if data[after : after + 1] == b",":
        return Splice(start, _skip_space(data, after + 1), b"")
    before = _skip_space_back(data, start)
    if data[before - 1 : before] == b",":
        return Splice(before - 1, end, b"")
    return Splice(before, after, b"")


def _skip_space(data: bytes, at: int) -> int:
    while data[at : at + 1] and data[at] in _BYTE_SPACE:
        at += 1
    return at


def _skip_space_back(data: bytes, at: int) -> int:
    while at > 0 and data[at - 1] in _BYTE_SPACE:
        at -= 1
    return at


REMEMBERED, REMEMBERED_BYTES = 2_000, 4_096
"""So many records are kept decoded, of at most this size each: many questions have the same answers."""


def decode_raw(raw: bytes) -> Memory:
    """One record from its exact bytes, which were read as valid before.

    Raises:
        InvalidDataError: they are so no more: somebody has been at the log or the trash.
    """
    try:
        return _remembered(raw) if len(raw) <= REMEMBERED_BYTES else codec.decode(json.loads(raw))
    except (ValueError, RecursionError) as problem:
        hint = "Nothing was changed; `memctl doctor` looks through the files."
        raise InvalidDataError(f"a record that was kept is damaged: {problem}", hint=hint) from None


@lru_cache(REMEMBERED)
def _remembered(raw: bytes) -> Memory:
    return codec.decode(json.loads(raw))
