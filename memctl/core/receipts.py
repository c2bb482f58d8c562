"""Receipts: which memories a question was answered with, and which of them count as used."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Receipt:
    """One answer that was given: the memories in it, and those of them that count as used."""

    receipt: str
    at: datetime
    query: str
    ids: tuple[str, ...]
    used: tuple[str, ...]


def counted(receipt: str) -> bytes:
    """The file that says up to which receipt uses were counted, before it is signed."""
    return json.dumps({"receipt": receipt}, ensure_ascii=False).encode("utf-8", "replace")


def last_counted(data: bytes | None) -> str:
    """The receipt that file names; empty where nothing was counted."""
    return str(json.loads(data).get("receipt", "")) if data else ""
