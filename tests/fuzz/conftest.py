"""One store for all cases, put back as it was before each, and what must hold after every command."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from cli.conftest import SAMPLE_STORE, Memctl, Outcome
from conftest import PATIENCE

from . import spoiling

CODES = {0, 1, 2, 3, 4, 5, 6, 7, 8}
"""Exit codes of docs/troubleshooting.md but for 70 (a bug) and 130 (interrupted)."""

STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)  # \t and \n are allowed

HANG_SECONDS = int(PATIENCE)


class HangError(BaseException):
    """Nothing of the program's may catch it."""


@contextmanager
def no_hang(what: str) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise HangError(what)

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class World:
    """Alice's store with something of every sort in it, and files beside the store that are nobody's business."""

    def __init__(self, root: Path) -> None:
        self.tool = Memctl(root)
        shutil.copytree(SAMPLE_STORE, self.tool.store)
        self.secret = root / "secret" / "canary.txt"
        self.secret.parent.mkdir()
        self.secret.write_text(f"{spoiling.CANARY} # {spoiling.CANARY}\nmodel: {spoiling.CANARY}\n", "utf-8")
        (self.secret.parent / "memory.md").write_text(
            f"---\ntitle: {spoiling.CANARY}\n---\n# {spoiling.CANARY}\n", "utf-8"
        )
        os.environ["FUZZ_CANARY"] = str(self.secret)
        self.lived()
        self.folder = self.tool.folder
        self.files = self._tracked(self.tool.store)
        self.outside = self._outside()

    def lived(self) -> None:
        tool = self.tool
        for number in range(6):
            tool("session", "add", "user", f"Move the deploy number {number} to Thursday", "--session", "main").done()
        tool("session", "add", "user", "We drink tea", "--session", "other").done()
        tool("session", "end", "--session", "other")
        tool("task", "start", "Upgrade Postgres", "--plan", "Dump").done()
        tool("feedback", "mem_20250108_23832b8ff6b7", "up").done()
        tool("forget", "mem_20250108_23aad179f08d").done()
        tool("edit", "mem_20250108_23832b8ff6b7", "--set", "importance=0.71").done()
        tool("undo").done()
        tool("query", "assam tea").done()
        tool("reflect", "--category", "emotion").done()

    def _tracked(self, root: Path) -> dict[Path, bytes]:
        """The files of the store but for the index, which heals itself."""
        return {
            path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file() and "cache" not in path.parts
        }

    def _outside(self) -> dict[str, bytes]:
        """What lies beside the store; caches may come and go."""
        root = self.tool.root
        found = (path for path in sorted(root.rglob("*")) if not path.is_relative_to(self.tool.store))
        skipped = ("cache", "home", "config", "data")
        files = [path for path in found if path.relative_to(root).parts[0] not in skipped]
        return {str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else b"" for path in files}

    def restore(self) -> None:
        """Everything as it was; only what differs is written, so that the index need not be rebuilt."""
        for path in sorted(self.secret.parent.rglob("*"), reverse=True):
            if str(path) not in self.outside:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for path in sorted(self.tool.store.rglob("*"), reverse=True):
            if "cache" in path.parts:
                continue
            kind = path.lstat().st_mode
            if stat.S_ISDIR(kind):
                if path in self.files or not (any(k.is_relative_to(path) for k in self.files) or any(path.iterdir())):
                    shutil.rmtree(path) if path in self.files else path.rmdir()
            elif path not in self.files or not stat.S_ISREG(kind):
                path.unlink()
        for path, data in self.files.items():
            if not path.is_file() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    def run(self, *arguments: str, stdin: bytes = b"") -> Outcome:
        """A command, and what must hold after any."""
        with no_hang(" ".join(arguments)):
            shown = self.tool(*arguments, stdin=stdin)
        told = f"memctl {' '.join(arguments)[:300]}\n{shown.code}\n{shown.out[-2000:]}\n{shown.err[-2000:]}"
        assert shown.code in CODES, told
        assert "Traceback" not in shown.out + shown.err, told
        for text in (shown.out, shown.err):
            found = STEERING.search(text)
            assert not found, f"{text[max(0, found.start() - 60) : found.end() + 20]!a} in\n{told}"
            assert spoiling.CANARY not in text, told
        if shown.code:
            assert shown.err or shown.out, told
        assert self._outside() == self.outside, f"something outside the store changed\n{told}"
        return shown

    def state(self) -> Mapping[Path, bytes]:
        """What git and people see of the store."""
        return {path: data for path, data in self._tracked(self.tool.store).items() if ".memctl" not in path.parts}


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("fuzz"))
