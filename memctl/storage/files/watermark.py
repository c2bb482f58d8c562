"""What is remembered of each folder outside of it, beside the key: how far this machine's user got in it.

The number of the last finished operation keeps an old line of the log from being carried out again, though its
signature is good; the size of the log tells whether somebody else has written into it. Both are kept for each copy of a
folder, by its place. An operation names the place where it began: a copy that was made in the middle of it finishes
it, unless that place has finished it. All of it is a second look: where it is missing or cannot be written, the states
before and after decide alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memctl.errors import MemctlError
from memctl.storage.files import atomic
from memctl.storage.files.layout import UserFolder

_LEAST = 127
"""Bytes to which a watermark is filled up, so that one usually takes the place of another of the same length."""

_PLACE = re.compile(r"\d+-\d+-\d+")


@dataclass(frozen=True)
class Watermark:
    """What is remembered of one copy of a folder.

    Args:
        finished: number of the last operation that was finished here.
        elsewhere: place and number of operations that began in another place, and were finished here.
        log_size: bytes of the log after that, when every line in it was verified.
        untracked: stamp of the git index that was looked at last and tracks nothing below `.memctl/`.
        without_transcripts: stamp of the git index that was looked at last and tracks no transcript.
    """

    finished: int = 0
    log_size: int = 0
    untracked: str = ""
    without_transcripts: str = ""
    elsewhere: Mapping[str, int] = field(default_factory=dict)


def of(folder: UserFolder) -> Watermark:
    """What is remembered of this copy."""
    return _read(_file(folder, place(folder))) or Watermark()


def place(folder: UserFolder) -> str:
    """What tells this folder from a copy of it; zeros for what the system does not tell."""
    device, root = _identity(folder.root)
    return f"{device}-{root}-{_identity(folder.state)[1]}"


def is_finished(folder: UserFolder, began: str, number: int) -> bool:
    """Whether an operation that began in a place was finished, there or here."""
    there = _read(_file(folder, began)) if _PLACE.fullmatch(began) else None
    return number <= max(there.finished if there else 0, of(folder).elsewhere.get(began, 0))


def note_finished(folder: UserFolder, began: str, number: int, log_size: int) -> None:
    """Remember that an operation was finished here."""
    mark = replace(of(folder), log_size=log_size)
    if began == place(folder):
        _write(folder, replace(mark, finished=max(number, mark.finished)))
    else:
        _write(folder, replace(mark, elsewhere={**mark.elsewhere, began: number}))


def note(folder: UserFolder, **values: Any) -> None:
    """Remember something of this copy. It never fails a command, and is not synced: the files decide."""
    _write(folder, replace(of(folder), **values))


def _write(folder: UserFolder, mark: Watermark) -> None:
    """Write in place, in one call: a file of its own for each change would cost more than all the rest of this."""
    with suppress(MemctlError, OSError):
        if not folder.signer.folder_id:
            return
        path = _file(folder, place(folder))
        atomic.make_directory(path.parent)
        handle = atomic.regular(str(path), os.O_WRONLY | os.O_CREAT)
        try:
            os.ftruncate(handle, os.pwrite(handle, json.dumps(vars(mark)).encode().ljust(_LEAST) + b"\n", 0))
        finally:
            os.close(handle)


def _file(folder: UserFolder, where: str) -> Path:
    """One file for each copy: two of them can be in use at once."""
    return folder.signer.watermarks / (folder.signer.folder_id or "-") / f"{where}.json"


def _identity(path: Path) -> tuple[int, int]:
    """Device and inode of a folder."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _read(path: Path) -> Watermark | None:
    try:
        parsed = json.loads(atomic.read(path) or b"")
        elsewhere = {str(name): int(number) for name, number in parsed["elsewhere"].items()}
        looked = str(parsed["untracked"]), str(parsed.get("without_transcripts", ""))
        return Watermark(int(parsed["finished"]), int(parsed["log_size"]), *looked, elsewhere)
    except (MemctlError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
