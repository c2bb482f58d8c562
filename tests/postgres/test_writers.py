"""Many writers, and what becomes of acknowledged writes when a client, a process of the server or all of it is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import psycopg
import pytest
from conftest import PATIENCE, TORTURE, Database, count_cases
from databases import PROGRAM, Server

from memctl import MemoryStore, open_store
from memctl.core.models import Change
from memctl.doctor.examining import examine
from memctl.errors import DatabaseError, MemctlError

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
T = TypeVar("T")
PROCESSES, EACH = 8, 6
ROUNDS = int(os.environ.get("MEMCTL_TORTURE_KILLS", "200")) if TORTURE else 3
HERE = "tests/postgres/test_writers.py"
FORK = multiprocessing.get_context("fork")


def started(work: Callable[..., None], *arguments: Any) -> Any:
    process = FORK.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


# Eight at once


def write_some(address: str, environment: dict[str, str], number: int, shared: str) -> None:
    with open_store(address, "alice", environment=environment) as store:
        chat = store.sessions.conversation("s")
        for turn in range(EACH):
            store.add(f"Writer {number} saw the animal number {turn} at gate {number * 31 + turn}", now=NOW)
            store.feedback(shared, "up", now=NOW)
            chat.add(f"Writer {number} says {turn}", now=NOW)


def test_eight_writers_lose_nothing(database: Database, environment: dict[str, str]) -> None:
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        shared = store.add("What all of them judge", now=NOW).memory.memory_id
        every = [started(write_some, database.address, environment, n, shared) for n in range(PROCESSES)]
        for process in every:
            process.join(PATIENCE)
        assert [process.exitcode for process in every] == [0] * PROCESSES
        store.refresh()
        told = {memory.content for memory in store.all()}
        assert len(told) == PROCESSES * EACH + 1
        operations = store.history.operations()
        assert sum(each.command.startswith("feedback") for each in operations) == PROCESSES * EACH
        assert [each.number for each in operations] == list(range(1, len(operations) + 1))
        judged = store.engine.view().read("feedback.jsonl") or b""
        assert judged.count(b"\n") == PROCESSES * EACH
        assert len(store.sessions.conversation("s").get()) + _kept(store) >= PROCESSES * EACH
        assert [str(problem) for problem in examine(store, deep=True)] == []


def waiting(database: Database) -> int:
    """How many wait for a lock."""
    with psycopg.connect(database.admin) as connection:
        sql = (
            """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"""
        )
        return (connection.execute(sql).fetchone() or (0,))[0]


def wait_until(condition: Callable[[], T]) -> T:
    """Wait until something is true; returns it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_who_came_first_writes_first(database: Database, environment: dict[str, str]) -> None:
    """With a lottery, some writer would wait until its time is up, however short each change is."""
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        clones = [store.clone() for _ in range(7)]
        threads = [threading.Thread(target=clone.add, args=(f"Writer {n}",)) for n, clone in enumerate(clones)]
        with store.engine.storage.locked():
            for count, thread in enumerate(threads, 1):
                thread.start()
                wait_until(lambda count=count: waiting(database) == count)
        for thread in threads:
            thread.join(PATIENCE)
        changed = [each.records[0].memory_id for each in store.history.operations()]
        assert [store.get(name).content for name in changed] == [f"Writer {n}" for n in range(7)]
        for clone in clones:
            clone.close()


@pytest.mark.parametrize("meddle", ["message", "memory"])
def test_a_decision_sees_one_moment(meddle: str, database: Database, environment: dict[str, str]) -> None:
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        store.add("Alice drinks tea", now=NOW)
        other = store.clone()

        def add() -> None:
            if meddle == "memory":
                other.add("Alice rows", now=NOW)
            else:
                other.sessions.conversation("s").add("I row on the river", now=NOW)
                other.refresh()  # takes it into what is searched

        thread = threading.Thread(target=add)

        def decide(view: Any) -> Change:
            first = everything(store)
            thread.start()
            wait_until(lambda: waiting(database) > 0 or not thread.is_alive())
            assert everything(store) == first
            return Change("look")

        store.change(decide, now=NOW)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        other.close()


def everything(store: MemoryStore) -> dict[str, Any]:
    """All that a decision may read of memories, and of what is derived."""
    db = store.engine.storage.db  # type: ignore[attr-defined]
    tables = ("users", "memories", "texts", "lines", "log", "indexes", "entries", "postings", "vectors", "sketches")
    return {name: db.rows(f"SELECT t::text FROM {name} t WHERE user_id = $1 ORDER BY 1", db.user) for name in tables}


def _kept(store: Any) -> int:
    return sum(run.messages for run in store.conversations.runs())


WORK: dict[str, Callable[[MemoryStore, int], object]] = {
    "add": lambda store, n: store.add(f"Alice saw animal {n} at the gate", now=NOW),
    "purge": lambda store, n: store.purge([store.add(f"Gone: {n} numbats", now=NOW).memory.memory_id], now=NOW),
    "talk": lambda store, n: store.sessions.conversation("s").add(f"I saw animal {n}", now=NOW),
    "end": lambda store, n: (store.sessions.conversation(f"e{n}").add("Bye", now=NOW), store.end_session(f"e{n}")),
    "delete": lambda store, n: store.conversations.delete(
        [store.sessions.conversation(f"d{n}").add(f"Not so, {n}", now=NOW).id], now=NOW
    ),
    "ask": lambda store, n: store.query(f"which animal is at gate {n}?", now=NOW),
    "forget": lambda store, n: store.forget([store.add(f"A slip, {n}", now=NOW).memory.memory_id], now=NOW),
    "reindex": lambda store, n: store.reindex() if n == 3 else store.maintain(skip=("decay", "consolidate"), now=NOW),
}


def test_no_two_kinds_of_work_wait_for_each_other(database: Database, environment: dict[str, str]) -> None:
    """All locks are taken in one order, or the server ends one of the transactions as a deadlock."""
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        problems: list[Exception] = []
        clones = {name: store.clone() for name in WORK}

        def work(name: str) -> None:
            try:
                for n in range(8):
                    WORK[name](clones[name], n)
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(name,)) for name in WORK]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        for clone in clones.values():
            clone.close()
        assert problems == []
        with psycopg.connect(database.admin) as connection:
            sql = (
                "SELECT pg_stat_force_next_flush(), deadlocks FROM pg_stat_database WHERE datname = current_database()"
            )
            assert (connection.execute(sql).fetchone() or ())[1] == 0
        store.refresh()
        assert [str(problem) for problem in examine(store, deep=True)] == []


def test_a_message_that_comes_during_a_rebuild_is_found(database: Database, environment: dict[str, str]) -> None:
    """Receiving one does not wait for a rebuild, so the rebuild must not take it for one that it has indexed."""
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        store.add("Alice rows", now=NOW)
        other = store.clone()

        def receive(*progress: object) -> None:
            if not other.sessions.conversation("s").get():
                other.sessions.conversation("s").add("I saw a numbat at the gate", now=NOW)

        store.reindex(receive)
        other.close()
        store.refresh()
        assert [str(problem) for problem in examine(store, deep=True)] == []


def test_changes_of_the_same_moment_are_retried(database: Database, environment: dict[str, str]) -> None:
    """Two threads, each with a store of its own, change one fact again and again: each sees what the other wrote."""
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        store.add("0", key="count", value="0", now=NOW)
        clones = [store.clone() for _ in range(2)]
        threads = [threading.Thread(target=_count_up, args=(clone,)) for clone in clones]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        (value,) = [memory.value for memory in store.all() if memory.key == "count"]
        assert value == "20"
        for clone in clones:
            clone.close()


def _count_up(store: Any) -> None:
    from dataclasses import replace

    def decide(view: Any) -> Change:
        memory = next(each for each in view.all() if each.key == "count")
        return Change("count", puts=(replace(memory, value=str(int(memory.value) + 1)),))

    for _ in range(10):
        store.change(decide, now=NOW)


# Killed clients and servers


def write_on(address: str, environment: dict[str, str], said: Connection, beginning: int) -> None:
    """Write on and on; say what was acknowledged."""
    with open_store(address, "alice", environment=environment) as store:
        number = beginning
        while True:
            number += 1
            text = f"Line {number} of the log book, {number * 7919}"
            try:
                if number % 3:
                    name = store.add(text, now=NOW).memory.memory_id
                else:
                    name = store.sessions.conversation(f"s{number // 50}").add(text, now=NOW).id
            except MemctlError:
                time.sleep(0.02)
                continue
            said.send(name)


class Writer:
    """A process that writes, and what it said."""

    def __init__(self, address: str, environment: dict[str, str], beginning: int) -> None:
        self.heard, said = FORK.Pipe(duplex=False)
        self.process = started(write_on, address, environment, said, beginning)
        said.close()
        self.acknowledged: list[str] = []

    def hear(self, count: int, timeout: float = PATIENCE) -> None:
        """Wait for so many more acknowledgements."""
        wanted, deadline = len(self.acknowledged) + count, time.monotonic() + timeout
        while len(self.acknowledged) < wanted and time.monotonic() < deadline:
            if self.heard.poll(1):
                self.acknowledged.append(self.heard.recv())
        assert len(self.acknowledged) >= wanted, "nothing was written"

    def kill(self) -> list[str]:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join(PATIENCE)
        try:
            while self.heard.poll(0):
                self.acknowledged.append(self.heard.recv())
        except EOFError:
            pass
        return self.acknowledged


def all_is_there(address: str, environment: dict[str, str], acknowledged: list[str]) -> None:
    with open_store(address, "alice", environment=environment) as store:
        store.refresh()
        there = {memory.memory_id for memory in store.all()}
        assert {
            name for name in acknowledged if name not in there and not store.engine.view().is_message(name)
        } == set()
        assert [str(problem) for problem in examine(store, deep=True)] == []
        assert store.query("log book", now=NOW).hits


def test_a_killed_client_loses_nothing_acknowledged(database: Database, environment: dict[str, str]) -> None:
    open_store(database.address, "alice", create=True, environment=environment).close()
    acknowledged: list[str] = []
    for turn in range(ROUNDS):
        writer = Writer(database.address, environment, turn * 10_000)
        writer.hear(3 + turn % 5)
        acknowledged += writer.kill()
    all_is_there(database.address, environment, acknowledged)
    count_cases(f"{HERE}::test_a_killed_client_loses_nothing_acknowledged", ROUNDS)


def backends(server: Server) -> list[int] | None:
    """The processes of the server that serve memctl; None while it recovers from a crash."""
    sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'memctl' AND backend_type = 'client backend'"
    with suppress(psycopg.OperationalError), psycopg.connect(server.address("postgres")) as connection:
        return [pid for (pid,) in connection.execute(sql)]
    return None


def recovered(server: Server, pid: int) -> bool:
    """Whether it has recovered since that process of it was killed: until then it lists it, or does not answer."""
    found = backends(server)
    return found is not None and pid not in found


def test_a_killed_process_of_the_server_loses_nothing(own_server: Server, environment: dict[str, str]) -> None:
    address = own_server.address("own", PROGRAM)
    open_store(address, "alice", create=True, environment=environment).close()
    writer = Writer(address, environment, 0)
    for _ in range(ROUNDS):
        writer.hear(3)
        pid = wait_until(lambda: backends(own_server))[0]
        os.kill(pid, signal.SIGKILL)  # the server recovers as after a crash
        wait_until(lambda pid=pid: recovered(own_server, pid))
        writer.hear(2)
    all_is_there(address, environment, writer.kill())
    count_cases(f"{HERE}::test_a_killed_process_of_the_server_loses_nothing", ROUNDS)


def test_a_crash_of_the_server_loses_nothing(own_server: Server, environment: dict[str, str]) -> None:
    address = own_server.address("own", PROGRAM)
    open_store(address, "alice", create=True, environment=environment).close()
    writer = Writer(address, environment, 0)
    process = None
    for _ in range(ROUNDS):
        writer.hear(3)
        own_server.stop("immediate")
        process = own_server.start()
        writer.hear(2)
    all_is_there(address, environment, writer.kill())
    own_server.stop("immediate")
    assert process is None or process.wait(PATIENCE) is not None
    own_server.start()
    count_cases(f"{HERE}::test_a_crash_of_the_server_loses_nothing", ROUNDS)


def test_a_server_that_goes_away_is_an_error_and_the_pool_recovers(
    own_server: Server, environment: dict[str, str]
) -> None:
    with open_store(own_server.address("own", PROGRAM), "alice", create=True, environment=environment) as store:
        kept = store.add("before", now=NOW).memory
        own_server.stop("immediate")
        with pytest.raises(DatabaseError) as raised:
            store.add("meanwhile", now=NOW)
        assert raised.value.exit_code == 8
        own_server.start()
        store.add("after", now=NOW)
        assert {memory.content for memory in store.all()} == {"before", "after"}
        assert store.get(kept.memory_id).content == "before"


def test_no_model_is_called_inside_a_transaction(database: Database, environment: dict[str, str]) -> None:
    """A slow model is asked while no transaction is open; the built-in one is arithmetic, not a call."""
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        storage = store.engine.storage
        inner, seen = storage.embedder, []  # type: ignore[attr-defined]

        class Slow:
            identity, name, slow, languages = "slow/1", "slow", True, frozenset[str]()

            def embed(self, texts: list[str]) -> Any:
                seen.append(storage.db.in_transaction)  # type: ignore[attr-defined]
                return inner.embed(texts)

        storage.embedder = Slow()  # type: ignore[attr-defined]
        store.add("Alice rows", now=NOW)
        store.sync()
        assert seen
        assert not any(seen)
