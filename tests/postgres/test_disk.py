"""A disk that is full: a clear error, nothing half-written, and work goes on when there is room again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from conftest import PATIENCE, lacking
from databases import NOBODY, PROGRAM, Databases, Server
from postgres.dump import dump

from memctl import Memory, MemoryStore, open_store
from memctl.doctor.examining import examine
from memctl.errors import StorageError

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
MEGABYTE = 1 << 20


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A file system of its own in a new folder, in memory."""
    if os.geteuid() != 0:
        lacking("disk", "only root may mount a small disk")
    folder.mkdir()
    options = f"size={megabytes}m,uid={NOBODY},gid={NOBODY},mode=700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        lacking("disk", f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def filled(disk: Path, *, but: int) -> Path:
    """A file that takes all room but so many bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - but)
    return ballast


def texts(size: int) -> Iterator[str]:
    """Texts that cannot be compressed much, each different."""
    chance = Random(7)
    while True:
        yield " ".join(f"w{chance.randrange(10**9)}" for _ in range(size // 11))


def added_until_full(store: MemoryStore, size: int, kept: list[str]) -> None:
    for text in texts(size):
        kept.append(store.add(text, now=NOW).memory.memory_id)


def what_is_there(store: MemoryStore) -> set[str]:
    return {memory.memory_id for memory in store.all()}


def test_no_room_for_the_tables(own_server: Server, environment: dict[str, str]) -> None:
    disk, admin = own_server.folder / "small", Databases(own_server.address("postgres"))
    with small_disk(disk, 48):
        admin.run(f"CREATE TABLESPACE small LOCATION '{disk}'", "CREATE DATABASE small TEMPLATE own TABLESPACE small")
        kept: list[str] = []
        with open_store(own_server.address("small", PROGRAM), "alice", create=True, environment=environment) as store:
            ballast = filled(disk, but=2 * MEGABYTE)
            with pytest.raises(StorageError, match="has no room left") as raised:
                added_until_full(store, 4_000, kept)
            assert raised.value.hint == "Nothing was changed. Free some space."
            before = dump(own_server.address("small"))
            assert what_is_there(store) == set(kept)
            assert len(kept) == len(before["log"])
            assert store.query("w1", now=NOW) is not None
            with pytest.raises(StorageError, match="has no room left"):
                store.add_many([Memory("", text) for text in islice(texts(4_000), 300)], now=NOW)
            assert dump(own_server.address("small")) == before
            assert [str(problem) for problem in examine(store)] == []

            ballast.unlink()
            kept.append(store.add("There is room again", now=NOW).memory.memory_id)
            assert what_is_there(store) == set(kept)
            assert [str(problem) for problem in examine(store, deep=True)] == []
        admin.run("DROP DATABASE small WITH (FORCE)", "DROP TABLESPACE small")


def test_no_room_for_the_write_ahead_log(own_server: Server, environment: dict[str, str]) -> None:
    """The server may end. What was acknowledged is there when it is started with some room."""
    address, wal = own_server.address("own", PROGRAM), own_server.data / "pg_wal"
    open_store(address, "alice", create=True, environment=environment).close()
    own_server.stop("fast")
    wal.rename(wal.with_name("wal_before"))
    kept: list[str] = []
    with small_disk(wal, 80):
        subprocess.run(["cp", "-a", f"{wal.with_name('wal_before')}/.", str(wal)], check=True)
        process = own_server.start()
        with open_store(address, "alice", environment=environment) as store:
            ballast = filled(wal, but=0)
            with pytest.raises(StorageError, match=r"has no room left|was lost"):
                added_until_full(store, 50_000, kept)
            assert kept
            ballast.unlink()
            own_server.stop("immediate")
            process.wait(PATIENCE)
            process = own_server.start()
            assert what_is_there(store) >= set(kept)
            assert len(what_is_there(store)) <= len(kept) + 1  # of the last, nobody was told whether it was saved
            store.add("There is room again", now=NOW)
            assert [str(problem) for problem in examine(store, deep=True)] == []
        own_server.stop("immediate")
        process.wait(PATIENCE)
