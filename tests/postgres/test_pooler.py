"""A pooler in transaction mode (PgBouncer) between memctl and the server: transactions of several clients take turns on a
connection, so nothing may depend on what an earlier one has set, prepared or locked."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import psycopg
import pytest
from conftest import PATIENCE, Database, fast_folder, lacking
from databases import OWNER, PROGRAM, Databases, unprivileged
from postgres.dump import dump

from memctl import copy_store, open_store
from memctl.doctor.examining import examine
from memctl.errors import MemctlError
from memctl.storage.postgres import address, schema

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
CONNECTIONS = 2
"""Of the pooler to the server, for each role: fewer than there are clients."""


@pytest.fixture(scope="module")
def pooler(databases: Databases) -> Iterator[Path]:
    """The folder with the socket of a pooler."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        lacking("pooler", "pgbouncer is not installed")
    server = dict(parse_qsl(urlsplit(databases.admin).query)).get("host", "")
    if not server:
        lacking("pooler", "the server of MEMCTL_TEST_POSTGRES has no socket in its address")
    folder = fast_folder()
    folder.chmod(0o777)
    (folder / "users.txt").write_text("".join(f'"{role}" ""\n' for role in (PROGRAM, OWNER, "postgres")))
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={server}\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {folder}\nlisten_port = 6432\n"
        f"auth_type = trust\nauth_file = {folder}/users.txt\npool_mode = transaction\n"
        f"default_pool_size = {CONNECTIONS}\nmax_client_conn = 100\n"
    )
    process = subprocess.Popen([program, "-q", str(folder / "pgbouncer.ini")], **unprivileged())
    deadline = time.monotonic() + PATIENCE
    while not (folder / ".s.PGSQL.6432").exists():
        assert process.poll() is None, "pgbouncer does not start"
        assert time.monotonic() < deadline, "pgbouncer does not answer"
        time.sleep(0.02)
    yield folder
    process.terminate()
    process.wait(PATIENCE)
    shutil.rmtree(folder, ignore_errors=True)


def through(pooler: Path, name: str, role: str = PROGRAM) -> str:
    return f"postgresql://{role}@/{name}?host={quote(str(pooler))}&port=6432"


@pytest.fixture
def pooled(pooler: Path, database: Database) -> str:
    """The address of a test's database behind the pooler."""
    return through(pooler, database.name)


def test_many_clients_on_few_connections(pooled: str, database: Database, environment: dict[str, str]) -> None:
    """Locks, settings and the path of schemas are those of a transaction, whoever had the connection before."""
    users, each = ("alice", "bob", "carla"), 8
    for user in users:
        open_store(pooled, user, create=True, environment=environment).close()
    problems: list[Exception] = []

    def use(user: str, number: int) -> None:
        try:
            with open_store(pooled, user, environment=environment) as store:
                for turn in range(each):
                    store.add(f"{user} saw animal {turn} at gate {number}", now=NOW)
                    store.sessions.conversation("s").add(f"{user} says {number}/{turn}", now=NOW)
                    hits = store.query("animal gate", now=NOW).hits
                    assert hits
                    assert all(hit.memory.content.startswith(user) for hit in hits)
        except (AssertionError, MemctlError) as problem:
            problems.append(problem)

    threads = [threading.Thread(target=use, args=(user, number)) for user in users for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert problems == []
    for user in users:
        with open_store(pooled, user, environment=environment) as store:
            store.refresh()
            assert len(store.all()) == 2 * each
            assert [op.number for op in store.history.operations()] == [*range(1, len(store.history.operations()) + 1)]
            assert len(store.conversations.runs()) == 1
            assert [str(problem) for problem in examine(store, deep=True)] == []


def test_what_another_client_left_on_a_connection_changes_nothing(pooled: str, environment: dict[str, str]) -> None:
    with open_store(pooled, "alice", create=True, environment=environment) as store:
        store.add("Alice drinks tea", now=NOW)
        _leave_on_every_connection(
            pooled, "SET search_path = nowhere", "SET memctl.\"user\" = 'bob'", "SET memctl.reads = 'alice'",
            "SET lock_timeout = 1", "SET enable_indexscan = off", "SET jit = on",
        )  # fmt: skip
        store.add("Alice rows on Sundays", now=NOW)
        assert {hit.memory.content for hit in store.query("Alice", now=NOW).hits} == {
            "Alice drinks tea",
            "Alice rows on Sundays",
        }
    with open_store(pooled, "bob", create=True, environment=environment) as bob:
        assert bob.all() == []
        assert bob.query("Alice", now=NOW).hits == ()


def _leave_on_every_connection(pooled: str, *statements: str) -> None:
    """Hold all connections of the pooler at once, and set something on each beyond the transaction."""
    clients = [psycopg.connect(pooled, autocommit=True, prepare_threshold=None) for _ in range(CONNECTIONS)]
    for client in clients:
        client.execute("BEGIN")
        for statement in statements:
            client.execute(statement.encode())
    for client in clients:
        client.execute("COMMIT")
        client.close()


def test_nothing_is_left_on_a_connection(pooled: str, environment: dict[str, str]) -> None:
    with open_store(pooled, "alice", create=True, environment=environment) as store:
        store.add("Alice drinks tea", now=NOW)
        store.query("tea", now=NOW)
        store.sessions.conversation("s").add("I drink tea", now=NOW)
    clients = [psycopg.connect(pooled, prepare_threshold=None) for _ in range(CONNECTIONS)]
    for client in clients:
        sql = """SELECT coalesce(current_setting('memctl.user', true), ''), current_setting('search_path'),
            (SELECT count(*) FROM pg_prepared_statements),
            (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"""
        assert client.execute(sql.encode()).fetchone() == ("", '"$user", public', 0, 0)
    for client in clients:
        client.close()


def test_setting_up_copying_and_sharing(
    pooler: Path, databases: Databases, environment: dict[str, str], tmp_path: Path
) -> None:
    with open_store(tmp_path / "folder", "alice", create=True, environment=environment) as store:
        store.add("Alice keeps a quokka", now=NOW)
    with databases.new() as name:
        databases.run("CREATE EXTENSION vector", database=name)
        owner, program = through(pooler, name, OWNER), through(pooler, name)
        assert schema.migrate(address.parse(owner))
        schema.grant(address.parse(owner), PROGRAM)
        copy_store(tmp_path / "folder", program, environment=environment)
        copy_store(program, tmp_path / "back", environment=environment)
        assert (tmp_path / "back/alice/memory.json").read_bytes() == (
            tmp_path / "folder/alice/memory.json"
        ).read_bytes()
        with open_store(program, "bob", create=True, environment=environment) as bob:
            with pytest.raises(MemctlError, match="not shared"):
                open_store(program, "alice", environment=environment, reader="bob")
            assert bob.all() == []
        assert any("quokka" in row for row in dump(databases.at(name))["memories"])
