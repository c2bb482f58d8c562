"""A large store: `python -m bench.large`. Each command runs in a process of its own, beside reading every record.

Seconds are of CPU, so that another program on the machine moves no ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.life import lived
from bench.speed import Row, machine, publish
from memctl import open_store
from memctl.core.models import Change

COUNT = 100_000
MARK = "<!-- table: python -m bench.large --write -->"
MEGABYTE = 1024 * 1024
MEGABYTES = 300
"""The most that a command may take, however many memories there are."""
FEW = 3
"""So many times as long as a cold query may take what needs a few memories."""

READ = "from memctl import open_store\nstore = open_store(sys.argv[1])\nsum(1 for _ in store.all())\n"
COMMAND = "from memctl.cli.main import main\nassert main(sys.argv[2:]) == 0\n"
COMPLETION = """os.environ |= {"_MEMCTL_COMPLETE": "complete_lines", "_MEMCTL_LINE": "memctl show 7"}
import contextlib
from memctl.cli.main import main
with contextlib.suppress(SystemExit):
    main([])
"""
GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost")
MERGE = (
    f"import subprocess\nsubprocess.run([*{GIT}, 'merge', '-q', '-m', 'both', 'other'], cwd=sys.argv[2], check=True)\n"
)
MEASURED = """import os, resource, sys, time
os.environ["MEMCTL_STORE"] = sys.argv[1]
sys.stdout = open(os.devnull, "w")
start = time.process_time()
{}
others = resource.getrusage(resource.RUSAGE_CHILDREN)
taken = time.process_time() - start + others.ru_utime + others.ru_stime
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(taken, max(int(peak), others.ru_maxrss), file=sys.stderr)
"""


@dataclass(frozen=True)
class Taken:
    """What a process and those it started took: seconds of CPU, and bytes of the largest at its peak."""

    seconds: float
    peak: int


@dataclass(frozen=True)
class Case:
    """A command, and how many times as long as reading every record it may take, with how many megabytes."""

    arguments: tuple[str, ...]
    most: float
    megabytes: int = MEGABYTES


CASES = (
    Case(("doctor",), 4),
    Case(("inspect",), 3),
    Case(("conflicts",), 12),
    Case(("consolidate", "--dry-run"), 10),
)


def taken(store: Path, code: str, arguments: Sequence[str] = ()) -> Taken:
    """What a fresh process takes for some code, its imports included."""
    root = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-c", MEASURED.format(code), str(store), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": root})
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, kilobytes = done.stderr.splitlines()[-1].split()
    return Taken(float(seconds), int(kilobytes) * 1024)


def measure(root: Path, count: int) -> list[Row]:
    store = root / "store"
    memories = list(lived(count))
    with open_store(store, user="bench", create=True) as made:
        start = time.process_time()
        made.add_many(memories, allow_duplicate=True)
        rate = count / (time.process_time() - start)
        last = made.all()[-1].memory_id
    rows = [Row(f"import of {count:,} with embedding", f"{rate:,.0f}/s", "", "≥ 2,000/s", rate >= 2_000)]
    cases = (*CASES, Case(("forget", last, "--purge", "--yes"), 6))
    rows += [_beside_reading(store, case, COMMAND, case.arguments) for case in cases]
    part(store, "bench")
    rows.append(_beside_reading(store, Case(("git merge",), 5, 600), MERGE, [str(store / "bench")]))
    return [*rows, *_few(store)]


def part(store: Path, user: str) -> None:
    """Two branches in git, of which each has changed one memory in a hundred."""
    taken(store, COMMAND, ("git", "init"))
    _commit(store / user, "all")
    _git(store / user, "branch", "start")
    for offset, branch in ((0, "other"), (50, "mine")):
        _git(store / user, "checkout", "-q", "-b", branch, "start")
        with open_store(store, user=user) as opened:
            some = [replace(each, content=f"{each.content} Seen.") for each in opened.all()[offset::100]]
            opened.change(lambda view, some=tuple(some): Change("edit", some))  # type: ignore[misc]
        _commit(store / user, branch)


def _commit(folder: Path, message: str) -> None:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", message)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run([*GIT, *arguments], cwd=folder, check=True)


def _beside_reading(store: Path, case: Case, code: str, arguments: Sequence[str]) -> Row:
    """A command, beside reading every record right before: on a busy machine all takes longer, but not always."""
    base = sorted((taken(store, READ) for _ in range(3)), key=lambda one: one.seconds)[1]
    took = taken(store, code, arguments)
    name = " ".join("ID" if word.startswith("mem_") else word for word in case.arguments)
    times, peak = took.seconds / base.seconds, took.peak / MEGABYTE
    return Row(
        f"`{name}`",
        f"{took.seconds:.1f} s = {times:.1f} x, {peak:.0f} MB",
        f"reading every record: {base.seconds:.2f} s",
        f"≤ {case.most:g} x, ≤ {case.megabytes} MB",
        times <= case.most and peak <= case.megabytes,
    )


def _few(store: Path) -> list[Row]:
    """Commands that need a few memories, beside a cold query."""
    query = _quickest(store, COMMAND, ("query", "what needs a look?"))
    listed = _quickest(store, COMMAND, ("list", "--limit", "20"))
    completed = _quickest(store, COMPLETION)
    return [_beside_query("`list --limit 20`", listed, query), _beside_query("completion of an id", completed, query)]


def _quickest(store: Path, code: str, arguments: Sequence[str] = ()) -> Taken:
    return min((taken(store, code, arguments) for _ in range(5)), key=lambda one: one.seconds)


def _beside_query(name: str, took: Taken, query: Taken) -> Row:
    times, peak = took.seconds / query.seconds, took.peak / MEGABYTE
    value = f"{took.seconds:.2f} s = {times:.1f} x, {peak:.0f} MB"
    good = times <= FEW and peak <= MEGABYTES
    return Row(name, value, f"cold `query`: {query.seconds:.2f} s", f"≤ {FEW} x, ≤ {MEGABYTES} MB", good)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="memories in the store")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    where = machine()
    with tempfile.TemporaryDirectory() as directory:
        rows = measure(Path(directory), options.count)
    publish(MARK, f"{where}, {options.count:,} memories", rows, write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
