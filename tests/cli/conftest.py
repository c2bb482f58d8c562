"""Fixtures for the tests of the command line: a store of one's own, and two ways to run `memctl` in it.

Most tests call `memctl.cli.main.main` in this process with real byte streams as standard input, output and error: that
is what the executable does, in a tenth of the time. Where output must go to a terminal or a process of its own,
`program` is nearly as fast. Where the process itself matters (signals, pipes, locales, speed), `Memctl.process` runs the
executable.
"""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import copies
import pytest
from conftest import PATIENCE

from memctl.cli.main import main
from memctl.storage.files import signing

from . import answering

ROOT = Path(__file__).resolve().parents[2]
SAMPLE_STORE = ROOT / "sample_store"
EXECUTABLE = Path(sys.executable).with_name("memctl")
NOW = "2026-10-28T12:00:00Z"

_INHERITED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "COVERAGE_PROCESS_START")


@dataclass(frozen=True)
class Outcome:
    """What a command did: exit code, standard output and standard error, which must both be UTF-8."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """Standard error as one JSON document."""
        return json.loads(self.err)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def done(self) -> Outcome:
        """Itself, if the command succeeded."""
        assert self.code == 0, f"exit code {self.code}\n{self.out}{self.err}"
        return self


class Memctl:
    """Runs `memctl` as one user of one store, in a home of its own, at a fixed time."""

    def __init__(self, root: Path, user: str = "alice", program: Path = EXECUTABLE) -> None:
        self.root, self.store, self.home = root, root / "store", root / "home"
        self.program = program
        self.home.mkdir(exist_ok=True)
        self.places: dict[str, str] = {}
        self.environment = {
            "HOME": str(self.home),
            signing.KEY_VARIABLE: str(signing.key_file()),  # one for commands and for what a test opens itself
            "XDG_CACHE_HOME": str(root / "cache"),
            "XDG_CONFIG_HOME": str(root / "config"),
            "XDG_DATA_HOME": str(root / "data"),
            "MEMCTL_STORE": str(self.store),
            "MEMCTL_USER": user,
            "MEMCTL_NOW": NOW,
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "Alice" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "alice@example.org" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_DATE": NOW for who in ("AUTHOR", "COMMITTER")},
        }

    def stored(self, path: str) -> str | None:
        """A text that is in a database instead of a file of this path; None where files are files."""
        return None

    @property
    def folder(self) -> Path:
        """The folder of the user."""
        return self.store / self.environment["MEMCTL_USER"]

    @property
    def memory_file(self) -> Path:
        return self.folder / "memory.json"

    @property
    def state(self) -> Path:
        return self.folder / ".memctl" / "state"

    def whole_environment(self, changed: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """The environment of a command; None takes a variable out."""
        given = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {name: value for name, value in {**given, **self.environment, **(changed or {})}.items() if value}

    def __call__(self, *arguments: str, stdin: str | bytes = b"", **environment: str | None) -> Outcome:
        """Run a command in this process."""
        with _streams(_bytes(stdin)) as (out, err), pytest.MonkeyPatch.context() as patch:
            for name in set(os.environ) - {"PYTEST_CURRENT_TEST"}:
                patch.delenv(name)
            for name, value in self.whole_environment(environment).items():
                patch.setenv(name, value)
            patch.chdir(self.root)
            code = main(arguments)
        return Outcome(code, out.getvalue().decode(), err.getvalue().decode())

    def process(
        self,
        *arguments: str | bytes,
        stdin: str | bytes = b"",
        environment: Mapping[str, str | None] | None = None,
        program: Path = EXECUTABLE,
        **options: Any,
    ) -> Outcome:
        """Run the executable."""
        done = subprocess.run(
            [program, *arguments],
            input=_bytes(stdin),
            env=self.whole_environment(environment),
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            **{"cwd": self.root, **options},
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    def on_terminal(
        self, *arguments: str, columns: int = 100, program: Path | None = None, **environment: str | None
    ) -> str:
        """Run the program on a terminal; returns what stays on it at the end, colours included."""
        with self.terminal(*arguments, columns=columns, program=program or self.program, **environment) as ours:
            shown = b"".join(iter(lambda: _read(ours), b""))
        return re.sub(r"\r[^\r\n]*\x1b\[K", "", shown.decode().replace("\r\n", "\n"))

    @contextmanager
    def terminal(
        self, *arguments: str, columns: int = 100, program: Path = EXECUTABLE, **environment: str | None
    ) -> Iterator[int]:
        """The executable while it runs on a terminal, whose other end this is."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, columns))
        variables = self.whole_environment({"TERM": "xterm-256color", "COLUMNS": None, "PAGER": "cat", **environment})
        with subprocess.Popen(
            [program, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=variables, cwd=self.root
        ) as running:
            os.close(theirs)
            try:
                yield ours
            except BaseException:
                running.kill()
                raise
            while _read(ours):
                pass
        os.close(ours)

    def ids(self, *options: str) -> list[str]:
        """Ids of memories as `list` gives them."""
        return [memory["memory_id"] for memory in self("list", "-n", "0", "--json", *options).done().json["memories"]]

    def add(self, text: str, *options: str) -> str:
        """Add a memory; returns its id."""
        return self("add", "--json", *options, "--", text).done().json["memory"]["memory_id"]

    def never_indexed(self) -> None:
        """Take the indexes away, as where nothing has asked yet."""
        for index in self.store.glob("*/.memctl/cache"):
            shutil.rmtree(index)

    def memory(self, memory_id: str) -> dict[str, Any]:
        """A memory as `show --json` gives it."""
        return self("show", "--json", memory_id).done().json[0]

    def records(self) -> list[dict[str, Any]]:
        """The records as they stand in the file."""
        return json.loads(self.memory_file.read_text("utf-8"))["memories"]


def read_until(terminal: int, wanted: str) -> str:
    """What a terminal shows until it has shown some text.

    Raises:
        AssertionError: the command ended without it.
    """
    shown = b""
    while wanted not in shown.decode(errors="ignore"):
        new = _read(terminal)
        assert new, f"{wanted!r} was not shown: {shown.decode(errors='replace')}"
        shown += new
    return shown.decode(errors="ignore")


def _read(terminal: int) -> bytes:
    """What a terminal shows next; empty at the end, which Linux tells by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def plain(shown: str) -> str:
    """What stands on a terminal, without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@contextmanager
def _streams(given: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Standard input, output and error of the size of this block, with real byte streams below."""
    out, err = io.BytesIO(), io.BytesIO()
    wrappers = [io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in (io.BytesIO(given), out, err)]
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = wrappers
    try:
        yield out, err
    finally:
        for wrapper in wrappers:
            wrapper.flush()
            wrapper.detach()
        sys.stdin, sys.stdout, sys.stderr = before


@pytest.fixture(scope="session")
def program() -> Path:
    """An executable that is the command, in a tenth of the time that it takes to start."""
    return answering.program()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, copies.Inodes]:
    """The sample store with its indexes, which takes ten times as long to make as to copy; and its inodes."""
    root = tmp_path_factory.mktemp("sample")
    shutil.copytree(SAMPLE_STORE, root / "store")
    for user in ("alice", "xiaolin"):
        Memctl(root, user)("sync").done()
    return root / "store", copies.settled(root / "store")


@pytest.fixture
def memctl(tmp_path: Path, program: Path, sample: tuple[Path, copies.Inodes]) -> Memctl:
    """`memctl` as alice in a copy of the sample store."""
    tool = Memctl(tmp_path, program=program)
    copies.copy(sample[0], tool.store, sample[1])
    return tool


@pytest.fixture
def xiaolin(memctl: Memctl) -> Memctl:
    """`memctl` as xiaolin in the same store: everything in Chinese."""
    return Memctl(memctl.root, "xiaolin", memctl.program)


@pytest.fixture
def empty(tmp_path: Path, program: Path) -> Memctl:
    """`memctl` as alice in a new store."""
    tool = Memctl(tmp_path, program=program)
    tool("init").done()
    return tool


@pytest.fixture
def nowhere(tmp_path: Path, program: Path) -> Memctl:
    """`memctl` where there is no store at all."""
    return Memctl(tmp_path, program=program)


@pytest.fixture
def editor(memctl: Memctl) -> Callable[[str], str]:
    """Makes an editor: a Python script that gets the draft's `path` and the tool's `memctl`; returns its command."""

    def made(body: str) -> str:
        script = memctl.root / f"editor-{len(list(memctl.root.glob('editor-*')))}.py"
        head = "import subprocess, sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n"
        script.write_text(f"{head}memctl = {str(EXECUTABLE)!r}\n{body}\n", "utf-8")
        return f"{sys.executable} {script}"

    return made
