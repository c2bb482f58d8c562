"""Whatever stands in a file of the store, every command ends as the documentation says, and nothing is lost by it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from conftest import TORTURE, count_cases, sampled
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memctl.core.formats import document
from memctl.errors import MemctlError

from . import spoiling
from .conftest import World

ID = "mem_20250108_23832b8ff6b7"

GENERATE = (Phase.generate,)
"""A case is a number; a smaller number is not a smaller case."""

READS: tuple[tuple[str, ...], ...] = (
    ("query", "assam tea"), ("query", "migration", "--json"), ("query", "tea", "--explain"), ("query", "tea", "--format", "markdown"),
    ("list", "-n", "0"), ("list", "--json", "-n", "0"), ("list", "--trash"), ("show", ID), ("show", ID, "--json"), ("show", ID, "--history"),
    ("inspect",), ("inspect", ID), ("inspect", "--json"), ("doctor",), ("doctor", "--json"), ("doctor", "--deep"), ("log",), ("log", "--json"),
    ("diff",), ("conflicts",), ("context", "what does Alice drink?", "--budget", "300"), ("export",), ("export", "--format", "records"),
    ("export", "--dpo"), ("git", "check"), ("session", "list"), ("session", "show"), ("session", "show", "main", "--json"),
    ("task", "list"), ("task", "show"), ("strategy", "list"), ("strategy", "warn", "t", "{}"), ("knowledge", "list"), ("knowledge", "show", "migration-checklist.md"),
    ("knowledge", "search", "postgres"), ("config",), ("user", "list"), ("list", "--as-of", "2026-03-15"), ("decay", "--dry-run"),
    ("maintain", "--dry-run"), ("consolidate", "--dry-run"), ("undo", "--dry-run"), ("reflect", "--category", "work", "--dry-run"), ("mcp", "tools"),
)  # fmt: skip

WRITES: tuple[tuple[str, ...], ...] = (
    ("sync",), ("add", "A thing that is new"), ("edit", ID, "--set", "importance=0.4"), ("doctor", "--fix"), ("forget", ID),
    ("feedback", ID, "down"), ("undo",), ("decay",), ("consolidate",), ("reflect", "--stale"), ("maintain",), ("session", "add", "user", "Hello"),
    ("session", "flush"), ("session", "end"), ("task", "step", "--result", "42 GB"), ("task", "complete", "done"), ("restore", "mem_20250108_23aad179f08d"),
    ("git", "settle"), ("reindex",), ("confirm", ID), ("knowledge", "remove", "migration-checklist.md"), ("config", "set", "query_top", "5"),
)  # fmt: skip


def targets(world: World) -> list[Path]:
    """A file of each sort; `memory.json` more often, because it is all there is."""
    folder = world.folder
    one_of = (
        "reflections/*.md",
        "knowledge/*.md",
        "sessions/*.json",
        "sessions/pending/*.json",
        "transcripts/*.jsonl",
        ".memctl/state/trash/*.json",
    )
    found = [path for pattern in one_of for path in sorted(folder.glob(pattern))[:2]]
    named = ("feedback.jsonl", ".memctl/state/operations.jsonl", ".memctl/state/receipts.jsonl", ".gitattributes")
    found += [folder / name for name in named if (folder / name).exists()]
    return [*([folder / "memory.json"] * 8), *found, *([world.tool.store / "memctl.yaml"] * 3)]


def records(data: bytes) -> list[bytes] | None:
    """The records of a file as they stand there, None where it cannot be read."""
    try:
        return [record.raw for record in document.parse(data).records]
    except MemctlError:
        return None


def kept(world: World, before: list[bytes], written: tuple[str, ...]) -> None:
    """Whatever a change does to a record, its id is in the file, or the record is in the trash."""
    trash = b"".join(path.read_bytes() for path in (world.folder / ".memctl/state/trash").glob("*.json"))
    there = (world.folder / "memory.json").read_bytes() + trash
    readable = [raw for raw in before if isinstance(json.loads(raw), dict)]
    gone = [raw for raw in readable if raw not in there and json.loads(raw).get("content", "").encode() not in there]
    gone = [raw for raw in gone if _plain_id(raw) not in there]
    assert not gone, f"{len(gone)} records lost by {written}: {gone[:2]}"


def _plain_id(raw: bytes) -> bytes:
    return str(json.loads(raw).get("memory_id")).encode("utf-8", "replace")


@settings(max_examples=4000 if TORTURE else sampled(40), phases=GENERATE)
@given(seed=st.integers(0, 2**40))
def test_a_spoilt_file(seed: int, world: World) -> None:
    dice = Random(seed)
    world.restore()
    path = dice.choice(targets(world))
    data = spoiling.spoilt(path.read_bytes(), dice)
    path.write_bytes(data)
    memory_file = world.folder / "memory.json"
    for command in dice.sample(READS, 3):
        before = world.state()
        world.run(*command)
        assert world.state() == before, f"{command} only looks"
    for command in dice.sample(WRITES, 2):
        before = memory_file.read_bytes()
        readable = records(before)
        shown = world.run(*command)
        after = memory_file.read_bytes()
        if readable is None and command != ("git", "settle"):
            assert after == before, f"{command} has written over what cannot be read"
        elif readable is not None and after != before:
            assert shown.code in (0, 1, 7) or records(after) is not None
            if command != ("undo",):  # it takes an addition back
                kept(world, readable, command)
    count_cases("tests/fuzz/test_files.py::test_a_spoilt_file", 4)


@settings(max_examples=1500 if TORTURE else sampled(15), phases=GENERATE)
@given(seed=st.integers(0, 2**40))
def test_what_is_no_file(seed: int, world: World) -> None:
    """A link, a pipe, a socket or a folder where a file should be: never followed, never waited for."""
    dice = Random(seed)
    world.restore()
    path = dice.choice(targets(world))
    made = spoiling.KINDS[dice.choice(sorted(spoiling.KINDS))]
    path.unlink()
    made(path, world.secret)
    kind = path.lstat().st_mode
    for command in [*dice.sample(READS, 3), *dice.sample(WRITES, 2)]:
        world.run(*command)
    assert path.lstat().st_mode == kind or path.name != "memory.json", "what lay in its place was replaced"
    count_cases("tests/fuzz/test_files.py::test_what_is_no_file", 4)


@pytest.mark.parametrize(
    "place",
    [
        "reflections",
        "knowledge",
        "sessions",
        ".memctl",
        ".memctl/state",
        ".memctl/cache",
        "reflections/sub",
        "knowledge/sub",
    ],
)
@pytest.mark.parametrize("kind", ["a link to a folder outside", "a pipe"])
def test_a_folder_that_is_none(place: str, kind: str, world: World) -> None:
    """Whole folders that lead elsewhere."""
    world.restore()
    path = world.folder / place
    aside = world.tool.store / ".aside"
    if path.exists():
        path.rename(aside)
    try:
        spoiling.KINDS[kind](path, world.secret)
        for command in (
            ("query", "assam tea"),
            ("list",),
            ("doctor",),
            ("add", "new"),
            ("session", "add", "user", "x"),
            ("knowledge", "list"),
            ("doctor", "--fix"),
            ("reindex",),
        ):
            world.run(*command)
    finally:
        path.unlink()
        if aside.exists():
            aside.rename(path)
        world.restore()
    count_cases("tests/fuzz/test_files.py::test_a_folder_that_is_none", 7)


@settings(max_examples=2000 if TORTURE else sampled(15), phases=GENERATE)
@given(seed=st.integers(0, 2**40))
def test_spoilt_twice_repaired_twice(seed: int, world: World) -> None:
    """`doctor --fix` ends, and what it repaired stays repaired; what it cannot repair it leaves to the byte."""
    dice = Random(seed)
    world.restore()
    path = world.folder / "memory.json"
    path.write_bytes(spoiling.spoilt(path.read_bytes(), dice))
    before = path.read_bytes()
    world.run("doctor", "--fix")
    once = path.read_bytes()
    world.run("doctor", "--fix")
    assert path.read_bytes() == once
    if records(before) is None:
        assert once == before
