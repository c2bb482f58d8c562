"""The lock: its holder dies, hangs, or works on another machine. Others are told, go on when they can, and never steal.

Another machine is a note with another name and another run of the system in the lock file, on what the test declares to
be a network's file system: all that one machine can see of another through a shared folder.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from cli.answering import program
from conftest import TORTURE, count_cases, left_over, same_as_rebuilt
from failing.changes import environment, opened
from failing.players import Player, held, impatient

from memctl import MemoryStore
from memctl.doctor.codes import LOCKED
from memctl.doctor.examining import examine
from memctl.errors import LockedError, StorageError
from memctl.storage.files import lock, sessions
from memctl.storage.files.lock_holder import Holder, boot_id

DEATHS = 200 if TORTURE else 5
ELSEWHERE = Holder(4242, "other-host", "memctl", "2026-11-21T09:00:00Z", "another-boot", "77")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return impatient(tmp_path / "store")


@pytest.fixture
def store(root: Path) -> Iterator[MemoryStore]:
    with opened(root) as found:
        yield found


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every folder lies on a file server."""
    monkeypatch.setattr(lock, "file_system", lambda path: "nfs4")


def run(root: Path, *line: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "MEMCTL_STORE": str(root), "MEMCTL_USER": "alice", **environment(root)}
    return subprocess.run([program(), *line], env=variables, capture_output=True, text=True, check=False)


def sign(path: Path, holder: Holder) -> None:
    path.write_text(json.dumps(asdict(holder)))


@contextmanager
def taken(path: Path) -> Iterator[int]:
    """The lock is held and the note in it is somebody else's: a disk that was full, or a moment before signing."""
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield handle
    finally:
        os.close(handle)


# Died


def test_dead_holders(root: Path, store: MemoryStore) -> None:
    """However many die with the lock in their hand, the next one waits for nobody, and nobody is blamed."""
    for number in range(DEATHS):
        with held(root) as holder:
            path = store.folder.lock
            assert json.loads(path.read_text())["pid"] == holder.pid
        assert Holder(**json.loads(path.read_text())).gone
        assert lock.examine(path) == ""
        store.add(f"After death number {number}")
        assert path.read_bytes() == b"", "whoever lets go takes the note out"
    assert len(store.all()) == DEATHS + 1
    count_cases("tests/soak/test_locks.py::test_dead_holders", DEATHS)


def test_the_number_of_a_dead_holder_is_used_again(store: MemoryStore) -> None:
    """Its note names a process that has nothing to do with it: that one is not blamed, and nobody is told to stop it."""
    path = store.folder.lock
    innocent = Holder(os.getpid(), os.uname().nodename, "memctl", "2026-01-01T00:00:00Z", boot_id(), "1")
    assert innocent.gone
    sign(path, innocent)
    store.add("Nobody holds it")
    with taken(path):
        sign(path, innocent)
        with pytest.raises(LockedError) as caught:
            store.add("Somebody unknown holds it")
    assert str(os.getpid()) not in caught.value.message
    assert "fuser" in caught.value.hint


@pytest.mark.parametrize("note", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}', "\0" * 300, "9" * 5000, "[" * 4000,
                                  '{"pid": 1e999, "host": "a", "command": "b", "since": "c"}'])  # fmt: skip
def test_a_note_that_says_nothing(note: str, store: MemoryStore) -> None:
    with taken(store.folder.lock):
        store.folder.lock.write_text(note)
        with pytest.raises(LockedError, match="another process"):
            store.add("x")
    store.add("x")


def test_a_forked_child_keeps_no_lock(store: MemoryStore) -> None:
    """A child forked while its parent wrote has the lock file open: it neither keeps the lock nor takes it off."""
    path = store.folder.lock
    inlet, outlet = os.pipe()
    holding = lock.exclusive(path, timeout=0)
    holding.__enter__()
    child = os.fork()
    if child == 0:
        holding.__exit__(None, None, None)  # the child's copy of the block ends first
        os.write(outlet, b"x")
        signal.pause()
    os.read(inlet, 1)
    with pytest.raises(LockedError), lock.exclusive(path, timeout=0):
        pass
    other = os.fork()
    if other == 0:
        signal.pause()
    holding.__exit__(None, None, None)
    with lock.exclusive(path, timeout=0):
        pass
    for process in (child, other):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    os.close(inlet)
    os.close(outlet)


# Hangs


def test_a_holder_that_hangs(root: Path, store: MemoryStore) -> None:
    """Stopped: whoever waits is told who it is, since when, and what to do; reading goes on; when it wakes, all go on."""
    with held(root) as holder:
        pid = holder.pid
        holder.stop()
        for line in (("add", "Bob"), ("maintain",), ("undo",), ("feedback", store.all()[0].memory_id, "up")):
            refused = run(root, *line)
            assert refused.returncode == 4, refused
            assert f"process {pid}" in refused.stderr
            assert "which is stopped) since 20" in refused.stderr
            assert f"kill -CONT {pid}" in refused.stderr
        assert run(root, "query", "tea").returncode == 0
        told = run(root, "doctor")
        assert told.returncode == 0
        assert f".memctl/state/lock is held by players.py (process {pid}" in told.stdout.replace(":", "")
        os.kill(holder.pid, signal.SIGCONT)
        holder.say()
        assert holder.wait() == 0
    assert run(root, "add", "Bob").returncode == 0
    assert [problem for problem in examine(store) if problem.code == LOCKED] == []
    same_as_rebuilt(store)


def test_a_session_whose_holder_hangs(store: MemoryStore) -> None:
    """Only writing to sessions waits, and is told; memories are written."""
    (store.folder.root / "sessions").mkdir(exist_ok=True)
    store.engine.settings = replace(store.settings, lock_timeout=0.0)
    with sessions.locked(store.folder, "main", timeout=0):
        with pytest.raises(LockedError, match="held by"):
            store.sessions.conversation("main").add("Hello")
        store.add("A memory")
        assert [problem.code for problem in examine(store)] == [LOCKED]
    store.sessions.conversation("main").add("Hello")


# On another machine


def test_another_machine_holds_it(shared: None, store: MemoryStore) -> None:
    """Its note is there though the system gives the lock: it is not stolen, and reading goes on."""
    path = store.folder.lock
    sign(path, ELSEWHERE)
    before = store.folder.memory_file.read_bytes()
    for act in (lambda: store.add("Bob"), store.decay.run, lambda: store.undo()):
        with pytest.raises(LockedError) as caught:
            act()
        assert "process 4242 on other-host) since 2026-11-21T09:00:00Z, another machine" in caught.value.message
        assert "delete the lock file" in caught.value.hint
        assert str(path) in caught.value.hint
    assert store.query("tea").hits
    assert store.folder.memory_file.read_bytes() == before
    found = [problem for problem in examine(store) if problem.code == LOCKED]
    assert [problem.path for problem in found] == [".memctl/state/lock"]
    assert not found[0].fix, "whether it lives only a person knows"
    assert json.loads(path.read_text())["host"] == "other-host"


def test_the_other_machine_lets_go(shared: None, store: MemoryStore) -> None:
    """Whoever waits goes on as soon as the note is taken out."""
    store.engine.files.gateway.lock_timeout = 60
    sign(store.folder.lock, ELSEWHERE)
    other = threading.Timer(0.2, lambda: os.truncate(store.folder.lock, 0))
    other.start()
    store.add("Bob")
    other.join()
    assert len(store.all()) == 2


def test_the_other_machine_is_gone(shared: None, store: MemoryStore) -> None:
    """A person, who knows, deletes the file; what the machine had begun is completed."""
    sign(store.folder.lock, ELSEWHERE)
    store.folder.lock.unlink()
    store.add("Bob")
    same_as_rebuilt(store)
    assert left_over(store.folder.root) == []


def test_who_counts_as_another_machine(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk of one's own, and from a container on the same system, the lock itself tells; a restart left its note."""
    path, boot, host = store.folder.lock, boot_id(), os.uname().nodename
    sign(path, ELSEWHERE)
    store.add("On a disk of this machine nobody else can hold it")
    monkeypatch.setattr(lock, "file_system", lambda path: "nfs4")
    sign(path, replace(ELSEWHERE, boot=boot))
    store.add("A container here was killed")
    sign(path, replace(ELSEWHERE, host=host))
    store.add("This machine was started anew")
    for kind, is_shared in (("fuse.sshfs", True), ("cifs", True), ("ext4", False), ("tmpfs", False), ("", False)):
        monkeypatch.setattr(lock, "file_system", lambda path, kind=kind: kind)
        assert lock.is_shared(path) is is_shared


def test_the_kind_of_a_file_system(tmp_path: Path) -> None:
    known = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    assert lock.file_system(tmp_path) in known | {"overlay"}
    assert lock.file_system(Path("/proc/self")) == "proc"
    assert not lock.is_shared(Path("/proc/self"))


def test_a_file_system_without_locks(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two could write at once there: nothing is written, and the reason is said."""

    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StorageError, match="does not support locks"):
        store.add("Bob")
    assert [problem.code for problem in examine(store)] == [LOCKED]
    assert store.query("tea").hits


# Taken away


def test_the_file_is_deleted_while_it_is_waited_for(root: Path, store: MemoryStore) -> None:
    """A lock on a file that nobody finds any more is none: whoever waited asks for the one that is there."""
    path = store.folder.lock
    with held(root) as first:
        path.unlink()
        with held(root) as second:
            first.say()
            assert first.wait() == 0
            assert json.loads(path.read_text())["pid"] == second.pid
            with pytest.raises(LockedError, match=str(second.pid)):
                store.add("Bob")
    store.add("Bob")


def test_the_file_is_deleted_in_the_moment_it_is_locked(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its opening and its locking: that lock is let go, and a new file is made."""
    path, real, seen = store.folder.lock, fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if not seen and os.path.samestat(os.fstat(handle), path.stat()):
            seen.append(handle)
            path.unlink()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with lock.exclusive(path, timeout=1):
        assert seen
        assert json.loads(path.read_text())["pid"] == os.getpid(), "others find another file, and lock that"


def test_locked_is_waited_for_in_turn(root: Path) -> None:
    """Many want it at once: each gets it, one after the other."""
    (root / "memctl.yaml").write_text("lock_timeout: 60\nmodel: none\n")
    players = [Player("writer", root, f"W{n}", 5) for n in range(4)]
    for player in players:
        player.say()
    assert sum(len(player.result()) for player in players) == 20


def test_a_busy_writer_keeps_nobody_out(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes the lock again and again lets those go first who wait for it."""
    monkeypatch.setattr(lock, "COURTESY_SECONDS", 60.0)
    path, order = store.folder.lock, []
    waits = threading.Event()

    def wait() -> None:
        waits.set()
        with lock.exclusive(path, timeout=60):
            order.append("waiter")

    waiter = threading.Thread(target=wait)
    with lock.exclusive(path, timeout=60):
        waiter.start()
        waits.wait()
        turn = path.with_name("lock.turn")
        while lock.examine(turn) == "":  # until the waiter has the turn
            pass
    for _ in range(3):
        with lock.exclusive(path, timeout=60):
            order.append("busy")
    waiter.join()
    assert order == ["waiter", "busy", "busy", "busy"]


def test_a_waiter_that_hangs_keeps_nobody_out(store: MemoryStore) -> None:
    """The turn is a courtesy: a stopped process that has it does not have the lock."""
    with taken(store.folder.lock.with_name("lock.turn")):
        store.add("Bob")
        store.engine.files.gateway.lock_timeout = 30
        store.add("Clara")
    assert len(store.all()) == 3
