"""How fast the local page answers: `python -m bench.web`. The real server, asked over a socket as a browser asks."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.life import lived
from bench.speed import Row, machine, median_ms, publish
from memctl import open_store

MARK = "<!-- table: python -m bench.web --write -->"
GOALS = {10_000: 50, 100_000: 200}
"""Milliseconds that a page may take, by the number of memories."""

PAGES = (
    "/", "/search", "/search?q=what+does+she+drink", "/context?q=what+does+she+drink", "/memory/{id}", "/history-of/{id}",
    "/edit/{id}", "/conversations", "/tasks", "/reflections", "/documents", "/history", "/store",
)  # fmt: skip
PAST = "as_of=2026-12-01"
"""The first view of a past moment may take longer; the second is measured."""


@contextmanager
def visitor(store: Path) -> Iterator[httpx.Client]:
    """A client that has opened the link of a server, which runs until the end."""
    command = [str(Path(sys.executable).with_name("memctl")), "--store", str(store), "web", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            link = next(match[0] for line in server.stdout if (match := re.search(r"http://\S+", line)))
            with httpx.Client(base_url=link.partition("/open")[0], timeout=600, follow_redirects=True) as client:
                client.get(link).raise_for_status()
                yield client
        finally:
            server.terminate()


def filled(root: Path, count: int) -> tuple[Path, str]:
    """A store with so many memories, and the id of one of them."""
    with open_store(root / str(count), "alice", create=True) as store:
        added = store.add_many(list(lived(count)), allow_duplicate=True)
        store.sync()
        return root / str(count), added[count // 2].memory.memory_id


def measure(root: Path, count: int, tries: int) -> list[Row]:
    place, memory_id = filled(root, count)
    goal = GOALS[min((size for size in GOALS if size >= count), default=max(GOALS))]
    rows = []
    with visitor(place) as client:
        bare = median_ms(lambda: client.get("/static/style.css"), tries)
        for path in PAGES:
            rows.append(_row(client, path.format(id=memory_id), path, count, goal, tries, bare))
        for path in ("/search?q=tea&" + PAST, "/memory/{id}?" + PAST):
            rows.append(_row(client, path.format(id=memory_id), path, count, goal, tries, bare))
    return rows


def _row(client: httpx.Client, path: str, name: str, count: int, goal: int, tries: int, bare: float) -> Row:
    client.get(path).raise_for_status()
    took = median_ms(lambda: client.get(path).raise_for_status(), tries)
    return Row(f"`{name}`, {count:,}", f"{took:.0f} ms", f"a file: {bare:.1f} ms", f"≤ {goal} ms", took <= goal)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(GOALS), help="how many memories")
    parser.add_argument("--tries", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    where = machine()
    with tempfile.TemporaryDirectory() as directory:
        rows = [row for size in options.sizes for row in measure(Path(directory), size, options.tries)]
    publish(MARK, where, rows, write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
