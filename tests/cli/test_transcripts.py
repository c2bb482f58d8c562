"""What `memctl` prints, word for word. `MEMCTL_UPDATE_TRANSCRIPTS=1` rewrites the transcripts: read the diff."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from memctl.cli.app import PANELS

from .conftest import Memctl
from .transcript import parse, replay, written

UPDATE = os.environ.get("MEMCTL_UPDATE_TRANSCRIPTS", "") not in ("", "0")
UNINDEXED = ("care",)
"""Transcripts that begin where nothing was indexed yet."""
TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path, memctl: Memctl) -> None:
    if path.stem in UNINDEXED:
        memctl.never_indexed()
    found = written(replay(parse(path.read_text("utf-8")), memctl))
    if UPDATE:
        path.write_text(found, "utf-8")
    assert found == path.read_text("utf-8")


@pytest.mark.parametrize("name", ["errors", "export"])
def test_the_executable_says_the_same(name: str, memctl: Memctl) -> None:
    steps = parse((Path(__file__).parent / "transcripts" / f"{name}.txt").read_text("utf-8"))[:5]

    assert written(replay(steps, memctl, process=True)) == written(steps)


def test_a_transcript_survives_reading_and_writing() -> None:
    text = "%% note\n$ memctl show x\n< in\n\n# heading\n\n! oops\n!\n= exit 3\n\n$ cat f\nlast\n\n"

    assert written(parse(text)) == text


@pytest.mark.parametrize("command", [name for panel in PANELS.values() for name in panel])
def test_every_command_stands_in_a_transcript(command: str) -> None:
    call = re.compile(rf"^\$ .*\bmemctl (?:--\S+ \S+ )*{command}\b", re.MULTILINE)

    assert any(call.search(path.read_text("utf-8")) for path in TRANSCRIPTS), f"no transcript runs `memctl {command}`"
