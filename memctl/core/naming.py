"""Whether something in a user's files names one of some memories: by whole ids, in the fields that hold ids.

An id may be any text: `1`, `tea`, the beginning of another id. So in free text only an id counts that can be nothing
else, one that memctl has made or a UUID, and only as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from dataclasses import replace
from functools import lru_cache
from typing import Any

from memctl.core.formats import reflections
from memctl.core.models import Memory
from memctl.errors import InvalidDataError

Ids = Set[str]

LISTS = ("supersedes", "conflicts_with", "sources")
MARKS = ("consolidated_into", "skill_in")
USED = "memories_used"
"""What holds other ids: of a record, lists beside `superseded_by`; in its metadata, marks and a list."""

_UNMISTAKABLE = re.compile(
    r"(?<![A-Za-z0-9_-])(?<!\w\.)"
    r"(?:mem_\d{8}_[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?![A-Za-z0-9_-])(?!\.(?!(?:md|json)\b)\w)"
)
_FIELDS = ("memory_id", "memory_ids", "ids", "used", "shown", "superseded_by", USED, *LISTS, *MARKS)
_TEXT = r'"(?:[^"\\]|\\.)*"'
_FIELD = re.compile(rf'"(?:{"|".join(_FIELDS)})"\s*:\s*(\[[^\]]*|{_TEXT}|\d+)')
_ITEM = re.compile(rf"{_TEXT}|\d+")
_FRONT = re.compile(r"^(?:memory_id|sources):(.*(?:\n[ \t]*- .*)*)", re.MULTILINE)


_FEW = 16


def may_be_in(raw: bytes, ids: Ids) -> bool:
    """A quick look whether JSON names one of the ids, or JSON within it; a no is certain."""
    spelled = _spelled(frozenset(ids))
    return not spelled or b"\\u" in raw or b"\\/" in raw or any(each in raw for each in spelled)


@lru_cache(8)
def _spelled(ids: frozenset[str]) -> tuple[bytes, ...]:
    """The ids as they stand in JSON without an escape; none where there are many, or one needs an escape."""
    plain = all(json.dumps(each, ensure_ascii=False) == f'"{each}"' for each in ids)
    return tuple(each.encode("utf-8", "surrogatepass") for each in ids) if plain and len(ids) <= _FEW else ()


def in_text(text: str, ids: Ids) -> bool:
    """Whether free text names one of the ids."""
    return not ids.isdisjoint(_UNMISTAKABLE.findall(text))


def in_broken_json(text: str, ids: Ids) -> bool:
    """Whether a field that holds ids holds one of them, in text that need not be valid JSON, or in JSON within it."""
    texts = (text, text.replace('\\"', '"')) if '\\"' in text else (text,)
    return any(_item(item) in ids for each in texts for field in _FIELD.findall(each) for item in _ITEM.findall(field))


def _item(literal: str) -> str:
    if "\\" not in literal:
        return literal.strip('"')
    try:
        return str(json.loads(literal))
    except ValueError:
        return literal[1:-1]


def listed(value: Any) -> tuple[str, ...]:
    """The ids in a field that holds one, or a list of them; numbers are read as text."""
    items = value if isinstance(value, list | tuple) else (value,)
    return tuple(str(item) for item in items if isinstance(item, str | int) and not isinstance(item, bool))


def in_record(record: Mapping[str, Any], ids: Ids) -> bool:
    """Whether a record, as JSON, has one of the ids or refers to one."""
    metadata = record.get("metadata")
    about = metadata if isinstance(metadata, Mapping) else {}
    fields = [record.get(name) for name in ("memory_id", "superseded_by", *LISTS)]
    return any(not ids.isdisjoint(listed(each)) for each in (*fields, *(about.get(name) for name in (*MARKS, USED))))


def in_version(version: Any, ids: Ids) -> bool:
    """Whether a record's version in the operation log, which is its text, names one of the ids."""
    try:
        record = json.loads(version)
    except (ValueError, TypeError, RecursionError):
        return in_broken_json(str(version), ids)
    return isinstance(record, Mapping) and in_record(record, ids)


def in_conflict(entry: Any, ids: Ids) -> bool:
    """Whether a merge's open conflict is about one of the memories, or about a reference to one."""
    if not isinstance(entry, Mapping):
        return in_text(str(entry), ids)
    versions = [entry.get(name) for name in ("base", "ours", "theirs")]
    if not ids.isdisjoint(listed(entry.get("memory_id"))):
        return True
    if entry.get("field") in ("superseded_by", *LISTS):
        return any(not ids.isdisjoint(listed(version)) for version in versions)
    return any(isinstance(version, Mapping) and in_record(version, ids) for version in versions)


def in_reflection(data: bytes, ids: Ids) -> bool:
    """Whether a reflection's file names one of the ids as its record, among its sources, or, without a record, in its
    text: what is said of one memory may well mention another."""
    try:
        reflection = reflections.parse(data, "")
    except InvalidDataError:
        text = data.decode("utf-8", "replace")
        fronts = (re.split(r"[\[\],\s\"']+", field.replace("\n", " ")) for field in _FRONT.findall(text))
        return in_text(text, ids) or any(not ids.isdisjoint(words) for words in fronts)
    named = {reflection.memory_id, *listed(reflection.fields.get("sources"))}
    return not ids.isdisjoint(named) or (not reflection.memory_id and in_text(reflection.body, ids))


def unlinked(memory: Memory, ids: Ids) -> Memory:
    """The memory without references to the ids."""
    return replace(
        memory,
        supersedes=tuple(i for i in memory.supersedes if i not in ids),
        conflicts_with=tuple(i for i in memory.conflicts_with if i not in ids),
        sources=tuple(i for i in memory.sources if i not in ids),
        superseded_by="" if memory.superseded_by in ids else memory.superseded_by,
        metadata=_unlinked(memory.metadata, ids),
    )


def _unlinked(metadata: Mapping[str, Any], ids: Ids) -> Mapping[str, Any]:
    """The metadata without references to the ids; itself where there are none."""
    marks = [name for name in MARKS if isinstance(metadata.get(name), str) and metadata[name] in ids]
    used = metadata.get(USED)
    if not marks and (not isinstance(used, list) or ids.isdisjoint(listed(used))):
        return metadata
    kept = {name: value for name, value in metadata.items() if name not in marks}
    return {**kept, USED: [i for i in used if i not in ids]} if isinstance(used, list) else kept
