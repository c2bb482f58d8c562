"""The life of memories at size: `python -m bench.life`. Each row stands beside reading the same records, same run."""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from bench.corpus import memories
from bench.speed import Row, as_markdown, machine
from memctl import open_store
from memctl.models import Memory
from memctl.store import MemoryStore

NOW = datetime(2027, 1, 1, tzinfo=UTC)
SIZES = (5_000, 10_000, 20_000)
GOAL_SECONDS = 10.0
"""For 10,000 memories."""

MOST_GROWTH = 2.5
"""Twice the memories may take so many times as long; four times would be quadratic."""

_TASKS = ("restart", "upgrade", "back up", "restore", "measure", "clean")
_WAYS = ("drain it first, then", "on a copy, then", "at night, then", "in two steps, then", "by hand, then")


def lived(count: int, seed: int = 5) -> Iterator[Memory]:
    """A store that was used for a while: one in ten is nearly said before, episodes have targets, tasks and outcomes."""
    chance = random.Random(seed)
    for number, memory in enumerate(memories(count - count // 10, seed)):
        yield _worked(memory, number, chance) if memory.kind == "episode" else memory
        if number % 9 == 8:
            again = memory.content.replace("; note", " - note").replace(" about ", " really about ")
            yield replace(memory, content=again, tags=("again",))


def _worked(memory: Memory, number: int, chance: random.Random) -> Memory:
    target, task, way = f"service-{number // 20}", chance.choice(_TASKS), chance.choice(_WAYS)
    about = {
        "target": target,
        "task_description": f"{task} {target} number {number % 700}",
        "approach": f"{way} {task} it and look at {memory.content.split(' about ')[-1]}",
        "outcome": chance.choice(("success", "success", "success", "partial", "failure")),
        "lessons": [f"{memory.content[:50]} needs a look"],
    }
    return replace(memory, metadata=about)


def seconds(action: Callable[[], object], tries: int) -> float:
    """Median time of an action; the first try, which warms caches, does not count."""
    action()
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def consolidating(directory: Path, sizes: Sequence[int], tries: int) -> list[Row]:
    """`consolidate --dry-run` over stores of growing size."""
    rows, taken = [], {}
    for count in sizes:
        with open_store(directory / str(count), user="bench", create=True) as store:
            store.add_many(list(lived(count)), allow_duplicate=True)
            base = seconds(lambda store=store: list(store.all()), tries)
            taken[count] = seconds(lambda store=store: store.consolidate(dry_run=True, now=NOW), tries)
            found = _found(store)
        goal = GOAL_SECONDS * count / 10_000
        rows.append(
            Row(
                f"`consolidate --dry-run`, {count:,} ({found})",
                f"{taken[count]:.2f} s = {taken[count] / base:.1f} x",
                f"reading every record: {base:.2f} s",
                f"≤ {goal:g} s",
                taken[count] <= goal,
            )
        )
    for less, more in pairwise(sizes):
        growth = taken[more] / taken[less]
        what = f"growth of that from {less:,} to {more:,}"
        rows.append(Row(what, f"{growth:.2f} x", "", f"≤ {MOST_GROWTH:g} x", growth <= MOST_GROWTH))
    return rows


def _found(store: MemoryStore) -> str:
    plan = store.consolidate(dry_run=True, now=NOW).plan
    parts = [made.part for made in plan.made]
    return f"{plan.superseded} merged, {parts.count('knowledge')} knowledge, {parts.count('skills')} strategies"


def measure(directory: Path, *, quick: bool) -> list[Row]:
    """The whole table."""
    sizes = SIZES[:2] if quick else SIZES
    return consolidating(directory, sizes, 1 if quick else 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller stores, fewer tries")
    options = parser.parse_args()
    where = machine()
    with tempfile.TemporaryDirectory() as directory:
        rows = measure(Path(directory), quick=options.quick)
    print(f"{where}\n\n{as_markdown(rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
