"""A pager for what does not fit on the screen."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import IO, Any, cast

from memctl.cli import render

NONE = "cat"


@contextmanager
def paged() -> Iterator[None]:
    """Send what is printed inside to the user's pager, where standard output is a terminal: `$PAGER`, else `less`,
    which ends by itself when everything fits on the screen. `PAGER=cat` switches it off."""
    command = shlex.split(os.environ.get("PAGER") or "less")
    if not render.on_terminal() or command == [NONE] or not shutil.which(command[0]):
        yield
        return
    settings = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=settings) as pager, suppress(BrokenPipeError):
        assert pager.stdin
        with redirect_stdout(cast(Any, _ToPager(pager.stdin))):
            yield


class _ToPager:
    """Standard output while a pager shows it: still a terminal."""

    def __init__(self, buffer: IO[bytes]) -> None:
        self.buffer = buffer

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.buffer.flush()
