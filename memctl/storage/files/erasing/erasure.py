"""What is to be erased, and what that does to a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from memctl.core.formats import codec

Parts = Callable[[], Iterator[bytes]]
"""Gives the content of a file, part by part."""


@dataclass(frozen=True)
class FileChange:
    """What an erasure does to a file.

    Args:
        path: relative to the user's folder.
        after: gives its content after it; None where the file goes.
        gone, changed: how many of its records, or lines, go, and how many change.
    """

    path: str
    after: Parts | None = None
    gone: int = 0
    changed: int = 0


@dataclass(frozen=True)
class Erasure:
    """What is to go: ids, and files relative to the user's folder.

    Args:
        files: what goes as a whole; also lines of a log that lose their text, as `LOG/DIGEST` (`line_name`).
        known: hashes of records that are known to be valid, which spares to read those.
    """

    ids: tuple[str, ...]
    files: tuple[str, ...]
    known: Set[str] = frozenset()

    @cached_property
    def named(self) -> frozenset[str]:
        return frozenset(self.ids)

    @cached_property
    def spelled(self) -> tuple[bytes, ...]:
        """The files, lines of logs apart, as they stand in JSON."""
        names = (name for name in self.files if _LINE not in name)
        return tuple(json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass") for name in names)

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(self.files)


_LINE = ".jsonl/"
"""In the names of lines alone."""


def line_name(path: str, line: bytes) -> str:
    """How an erasure names one line of a log: by the log, and by a hash that tells nothing of what the line says."""
    return f"{path}/{codec.digest(line.strip())}"
