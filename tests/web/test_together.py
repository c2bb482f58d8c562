"""Many readers at once, a writer beside them, changes from outside, and the process that checks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from conftest import PATIENCE, write_by_hand

from memctl import MemoryStore
from memctl.web.checks import CHECKS, Checks, Result

from .conftest import both
from .site import Visitor, words

READERS, WRITES = 100, 30
PATHS = ("/", "/search", "/search?q=tea", "/stamp", "/history", "/store", "/memory/mem_20250111_3f4b7ca5e3de")


@both
def test_a_hundred_readers_while_a_writer_adds(visitor: Visitor, alice: MemoryStore) -> None:
    writer = alice.clone()
    added: list[str] = []

    def write() -> None:
        for number in range(WRITES):
            added.append(writer.add(f"Alice drank tea number {number}").memory.memory_id)

    thread = threading.Thread(target=write)
    thread.start()
    with ThreadPoolExecutor(READERS) as readers:
        statuses = list(readers.map(lambda n: visitor.get(PATHS[n % len(PATHS)]).status_code, range(READERS)))
    thread.join()
    writer.close()
    assert statuses == [200] * READERS
    assert len(added) == WRITES
    page = visitor.page("/search")
    assert all(memory_id in page for memory_id in added[-5:])


def test_a_change_from_outside_changes_the_stamp(visitor: Visitor, alice: MemoryStore) -> None:
    def stamp() -> str:
        return visitor.page("/stamp").partition(".")[0]

    first = stamp()
    assert stamp() == first
    text = alice.folder.memory_file.read_text("utf-8")
    write_by_hand(alice.folder.memory_file, text.replace("tree nuts", "all nuts"))
    second = stamp()
    assert second != first
    write_by_hand(alice.folder.reflections / "new.md", "# New\n")
    assert stamp() not in (first, second)
    assert "all nuts" in words(visitor.page("/search?q=nuts"))


def test_checks_are_made_in_another_process(alice: MemoryStore) -> None:
    others = set(multiprocessing.active_children())
    checks = Checks(str(alice.folder.root.parent), "alice")
    try:
        found = {name: checks.get(name, "now", PATIENCE) for name in CHECKS}
        assert all(result.stamp == "now" and not result.failed for result in found.values())
        assert len(found["conflicts"].value.pairs) == 2
        assert len(found["fading"].value.due) == 4
        assert found["totals"].value.counts.statuses["active"] == 66
        assert found["overview"].value.total == 71
        (process,) = set(multiprocessing.active_children()) - others
        os.kill(process.pid, signal.SIGSTOP)
        assert checks.get("conflicts", "later") == found["conflicts"]  # the old one, while a new one is made
        os.kill(process.pid, signal.SIGCONT)
        assert checks.get("conflicts", "later", PATIENCE).stamp == "later"
    finally:
        checks.close()


def test_a_process_that_is_killed_is_started_again(alice: MemoryStore) -> None:
    others = set(multiprocessing.active_children())
    checks = Checks(str(alice.folder.root.parent), "alice")
    try:
        assert checks.get("totals", "1", PATIENCE).value
        for child in set(multiprocessing.active_children()) - others:
            os.kill(child.pid, signal.SIGKILL)
        failed = checks.get("totals", "2", PATIENCE)
        assert failed.failed
        assert checks.get("totals", "3", PATIENCE).value
    finally:
        checks.close()


def test_a_check_that_fails_says_why(tmp_path) -> None:
    checks = Checks(str(tmp_path / "nowhere"), "nobody")
    try:
        assert checks.get("totals", "now", PATIENCE).failed
    finally:
        checks.close()
    assert checks.get("totals", "later") != Result()


def test_every_page_works_without_a_log_or_messages(
    visit: Callable[..., Visitor], opener: Callable[..., MemoryStore]
) -> None:
    visitor = visit(opener()).enter()
    for path in ("/", "/search", "/search?q=x", "/context?q=x", "/conversations", "/tasks", "/reflections", "/documents",
                 "/history", "/store", "/?as_of=2026-01-01"):  # fmt: skip
        assert visitor.page(path)
