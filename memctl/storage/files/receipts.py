"""Receipts: which memories a question was answered with. Local truth, appended without a lock, never in git.

The same lines are the access log: how often a memory was used is counted from them. Only signed lines count.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memctl.core import times
from memctl.core.receipts import Receipt
from memctl.errors import MemctlError
from memctl.storage.files import atomic
from memctl.storage.files.layout import UserFolder
from memctl.storage.files.signing import RECEIPT

LIMIT = 8 * 1024 * 1024


def files(folder: UserFolder) -> tuple[Path, Path]:
    """The files of receipts, the older one first."""
    return folder.receipts.with_suffix(".old.jsonl"), folder.receipts


def write(folder: UserFolder, query: str, ids: Sequence[str], used: Sequence[str], now: datetime) -> str:
    """Note an answer and return its receipt; empty where the folder cannot be written (reading must still work)."""
    receipt = f"rcp_{now:%Y%m%d%H%M%S}_{secrets.token_hex(3)}"
    value = {"receipt": receipt, "at": times.to_text(now), "query": query[:2000], "ids": list(ids), "used": list(used)}
    path = folder.receipts
    try:
        atomic.make_directory(path.parent, folder.root)
        folder.signer.prepare()
        line = folder.signer.signed(RECEIPT, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        atomic.unshare(path, folder.root)
        handle = atomic.regular(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            atomic.write_all(handle, line + b"\n")
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


def read(folder: UserFolder, *, strict: bool = False) -> Iterator[Receipt]:
    """All receipts that this machine's user wrote, oldest first; each counts once.

    Args:
        strict: raise StorageError where the log cannot be read, instead of taking it for empty.
    """
    seen: set[str] = set()
    for file in files(folder):
        for line in ((atomic.read(file) or b"") if strict else _bytes(file)).splitlines():
            receipt = parsed(line) if folder.signer.verifies(RECEIPT, line) else None
            if receipt and receipt.receipt not in seen:
                seen.add(receipt.receipt)
                yield receipt


def parsed(line: bytes) -> Receipt | None:
    """What a line says, whoever wrote it; None where it is no receipt."""
    try:
        return _parsed(line)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _parsed(line: bytes) -> Receipt:
    parsed = json.loads(line)
    ids = parsed["ids"]
    used = parsed.get("used", ids)
    lists = isinstance(ids, list) and isinstance(used, list)
    if not lists or not all(isinstance(text, str) for text in (parsed["receipt"], parsed["query"], *ids, *used)):
        raise ValueError("no receipt")
    return Receipt(parsed["receipt"], times.from_value(parsed["at"]), parsed["query"], tuple(ids), tuple(used))


def _bytes(path: Path) -> bytes:
    """The log; one that cannot be read says nothing, as one that is not there."""
    try:
        return atomic.read(path) or b""
    except MemctlError:
        return b""
