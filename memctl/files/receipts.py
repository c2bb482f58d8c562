"""Receipts: which memories a question was answered with. Local truth, appended without a lock, never in git.

The same lines are the access log: how often a memory was used is counted from them.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memctl import times
from memctl.errors import MemctlError
from memctl.files import atomic

LIMIT = 8 * 1024 * 1024


@dataclass(frozen=True)
class Receipt:
    """One answer that was given: the memories in it, and those of them that count as used."""

    receipt: str
    at: datetime
    query: str
    ids: tuple[str, ...]
    used: tuple[str, ...]


def write(path: Path, query: str, ids: Sequence[str], used: Sequence[str], now: datetime) -> str:
    """Note an answer and return its receipt; empty where the folder cannot be written (reading must still work)."""
    receipt = f"rcp_{now:%Y%m%d%H%M%S}_{secrets.token_hex(3)}"
    value = {"receipt": receipt, "at": times.to_text(now), "query": query[:2000], "ids": list(ids), "used": list(used)}
    line = json.dumps(value, ensure_ascii=False)
    try:
        atomic.make_directory(path.parent)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, atomic.FILE_MODE)
        try:
            atomic.write_all(handle, line.encode("utf-8", "replace") + b"\n")
            if os.fstat(handle).st_size > LIMIT:
                _lay_aside(handle, path)
        finally:
            os.close(handle)
    except (OSError, MemctlError):
        return ""
    return receipt


def _lay_aside(handle: int, path: Path) -> None:
    """Begin a new file; of several who found it full one does, lest the second lay the new one over the old."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), path.stat()):
            path.rename(path.with_suffix(".old.jsonl"))
    except OSError:  # it is done now by somebody else, or the next time
        return


def read(path: Path, *, strict: bool = False) -> Iterator[Receipt]:
    """All receipts, oldest first; a torn or spoilt line is skipped.

    Args:
        strict: raise StorageError where the log cannot be read, instead of taking it for empty.
    """
    for file in (path.with_suffix(".old.jsonl"), path):
        for line in ((atomic.read(file) or b"") if strict else _bytes(file)).splitlines():
            try:
                yield _parsed(line)
            except (ValueError, KeyError, TypeError, RecursionError):
                continue


def _parsed(line: bytes) -> Receipt:
    found = json.loads(line)
    ids = found["ids"]
    used = found.get("used", ids)
    lists = isinstance(ids, list) and isinstance(used, list)
    if not lists or not all(isinstance(text, str) for text in (found["receipt"], found["query"], *ids, *used)):
        raise ValueError("no receipt")
    return Receipt(found["receipt"], times.from_value(found["at"]), found["query"], tuple(ids), tuple(used))


def _bytes(path: Path) -> bytes:
    """The log; one that cannot be read says nothing, as one that is not there."""
    try:
        return atomic.read(path) or b""
    except MemctlError:
        return b""
