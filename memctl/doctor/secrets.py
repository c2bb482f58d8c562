"""Likely secrets in files that people edit or put into git, also those that were allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from memctl.core import sensitive
from memctl.core.formats import codec
from memctl.core.formats.document import Array, RawRecord
from memctl.core.models import Problem
from memctl.core.sensitive import Place
from memctl.doctor import codes
from memctl.storage.files.layout import UserFolder


def findings(folder: UserFolder, in_memory_file: Sequence[Place] | None) -> Iterator[Problem]:
    """Those in all files.

    Args:
        in_memory_file: what is known of `memory.json`; None where it is to be searched as any other file.
    """
    root = folder.root
    visible = (path for path in root.rglob("*") if not any(p.startswith(".") for p in path.relative_to(root).parts))
    for path in sorted(path for path in visible if path.is_file() and not path.is_symlink()):
        known = in_memory_file if path == folder.memory_file else None
        for place in sensitive.in_files([path]) if known is None else known:
            name = Path(place.path).relative_to(root).as_posix()
            what = f"holds what looks like {place.kind} (leave it if it is meant)" if place.line else place.kind
            yield Problem(name, what, place.line, code=codes.SECRET, column=place.column)


class Secrets:
    """Those in `memory.json`, looked for while its records go by.

    The rules read a whole file slowly. So the values of a record are asked first, as before they are stored; only the
    text of one that may hold a secret is searched, for the place.

    Args:
        wanted: whether anybody wants to know.
    """

    def __init__(self, data: bytes, path: str, *, wanted: bool) -> None:
        self._data, self._path, self._wanted = data, path, wanted
        self._of_records: list[Place] = []
        self._before: list[Place] = []
        self._after: list[Place] = []

    def take(self, record: RawRecord, value: Any) -> None:
        if self._wanted and may_hold(value):
            self._of_records += self._in_part(record.start, record.start + len(record.raw), record.line)

    def beside(self, array: Array) -> None:
        """Search what stands beside the records, which are in this list."""
        start, end = array
        if self._wanted:
            self._before = self._in_part(0, start, 1)
            self._after = self._in_part(end, len(self._data), self._data.count(b"\n", 0, end) + 1)

    def places(self) -> list[Place]:
        return [*self._before, *self._of_records, *self._after]

    def _in_part(self, start: int, end: int, line: int) -> list[Place]:
        """The secrets in a part of the file that begins in a line."""
        before = len(self._data[self._data.rfind(b"\n", 0, start) + 1 : start].decode())
        return [
            Place(at.path, line + at.line - 1, at.column + (before if at.line == 1 else 0), at.kind)
            for at in sensitive.in_text(self._data[start:end].decode(), self._path)
        ]


_CODE = re.compile(r"(?<![A-Za-z0-9])pin(?:[ _-]?code)?$|otp|2fa|mfa|authenticator", re.IGNORECASE)
"""What holds a code beside what `secret_name` knows."""
_OWN_ID = re.compile(r"(?:reflections/)?mem_\d{8}_[0-9a-f]{12}(?:\.md)?")
_OWN_TIME = re.compile(r"[\d:.TZ+-]{10,32}")
_PLAIN = {
    **dict.fromkeys(codec.TIMES, _OWN_TIME),
    **dict.fromkeys(("memory_id", "superseded_by", "summary_md_ref"), _OWN_ID),
}
"""Fields that hold no secret where they look as memctl writes them."""


def may_hold(value: Any, name: str = "") -> bool:
    """Whether a JSON value may hold a secret, as its texts and its names tell.

    Args:
        name: the name it stands under.
    """
    if isinstance(value, str):
        plain = _PLAIN.get(name)
        return not (plain and plain.fullmatch(value)) and (_tells(name) or bool(sensitive.found(value)))
    if isinstance(value, dict):
        return _names_one(value) or any(
            bool(sensitive.found(key)) or may_hold(part, key) for key, part in value.items()
        )
    if isinstance(value, list):
        return any(may_hold(part, name) for part in value)
    return isinstance(value, int) and not isinstance(value, bool) and _tells(name)


def _names_one(value: Mapping[str, Any]) -> bool:
    """Whether it is `{"name": "password", "value": …}`."""
    named = (value.get(name) for name in ("name", "key", "variable")) if "value" in value else ()
    return any(isinstance(name, str) and _tells(name) for name in named)


@lru_cache(1024)
def _tells(name: str) -> bool:
    return sensitive.secret_name(name) or _CODE.search(name) is not None
