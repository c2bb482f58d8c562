"""What is remembered of each folder outside of it, beside the key: how far this machine's user got in it.

The number of the last finished operation keeps an old line of the log from being carried out again, though its
signature is good; the size of the log tells whether somebody else has written into it. Both are kept for each copy of a
folder. All of it is a second look: where it is missing or cannot be written, the states before and after decide alone.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from memctl.errors import MemctlError
from memctl.files import atomic
from memctl.files.layout import UserFolder


@dataclass(frozen=True)
class Watermark:
    """What is remembered of one copy of a folder.

    Args:
        finished: number of the last operation that was finished here.
        log_size: bytes of the log after that, when every line in it was verified.
        untracked: stamp of the git index that was looked at last and tracks nothing below `.memctl/`.
    """

    finished: int = 0
    log_size: int = 0
    untracked: str = ""


def of(folder: UserFolder) -> Watermark:
    """What is remembered of this copy; of a new one, that nothing may be done again which any copy has finished."""
    return _read(_file(folder)) or Watermark(finished=_highest(folder))


def known(folder: UserFolder) -> bool:
    """Whether anything is remembered of this copy."""
    return _read(_file(folder)) is not None


def note(folder: UserFolder, **values: int | str) -> None:
    """Remember something of this copy. It never fails a command, and is not synced: the files decide."""
    with suppress(MemctlError, OSError):
        if folder.signer.folder_id:
            mark = replace(of(folder), **values)  # type: ignore[arg-type]
            atomic.replace(_file(folder), json.dumps(asdict(mark)).encode() + b"\n", durable=False)


def _file(folder: UserFolder) -> Path:
    """One file for each copy: two of them can be in use at once."""
    root, state = folder.root.stat(), _inode(folder.state)
    return folder.signer.watermarks / folder.signer.folder_id / f"{root.st_dev}-{root.st_ino}-{state}.json"


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _highest(folder: UserFolder) -> int:
    if not folder.signer.folder_id:
        return 0
    found = (_read(path) for path in _file(folder).parent.glob("*.json"))
    return max((mark.finished for mark in found if mark), default=0)


def _read(path: Path) -> Watermark | None:
    try:
        found = json.loads(atomic.read(path) or b"")
        return Watermark(int(found["finished"]), int(found["log_size"]), str(found["untracked"]))
    except (MemctlError, OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
