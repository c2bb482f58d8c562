"""What is remembered of each folder outside of it, beside the key: how far this machine's user got in it.

The number of the last finished operation keeps an old line of the log from being carried out again, though its signature
is good; the size of the log tells whether somebody else has written into it. Both are kept for each copy of a folder.
All of it is a second look: where it is missing or cannot be written, the states before and after decide alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memctl.errors import MemctlError
from memctl.files import atomic
from memctl.files.layout import UserFolder

_COPIES = 64
"""How many copies of one folder are remembered, the latest."""


@dataclass(frozen=True)
class Watermark:
    """What is remembered of one copy of a folder.

    Args:
        finished: number of the last operation that was finished here.
        log_size: bytes of the log after that, when every line in it was verified.
        index: stamp of the git index in which `.memctl/` was last looked for and not found.
    """

    finished: int = 0
    log_size: int = 0
    index: str = ""


def of(folder: UserFolder) -> Watermark | None:
    """What is remembered of this copy; None where it was never written to from here."""
    return _copies(folder).get(_copy(folder))


def highest(folder: UserFolder) -> int:
    """The highest number that any copy of the folder has finished."""
    return max((mark.finished for mark in _copies(folder).values()), default=0)


def note(folder: UserFolder, **values: int | str) -> None:
    """Remember something of this copy. It never fails a command, and is not synced: the files decide."""
    copies = _copies(folder)
    here = _copy(folder)
    mark = replace(copies.pop(here, Watermark()), **values)  # type: ignore[arg-type]
    latest = dict([*copies.items(), (here, mark)][-_COPIES:])
    with suppress(MemctlError, OSError):
        atomic.replace(_file(folder), _dumped(latest), durable=False)


def _copy(folder: UserFolder) -> str:
    """What tells this folder from a copy of it."""
    try:
        root, state = folder.root.stat(), folder.state.stat()
    except OSError:
        return ""
    return f"{root.st_dev}:{root.st_ino}:{state.st_ino}"


def _file(folder: UserFolder) -> Path:
    return folder.signer.watermarks / f"{folder.signer.folder_id}.json"


def _copies(folder: UserFolder) -> dict[str, Watermark]:
    if not folder.signer.folder_id:
        return {}
    try:
        found = json.loads(atomic.read(_file(folder)) or b"{}")
        return {str(name): _mark(values) for name, values in found.items()}
    except (MemctlError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _mark(values: Mapping[str, Any]) -> Watermark:
    return Watermark(int(values["finished"]), int(values["log_size"]), str(values["index"]))


def _dumped(copies: Mapping[str, Watermark]) -> bytes:
    return json.dumps({name: asdict(mark) for name, mark in copies.items()}).encode() + b"\n"
