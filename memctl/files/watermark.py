"""What is remembered of each folder outside of it, beside the key: how far this machine's user got in it.

The number of the last finished operation keeps an old line of the log from being carried out again, though its
signature is good; the size of the log tells whether somebody else has written into it. Both are kept for each copy of a
folder, by its place. An operation names the place where it began: a copy that was made in the middle of it finishes
it, unless that place has finished it. All of it is a second look: where it is missing or cannot be written, the states
before and after decide alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from memctl.errors import MemctlError
from memctl.files import atomic
from memctl.files.layout import UserFolder

_PLACE = re.compile(r"\d+-\d+-\d+")


@dataclass(frozen=True)
class Watermark:
    """What is remembered of one copy of a folder.

    Args:
        finished: number of the last operation that was finished here.
        elsewhere: place and number of operations that began in another place, and were finished here.
        log_size: bytes of the log after that, when every line in it was verified.
        untracked: stamp of the git index that was looked at last and tracks nothing below `.memctl/`.
    """

    finished: int = 0
    log_size: int = 0
    untracked: str = ""
    elsewhere: Mapping[str, int] = field(default_factory=dict)


def of(folder: UserFolder) -> Watermark:
    """What is remembered of this copy."""
    return _read(_file(folder, place(folder))) or Watermark()


def place(folder: UserFolder) -> str:
    """What tells this folder from a copy of it."""
    root, state = folder.root.stat(), _inode(folder.state)
    return f"{root.st_dev}-{root.st_ino}-{state}"


def is_finished(folder: UserFolder, began: str, number: int) -> bool:
    """Whether an operation that began in a place was finished, there or here."""
    there = _read(_file(folder, began)) if _PLACE.fullmatch(began) else None
    return number <= max(there.finished if there else 0, of(folder).elsewhere.get(began, 0))


def note_finished(folder: UserFolder, began: str, number: int, log_size: int) -> None:
    """Remember that an operation was finished here."""
    mark = of(folder)
    if began == place(folder):
        note(folder, finished=max(number, mark.finished), log_size=log_size)
    else:
        note(folder, elsewhere={**mark.elsewhere, began: number}, log_size=log_size)


def note(folder: UserFolder, **values: Any) -> None:
    """Remember something of this copy. It never fails a command, and is not synced: the files decide."""
    with suppress(MemctlError, OSError):
        if folder.signer.folder_id:
            mark = replace(of(folder), **values)
            data = json.dumps(asdict(mark)).encode() + b"\n"
            atomic.replace(_file(folder, place(folder)), data, durable=False)


def _file(folder: UserFolder, where: str) -> Path:
    """One file for each copy: two of them can be in use at once."""
    return folder.signer.watermarks / (folder.signer.folder_id or "-") / f"{where}.json"


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _read(path: Path) -> Watermark | None:
    try:
        found = json.loads(atomic.read(path) or b"")
        elsewhere = {str(name): int(number) for name, number in found["elsewhere"].items()}
        return Watermark(int(found["finished"]), int(found["log_size"]), str(found["untracked"]), elsewhere)
    except (MemctlError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
