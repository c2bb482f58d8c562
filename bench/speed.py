"""Speed, as ratios to a baseline of the same run: `make bench`, or `python -m bench.speed [--write] [--quick]`.

Every figure is the median of several tries. A busy machine slows baseline and program alike, so the ratios hold where
the milliseconds do not. `--write` puts the table into `docs/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import mul
from pathlib import Path

from bench.corpus import memories, questions
from memctl import open_store
from memctl.core.models import Filters
from memctl.store import MemoryStore

ROOT = Path(__file__).resolve().parent.parent
MEMCTL = str(Path(sys.executable).with_name("memctl"))
PAGE = ROOT / "docs" / "benchmarks.md"
MARK = "<!-- table: python -m bench.speed --write -->"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    beside: str
    goal: str
    met: bool


def median_ms(action: Callable[[], object], tries: int) -> float:
    """Median time of an action in milliseconds; the first try, which warms caches, does not count."""
    action()
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def process(command: Sequence[str], environment: dict[str, str] | None = None) -> Callable[[], object]:
    """Running a command as a whole process."""
    return lambda: subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


def on_a_terminal(command: Sequence[str]) -> Callable[[], object]:
    """Running a command whose output is a terminal."""
    import pty

    def run() -> None:
        child, handle = pty.fork()
        if child == 0:
            os.execvp(command[0], list(command))
        try:
            while os.read(handle, 65536):
                pass
        except OSError:
            pass
        os.close(handle)
        os.waitpid(child, 0)

    return run


def make_store(folder: Path, count: int) -> tuple[MemoryStore, float]:
    """A store of `count` memories, and how many a second were added (embedding included)."""
    store = open_store(folder, user="bench", create=True)
    made = list(memories(count))
    start = time.perf_counter()
    store.add_many(made)
    return store, count / (time.perf_counter() - start)


def starting(tries: int) -> list[Row]:
    """How long the command takes to begin."""
    base = median_ms(process([sys.executable, "-c", "import typer"]), tries)
    rows = []
    for what, command, goal in (
        ("`memctl --version`", process([MEMCTL, "--version"]), 1.5),
        ("`memctl --help`, off a terminal", process([MEMCTL, "--help"]), 1.6),
        ("`memctl --help`, on a terminal", on_a_terminal([MEMCTL, "--help"]), 3.0),
    ):
        taken = median_ms(command, tries)
        rows.append(_ratio(what, taken, base, "`import typer`", goal))
    return rows


def _ratio(what: str, taken: float, base: float, beside: str, goal: float) -> Row:
    ratio = taken / base
    return Row(what, f"{taken:.1f} ms = {ratio:.2f} x", f"{beside}: {base:.1f} ms", f"≤ {goal:g} x", ratio <= goal)


def cold_query(folder: Path, count: int, tries: int) -> list[Row]:
    """A whole process that asks one question, its time and its peak memory."""
    base = median_ms(process([sys.executable, "-c", "import typer"]), tries)
    environment = {**os.environ, "MEMCTL_STORE": str(folder)}
    ask = [MEMCTL, "query", questions(1)[0]]
    taken = median_ms(process(ask, environment), tries)
    peak = _peak_mib(ask, environment)
    return [
        _ratio(f"`memctl query` cold, {count:,} memories", taken, base, "`import typer`", 4.0),
        Row(f"peak memory of that, {count:,}", f"{peak:.0f} MiB", "", "≤ 120 MiB", peak <= 120),
    ]


def _peak_mib(command: Sequence[str], environment: dict[str, str]) -> float:
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True, env=environment
    )
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    return int(done.stdout) / unit


def warm_query(store: MemoryStore, count: int, tries: int, goal_ms: float) -> list[Row]:
    """A question to an open store, beside a bare full-text query of the same words, and how exact its vector search is."""
    asked = questions(tries)
    position = iter(asked * 4)
    taken = median_ms(lambda: store.query(next(position)), tries)
    bare_position = iter(asked * 4)
    bare = median_ms(lambda: _bare_full_text(store, next(bare_position)), tries)
    what = f"warm query p50, {count:,}"
    return [
        Row(
            what,
            f"{taken:.1f} ms = {taken / bare:.1f} x",
            f"bare FTS5 query: {bare:.2f} ms",
            f"≤ {goal_ms:g} ms",
            taken <= goal_ms,
        ),
    ]


def warm_context(store: MemoryStore, count: int, tries: int) -> list[Row]:
    """Packing a context, beside the query in it."""
    position, bare_position = iter(questions(tries) * 4), iter(questions(tries) * 4)
    taken = median_ms(lambda: store.build_context(next(position)), tries)
    bare = median_ms(lambda: store.query(next(bare_position)), tries)
    what, beside = f"warm context p50, {count:,}", f"a query: {bare:.1f} ms"
    return [Row(what, f"{taken:.1f} ms = {taken / bare:.1f} x", beside, "≤ 30 ms", taken <= 30)]


def _bare_full_text(store: MemoryStore, question: str) -> object:
    from memctl.core.text import terms

    match = terms.match_expression(terms.terms(question))
    sql = "SELECT rowid FROM full_text WHERE full_text MATCH ? ORDER BY rank LIMIT 10"
    return store.engine.files.index.connection.execute(sql, (match,)).fetchall()


def exactness(store: MemoryStore, count: int) -> Row:
    """How much of a search over unquantised vectors the index finds: share of its top 10."""
    embedder = store.engine.embedder
    if embedder is None:
        raise SystemExit("this measures the built-in model")
    texts = {memory.memory_id: memory.content for memory in store.all()}
    vectors = {name: _unit(vector) for name, vector in zip(texts, embedder.embed(list(texts.values())), strict=True)}
    shares = []
    for question in questions(12):
        asked = _unit(embedder.embed_query(question))
        scores = {name: sum(map(mul, vector, asked)) for name, vector in vectors.items()}
        best = sorted(scores, key=lambda name: -scores[name])[:10]
        rows = [hit.key for hit in store.engine.files.index.nearest(asked, Filters(), datetime.now(UTC), 10)]
        nearest = {entry.memory_id for entry in store.engine.files.index.matches(rows)}
        shares.append(len(nearest & set(best)) / 10)
    share = statistics.mean(shares)
    return Row(f"vector top 10 against exact float search, {count:,}", f"{share:.3f}", "", "≥ 0.98", share >= 0.98)


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return [x / length for x in vector]


def one_add(store: MemoryStore, count: int, tries: int, goal_ms: float) -> list[Row]:
    """One add, durable, beside a bare copy + fsync + rename of the same file."""
    number = iter(range(10**6))
    taken = median_ms(lambda: store.add(f"A new note, number {next(number)} of {time.time_ns()}"), tries)
    copied = median_ms(lambda: _copy(store.folder.memory_file), tries)
    ratio = taken / copied
    beside = f"bare copy + fsync + rename: {copied:.1f} ms"
    return [
        Row(f"one add, warm, {count:,}", f"{taken:.1f} ms = {ratio:.2f} x", beside, f"≤ {goal_ms:g} ms and ≤ 2.5 x", taken <= goal_ms and ratio <= 2.5)
    ]  # fmt: skip


def contradicted(store: MemoryStore, count: int, tries: int) -> Row:
    """How much longer an add takes because it reports what the new memory contradicts, each try with another memory."""
    facts = [memory for memory in store.all() if memory.kind == "fact"]
    position = iter(facts[:: max(1, len(facts) // (tries + 1))])
    taken = median_ms(lambda: store.conflicts.against(next(position)), tries)
    beside = f"{len(facts):,} facts among them"
    return Row(f"finding what one add contradicts, {count:,}", f"{taken:.1f} ms", beside, "≤ 10 ms", taken <= 10)


def _copy(path: Path) -> None:
    data = path.read_bytes()
    temporary = path.with_name(".bench-copy")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(handle, data)
    os.fsync(handle)
    os.close(handle)
    os.replace(temporary, path.with_name(".bench-copied"))
    directory = os.open(path.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def size(store: MemoryStore, count: int) -> Row:
    """Index bytes a memory."""
    store.engine.files.index.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    each = store.engine.files.index.path.stat().st_size / count
    return Row(f"index bytes a memory, {count:,}", f"{each:,.0f}", "", "≤ 2,000", each <= 2000)


_WRITER = """
import sys
from memctl import open_store
store = open_store(sys.argv[1], user="bench")
for number in range(int(sys.argv[3])):
    print(store.add(f"writer {sys.argv[2]} says {number}").memory.memory_id, flush=True)
"""


def writers(folder: Path, each: int) -> list[Row]:
    """Two processes writing at once; and one killed in the middle."""
    open_store(folder, user="bench", create=True).close()
    running = [_writer(folder, name, each) for name in "ab"]
    acknowledged = [line for process in running for line in process.communicate()[0].split()]
    errors = sum(process.returncode != 0 for process in running)
    kept = _ids(folder)
    lost = len(set(acknowledged) - kept)
    victim = _writer(folder, "c", 10**6)
    before_kill = [victim.stdout.readline().strip() for _ in range(40)] if victim.stdout else []
    victim.send_signal(signal.SIGKILL)
    before_kill += victim.communicate()[0].split()
    lost_after_kill = len({name for name in before_kill if len(name) == 25} - _ids(folder))
    return [
        Row(f"two writers x {each} adds", f"{len(acknowledged) - lost} of {2 * each}, {errors} errors", "", f"{2 * each} of {2 * each}", lost == 0 and errors == 0),
        Row("SIGKILL in the middle", f"{lost_after_kill} of {len(before_kill)} acknowledged lost", "", "0 lost", lost_after_kill == 0),
    ]  # fmt: skip


def _writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _ids(folder: Path) -> set[str]:
    with open_store(folder, user="bench") as store:
        return {memory.memory_id for memory in store.all()}


def measure(directory: Path, *, quick: bool) -> list[Row]:
    """The whole table."""
    tries = 7 if quick else 15
    rows = starting(tries)
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000)
    for count in sizes:
        store, rate = make_store(directory / str(count), count)
        with store:
            rows += warm_query(store, count, 40, 10 if count <= 10_000 else 40)
            if count == 10_000:
                rows += warm_context(store, count, 40)
            rows += one_add(store, count, tries, 15 if count <= 10_000 else 100) if count >= 10_000 else []
            rows.append(Row(f"bulk add with embedding, {count:,}", f"{rate:,.0f} / s", "", "≥ 2,000 / s", rate >= 2000))
            if count == 10_000:
                rows += [contradicted(store, count, 40), size(store, count), exactness(store, count)]
        rows += cold_query(directory / str(count), count, tries) if count == 10_000 else []
        shutil.rmtree(directory / str(count))
    return rows + writers(directory / "writers", 50 if quick else 200)


def as_markdown(rows: Sequence[Row]) -> str:
    """The table, as it stands in the documentation."""
    lines = ["| what | measured | beside it, same run | goal | met |", "|---|---|---|---|---|"]
    lines += [f"| {r.what} | {r.measured} | {r.beside} | {r.goal} | {'yes' if r.met else '**no**'} |" for r in rows]
    return "\n".join(lines)


def publish(mark: str, where: str, rows: Sequence[Row], *, write: bool) -> None:
    """Print a table, and put it into the page, behind its mark.

    Args:
        where: what it was measured on.
        write: whether it replaces the table in the page; the text around that stays.
    """
    table = f"{where}\n\n{as_markdown(rows)}\n"
    print(table)
    if write:
        head, _, rest = PAGE.read_text("utf-8").partition(mark)
        section, heading, after = rest.partition("\n## ")
        notes = section.rpartition("\n|")[2].partition("\n")[2] if "\n|" in section else section
        PAGE.write_text(f"{head}{mark}\n\n{table}{notes}{heading}{after}", "utf-8")


def machine() -> str:
    """What this was measured on."""
    load = os.getloadavg()[0]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}, load {load:.1f} at the start"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--quick", action="store_true", help="without 100,000 memories, fewer tries")
    options = parser.parse_args()
    where = machine()
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_CACHE_HOME"] = directory
        rows = measure(Path(directory), quick=options.quick)
    publish(MARK, where, rows, write=options.write)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"(peak memory of this process: {peak / 1024:.0f} MiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
