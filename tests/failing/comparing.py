"""A store before and after a failure: what must be whole of it, and whether it is one of the states it may be in."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from json import loads
from pathlib import Path

from conftest import content_of

from memctl import MemoryStore
from memctl.storage.files import atomic, journal

# What must be whole

_PRIVATE = {"operations.jsonl", "lock", "lock.turn", "receipts.jsonl", "receipts.old.jsonl", "counted"}
_APART = {"cache", "displaced", ".cache", "locks"}


def truth(root: Path) -> dict[str, bytes]:
    """All files of a store, or of a user, that must be whole: without logs, locks, caches, temporary files, and what
    lies aside."""
    found = ((path, path.relative_to(root)) for path in sorted(root.rglob("*")))
    return {name.as_posix(): path.read_bytes() for path, name in found if _counts(name) and _is_begun(path)}


def _counts(name: Path) -> bool:
    left = any(part.startswith(atomic.TEMPORARY_PREFIX) for part in name.parts)
    return not left and name.name not in _PRIVATE and not _APART & set(name.parts)


def _is_begun(path: Path) -> bool:
    """Whether it is a file, and not that of a session in which nothing was said yet: that holds the id of its run."""
    if path.parent.name != "sessions" or path.suffix != ".json":
        return path.is_file()
    try:
        return not loads(path.read_bytes())["components"].keys() <= {"memctl"}
    except (ValueError, KeyError, TypeError, AttributeError):
        return path.is_file()


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


_RANDOM = re.compile(
    r"mem_20250601\d{0,6}_[0-9a-f]{12}|task_\d{8}_[0-9a-f]{12}|\b[0-9a-f]{32}\b|\b(?:op|rcp)_\d{14}_[0-9a-f]+"
    r'|(?<="place":")[^"]+'
)


def numbered(found: dict[str, str]) -> dict[str, str]:
    """Files with the random names of the moment (records, tasks, operations, inodes) replaced by the number of each."""
    names: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"#{len(names)}")

    return {_RANDOM.sub(number, path): _RANDOM.sub(number, text) for path, text in found.items()}


_seen: set[bytes] = set()


def is_new(store: MemoryStore) -> bool:
    """Whether no store like this was looked at: its files but for locks, and what its index holds. Most faults end in
    one of few stores."""
    root = store.folder.root.parent
    apart = {"cache", ".cache", "locks", "lock"}
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and not apart & set(path.parts))
    found = {str(path.relative_to(root)): path.read_bytes().decode("utf-8", "backslashreplace") for path in files}
    whole = numbered({**found, "the index": repr(content_of(store.engine.files.index))})
    digest = hashlib.blake2b(repr(whole).encode()).digest()
    new = digest not in _seen
    _seen.add(digest)
    return new


# The states in which it may be


def copy_states(root: Path, target: Path) -> None:
    """Copy a folder now, and each time a change of this process is complete: what may be met after a crash."""
    finish = journal.finish
    copy_state(root, target, "before")

    def finished(*given: object) -> None:
        copy_state(root, target, "change")
        finish(*given)  # type: ignore[arg-type]

    journal.finish = finished


def copy_state(root: Path, target: Path, name: str) -> None:
    shutil.copytree(root, target / f"{len(list(target.iterdir())):03} {name}", symlinks=True)


def differences(found: Mapping[str, str], legal: Sequence[Mapping[str, str]]) -> str:
    """How a state differs from each of those it may be in."""
    return "\n".join(f"[{at}] {line}" for at, state in enumerate(legal) for line in _lines(found, state))


def _lines(found: Mapping[str, str], state: Mapping[str, str]) -> Iterator[str]:
    for path in sorted(found.keys() | state.keys()):
        one, other = state.get(path), found.get(path)
        if one is None or other is None:
            yield f"{path} {'is missing' if other is None else 'is there'}"
        elif one != other:
            lines = unified_diff(one.splitlines(), other.splitlines(), n=0, lineterm="")
            yield from (f"{path} {line[:300]}" for line in list(lines)[2:])
