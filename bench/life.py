"""The life of memories at size: `python -m bench.life`. Each row stands beside reading the same records, same run."""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.corpus import memories
from bench.speed import Row, machine, publish
from memctl import open_store
from memctl.core.limits import DECAY_POLICIES
from memctl.core.models import Memory
from memctl.store import MemoryStore

NOW = datetime(2027, 1, 1, tzinfo=UTC)
SIZES = (5_000, 10_000, 20_000)
MARK = "<!-- table: python -m bench.life --write -->"
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


@dataclass(frozen=True)
class Act:
    """A command to measure: what it does, what it found in words, and the seconds it may take for 10,000 memories."""

    name: str
    run: Callable[[MemoryStore], object]
    found: Callable[[object], str]
    goal_seconds: float


ACTS = (
    Act(
        "decay --dry-run",
        lambda store: store.decay.run(policies=DECAY_POLICIES, dry_run=True, now=NOW),
        lambda report: f"{len(report.faded)} fade",
        2.0,
    ),
    Act(
        "consolidate --dry-run",
        lambda store: store.consolidation.run(dry_run=True, now=NOW),
        lambda report: _consolidated(report),
        10.0,
    ),
    Act("conflicts", lambda store: store.conflicts.open(now=NOW), lambda found: f"{len(found.found)} pairs", 10.0),
)


def measure(directory: Path, sizes: Sequence[int], tries: int) -> list[Row]:
    """Each act over stores of growing size, and how it grows."""
    taken: dict[tuple[str, int], float] = {}
    rows = []
    for count in sizes:
        with open_store(directory / str(count), user="bench", create=True) as store:
            store.add_many(list(lived(count)), allow_duplicate=True)
            base = seconds(lambda store=store: list(store.all()), tries)
            for act in ACTS:
                taken[act.name, count] = seconds(lambda store=store, act=act: act.run(store), tries)
                rows.append(_row(act, count, taken[act.name, count], base, act.found(act.run(store))))
    return sorted(rows, key=lambda row: row.what.split(",")[0]) + [
        _growth(act, less, more, taken[act.name, more] / taken[act.name, less])
        for act in ACTS
        for less, more in pairwise(sizes)
    ]


def _row(act: Act, count: int, took: float, base: float, outcome: str) -> Row:
    goal = act.goal_seconds * count / 10_000
    what, beside = f"`{act.name}`, {count:,} ({outcome})", f"reading every record: {base:.2f} s"
    return Row(what, f"{took:.2f} s = {took / base:.1f} x", beside, f"≤ {goal:g} s", took <= goal)


def _growth(act: Act, less: int, more: int, growth: float) -> Row:
    what = f"growth of `{act.name}` from {less:,} to {more:,}"
    return Row(what, f"{growth:.2f} x", "", f"≤ {MOST_GROWTH:g} x", growth <= MOST_GROWTH)


def _consolidated(report: Any) -> str:
    parts = [made.part for made in report.plan.made]
    return f"{report.plan.superseded} merged, {parts.count('knowledge')} knowledge, {parts.count('skills')} strategies"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller stores, fewer tries")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    where = machine()
    with tempfile.TemporaryDirectory() as directory:
        rows = measure(Path(directory), SIZES[:2] if options.quick else SIZES, 1 if options.quick else 3)
    publish(MARK, where, rows, write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
