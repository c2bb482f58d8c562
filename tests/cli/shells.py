"""Real shells on a pseudo-terminal, to see what they do with what a program completes.

In such a shell `memctl` is a script: it hands the shell's questions on to the program, and of everything else it writes
down the arguments it got.
"""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import signal
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conftest import PATIENCE, lacking

SHELLS = ("bash", "zsh", "fish")
START = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["--no-rcs", "-i"],
    "fish": ["--no-config", "-i"],
}
SET_UP = {
    "bash": "PS1='> '; set -o history; set -H",
    "zsh": "PS1='> '; setopt bang_hist extended_glob; autoload -Uz compinit; compinit -u -D",
    "fish": "function fish_prompt; echo -n '> '; end; set -g fish_greeting",
}
_END = "\0end of arguments\0"


def needed(shell: str) -> str:
    """The shell's program; the test is skipped without it, or fails where shells are required."""
    return shutil.which(shell) or lacking("shells", f"{shell} is not installed")


class Shell:
    """A shell on a terminal."""

    def __init__(self, terminal: int, record: Path) -> None:
        self.terminal, self.record, self.shown = terminal, record, b""

    def type(self, keys: str) -> None:
        """Press keys, taking in what the shell shows meanwhile."""
        data = keys.encode()
        while data:
            readable, writable, _ = select.select([self.terminal], [self.terminal], [], PATIENCE)
            if readable:
                self._read()
            if writable:
                data = data[os.write(self.terminal, data[:512]) :]

    def arguments(self, keys: str) -> list[str]:
        """Press keys and Enter; returns the arguments that the command got.

        Raises:
            AssertionError: no command ran.
        """
        self.record.unlink(missing_ok=True)
        self.type(f"{keys}\r")
        deadline = time.monotonic() + PATIENCE
        while not (found := self._recorded()).endswith(_END):
            assert time.monotonic() < deadline, f"{keys!r} ran nothing: {self.shown[-2000:].decode(errors='replace')}"
            self._read(0.01)
        return found.removesuffix(_END).split("\0")[1:]

    def _recorded(self) -> str:
        return self.record.read_text("utf-8") if self.record.exists() else ""

    def _read(self, patience: float = 0.0) -> None:
        if select.select([self.terminal], [], [], patience)[0]:
            self.shown += os.read(self.terminal, 65536)


@contextmanager
def running(shell: str, program: Path, environment: Mapping[str, str], folder: Path, script: str) -> Iterator[Shell]:
    """A shell in a folder, with a completion script loaded.

    Args:
        program: what answers the shell's questions.
    """
    executable = needed(shell)
    record, place = folder / "record", folder / "bin"
    place.mkdir()
    stub = place / "memctl"
    stub.write_text(_stub(program, record))
    stub.chmod(0o755)
    completion = folder / f"completion.{shell}"
    completion.write_text(script)
    variables = {**environment, "PATH": f"{place}:{environment['PATH']}", "TERM": "xterm"}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(executable, [shell, *START[shell]], variables)
    termios.tcsetwinsize(terminal, (50, 200))
    one = Shell(terminal, record)
    try:
        one.arguments(f"{SET_UP[shell]}; source {shlex.quote(str(completion))}; memctl ready")
        yield one
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _stub(program: Path, record: Path) -> str:
    end = _END.replace("\0", "\\0")
    return f"""#!/bin/sh
if [ -n "$_MEMCTL_COMPLETE" ]; then exec {shlex.quote(str(program))} "$@"; fi
{{ printf '\\0'; for each; do printf '%s\\0' "$each"; done; printf '{end[2:]}'; }} > {shlex.quote(str(record))}
"""
