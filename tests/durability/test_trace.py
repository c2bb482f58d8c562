"""Checks of the checks: nothing that changes the disk gets past the shim, and the model of the disk has teeth."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from durability import operations
from durability.checking import check, reference
from durability.disk import Disk, Event, events, lay_out
from durability.shimmed import CHANGE, Nursery
from memctl.storage.files import atomic

CHANGING = (
    "open", "openat", "creat", "write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "truncate", "fsync",
    "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat",
    "chmod", "fchmod", "fchmodat", "symlink", "symlinkat", "utimensat", "fallocate", "copy_file_range", "sendfile",
    "setxattr", "fsetxattr", "mknod", "mknodat", "sync_file_range", "msync", "mmap",
)  # fmt: skip

NAMES = {
    "pwrite64": "write", "ftruncate": "truncate", "renameat": "rename", "linkat": "link", "unlinkat": "unlink",
    "mkdirat": "mkdir", "fchmod": "chmod", "fchmodat": "chmod",
}  # fmt: skip


def test_nothing_gets_past_the_shim(shim: Path, template: Path, fast: Path) -> None:
    """strace sees the same calls that change the folder as the shim, of Python, SQLite and ctypes alike."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode:
        pytest.skip("needs strace, and the right to use it")
    root, trace = fast / "run", fast / "trace"
    operations.copy(template, root)
    seen = ["strace", "-ff", "-y", "-s", "0", "-o", str(fast / "seen"), "-e", f"trace={','.join(CHANGING)},access"]
    steps = [step for row in operations.SEQUENCES.values() for step in row]
    with Nursery(shim, behind=seen) as nursery:
        told = nursery.run(steps, root, kinds=CHANGE, trace=str(trace))
    assert told["outcomes"] == [None] * len(steps)
    ours = Counter(event.one for event in events(trace.read_bytes()) if event.what == "call")
    (child,) = (path for path in fast.glob("seen.*") if '"/shim on"' in path.read_text())
    theirs = Counter(_changes(child.read_text(), str(root)))
    assert ours == theirs
    assert set(ours) >= {"open to write", "write", "fsync", "fdatasync", "rename", "exchange", "unlink", "mkdir"}


def _changes(text: str, root: str) -> list[str]:
    """Calls on files below the folder, by the shim's names for them, while it was on."""
    text = text.partition('"/shim on"')[2].partition('"/shim off"')[0]
    found = []
    for line in text.splitlines():
        match = re.match(r"(\w+)\((.*)", line)
        if match is None or root not in match[2]:
            continue
        name, given = match[1], match[2]
        if name in ("open", "openat"):
            if re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", given):
                found.append("open to write")
        elif name == "mmap":  # a file that is mapped to be written, but for SQLite's `-shm`, which outlasts nothing
            if "PROT_WRITE" in given and "MAP_SHARED" in given and "-shm>" not in given:
                found.append("mmap")
        elif "RENAME_EXCHANGE" in given:
            found.append("exchange")
        elif "AT_REMOVEDIR" in given:
            found.append("rmdir")
        else:
            found.append(NAMES.get(name, name))
    return found


WITHOUT: dict[str, Callable[[Event], bool]] = {
    "syncing of files": lambda event: event.what == "fsync" and atomic.TEMPORARY_PREFIX in event.one,
    "syncing of directories": lambda event: event.what == "fsync" and event.one.endswith(("/alice", "/reflections")),
    "syncing of the log": lambda event: event.what == "fsync" and event.one.endswith("operations.jsonl"),
    "syncing of new directories": lambda event: event.what == "fsync" and event.one.endswith("/knowledge/deep"),
}


@pytest.mark.parametrize("left_out", WITHOUT)
def test_the_model_misses_what_is_left_out(left_out: str, nursery: Nursery, template: Path, fast: Path) -> None:
    """Of a run whose syncing did not reach the disk, half or nothing may be left; the checks must say so."""
    assert _goes_wrong(nursery, template, fast, WITHOUT[left_out])


def test_the_model_misses_nothing_of_the_whole(nursery: Nursery, template: Path, fast: Path) -> None:
    assert not _goes_wrong(nursery, template, fast, lambda event: False)


def _goes_wrong(nursery: Nursery, template: Path, fast: Path, left_out: Callable[[Event], bool]) -> bool:
    whole = reference(nursery, template, fast, ["knowledge add", "add with detail"])
    disk = Disk(whole.root, whole.begin)
    for event in events(whole.trace):
        if not left_out(event):
            disk.take(event)
        if event.what == "mark" or event.two.endswith("/memory.json"):
            lay_out(disk.nothing(), fast / "found")
            try:
                check(fast / "found", whole, disk.acknowledged, thorough=False)
            except Exception:
                return True
            shutil.rmtree(fast / "found")
    return False
