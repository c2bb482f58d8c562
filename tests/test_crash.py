"""Killed at any moment: what was acknowledged is there, what was not is there as a whole or not at all.

A nursery process (this file run as a script) has everything imported and forks a child for each kill, which costs some
milliseconds. The children use the real store on real files and die of a real SIGKILL, either after a random while or,
counted by the interpreter's profiling hook, right before their n-th call that touches a file or the index.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from pathlib import Path
from typing import Any

import apsw
import pytest
from conftest import TORTURE, count_cases, elements, fast_folder, left_over, same_as_rebuilt

from memctl import MemoryStore, open_store
from memctl.core import operations
from memctl.core.models import Memory
from memctl.errors import ConflictError
from memctl.storage.files import atomic, journal, layout

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def opened(root: Path) -> MemoryStore:
    return open_store(root, user="alice", create=True, environment={"XDG_CACHE_HOME": str(root / ".cache")})


# The operations that are interrupted. Each begins from the store that `prepared` makes.

PLAIN, DETAIL, GENERATED, FACT, TRASHED, EPISODE = (f"mem_20250101_{n:012x}" for n in range(1, 7))
NEW = "mem_20250601_f00000000001"
SECRET = "qwertzuiop"


def prepared(root: Path) -> None:
    """A small store with something of everything; the last operation is the forgetting of `TRASHED`."""
    (root / "memctl.yaml").write_text("model: none\n")  # quick to open; vectors are held by the other tests
    with opened(root) as store:
        made = [
            Memory(PLAIN, "Alice likes tea."),
            Memory(DETAIL, f"The deploy failed: {SECRET}."),
            Memory(GENERATED, "Retry with a longer timeout.", kind="strategy", category="strategy"),
            Memory(FACT, "Alice lives in Bonn.", key="city", value="Bonn"),
            Memory(TRASHED, "A secret plan."),
            Memory(EPISODE, "Lunch with Bob.", kind="episode", importance=0.2),
        ]
        store.add_many([replace(m, created_at=NOW - timedelta(days=90)) for m in made], now=NOW)
        for memory_id in (DETAIL, TRASHED):
            about = SECRET if memory_id == DETAIL else "a plan"
            store.write_reflection(store.get(memory_id), f"# Detail\n\nAbout {about}.", now=NOW)
        store.reflections.write([store.get(GENERATED)], now=NOW)
        changed = store.get(GENERATED)
        store.put(replace(changed, content="Retry with a much longer timeout."), now=NOW)
        store.query("tea", now=NOW)
        store.forget([TRASHED], now=NOW)


def _edit(store: MemoryStore) -> None:
    store.put(replace(store.get(PLAIN), content="Alice likes coffee."), now=NOW)


def _write_by_hand(store: MemoryStore) -> None:
    """A nested reflection, which the next write gives a record and an id."""
    path = store.folder.reflections / "deep" / "by-hand.md"
    path.parent.mkdir()
    path.write_text("# By hand\n\nWords.\n")


def _let_expire(store: MemoryStore) -> None:
    store.put(replace(store.get(DETAIL), expires_at=NOW + timedelta(days=1)), now=NOW)


OPERATIONS: dict[str, Callable[[MemoryStore], Any]] = {
    "add": lambda store: store.add("Bob has a cat.", now=NOW),
    "add with detail": lambda store: store.add("Bob has a cat.", detail="# Cat\n\nIts name is Tom.", now=NOW),
    "add a fact": lambda store: store.add("Alice lives in Köln.", key="city", value="Köln", now=NOW),
    "add many": lambda store: store.add_many([Memory(f"m{n}", f"Thing {n}") for n in range(30)], now=NOW),
    "edit": _edit,
    "edit a reflection": lambda store: store.write_reflection(store.get(DETAIL), "# Other words", now=NOW),
    "forget with reflection": lambda store: store.forget([DETAIL], now=NOW),
    "forget two": lambda store: store.forget([DETAIL, GENERATED], now=NOW),
    "restore": lambda store: store.restore([TRASHED], now=NOW),
    "undo": lambda store: store.undo(now=NOW),
    "undo three": lambda store: store.history.undo(3, now=NOW),
    "redo two": lambda store: store.history.redo(2, now=NOW),
    "restore from": lambda store: store.history.restore(GENERATED, store.history.operations()[0].op, now=NOW),
    "reflect": lambda store: store.reflections.write([store.get(PLAIN), store.get(FACT)], now=NOW),
    "reflect refresh": lambda store: store.reflections.write([store.get(GENERATED)], now=NOW),
    "decay": lambda store: store.decay.run(now=NOW + timedelta(days=500)),
    "adopt": lambda store: store.add("Another.", now=NOW),
    "expire": lambda store: store.add("Another.", now=NOW + timedelta(days=2)),
    "purge": lambda store: store.purge([DETAIL], now=NOW),
    "feedback": lambda store: store.feedback(PLAIN, "down", reason="因为 it is wrong", now=NOW),
    "undo feedback": lambda store: store.undo(now=NOW),
}

BEFORE: dict[str, Callable[[MemoryStore], Any]] = {
    "adopt": _write_by_hand,
    "expire": _let_expire,
    "undo feedback": lambda store: store.feedback(PLAIN, "up", now=NOW),
    "redo two": lambda store: store.history.undo(2, now=NOW),
}
"""What must happen first, undisturbed."""

SEVERAL = ("adopt", "expire", "purge", "undo three", "redo two")
"""What is several changes, or not all or nothing."""

# The nursery

_FILE_CALLS = {"write", "pwrite", "replace", "rename", "link", "unlink", "mkdir", "ftruncate", "truncate", "fchmod"}
"""What changes a file. (A kill leaves the same before and after an fsync; a new file is seen before its write.)"""

_SQL_CALLS = {"execute", "executemany"}
_events = {"file": 0, "sql": 0}
_kill_at = {"file": 0, "sql": 0}


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def watched(kill_at: dict[str, int], act: Callable[[], Any]) -> dict[str, int]:
    """Do something and be killed right before one of its calls; else how many of each kind it made."""
    _kill_at.update(kill_at)
    sys.setprofile(_watch)
    act()
    sys.setprofile(None)
    return _events


def _watch(frame: Any, event: str, argument: Any) -> None:
    if event == "c_call":
        owner = getattr(argument, "__self__", None)
        module = getattr(argument, "__module__", None) or type(owner).__module__
        kind = "sql" if argument.__name__ in _SQL_CALLS and isinstance(owner, apsw.Connection | apsw.Cursor) else ""
        if argument.__name__ in _FILE_CALLS and module in ("posix", "_io", "io"):
            kind = "file"
    else:
        kind = "file" if event == "call" and frame.f_code.co_name == "_exchange" else ""
    if kind:
        _events[kind] += 1
        if _events[kind] == _kill_at[kind]:
            _die()


def _new_ids(store: MemoryStore) -> None:
    """Ids that are the same in every run."""
    numbers = iter(range(1, 1000))
    store.engine.files.gateway.ids = lambda created, moment: f"mem_20250601_f{next(numbers):011x}"  # type: ignore[assignment]


def _child_operation(order: dict[str, Any], out: int) -> None:
    """Do one operation and be killed in it; with no place to be killed, copy the user's folder at each whole state."""
    root = Path(order["root"])
    store = opened(root)
    _new_ids(store)
    BEFORE.get(order["operation"], MemoryStore.sync)(store)
    if order.get("torn"):
        _tear(order["torn"])
    if order.get("states"):
        shutil.copytree(store.folder.root, Path(order["states"]) / "0")
        _copy_states(store, Path(order["states"]))
    events = watched(order.get("kill_at", {}), lambda: OPERATIONS[order["operation"]](store))
    os.write(out, json.dumps(events).encode())


def _copy_states(store: MemoryStore, target: Path) -> None:
    """Copy the folder each time an operation is done: what is legal to be found after a crash."""
    finish, count = journal.finish, 1

    def finished(*given: Any) -> None:
        nonlocal count
        shutil.copytree(store.folder.root, target / str(count))
        count += 1
        finish(*given)

    journal.finish = finished


def _tear(number: int) -> None:
    """The n-th write stops half-way: what a kill, or a power cut, may leave of it."""
    write_all, count = atomic.write_all, 0

    def torn(handle: int, data: bytes) -> None:
        nonlocal count
        count += 1
        if count == number:
            os.write(handle, data[: max(1, len(data) // 2)])
            _die()
        write_all(handle, data)

    atomic.write_all = torn


def _child_recovery(order: dict[str, Any], out: int) -> None:
    """Open a store that a crash left and be killed while it is mended."""
    store = opened(Path(order["root"]))
    os.write(out, json.dumps(watched(order["kill_at"], store.refresh)).encode())


def _child_loop(order: dict[str, Any], out: int) -> None:
    """Write until killed, saying before each step what will be done and after it that it was."""
    dice = random.Random(order["seed"])

    def say(**what: Any) -> None:
        os.write(out, json.dumps(what).encode() + b"\n")

    say(ready=True)
    store = opened(Path(order["root"]))
    say(ready=True)
    if len(store.all()) < 3:
        store.add_many([Memory(f"seed{n}", f"Seed {n}", created_at=NOW) for n in range(3)])
    step = 0
    while True:
        step += 1
        what = dice.choice(("add", "add", "detail", "edit", "edit", "forget", "restore", "reflect", "undo"))
        words = f"{order['seed']} step {step}"
        ids = [m.memory_id for m in store.all()]
        chosen = dice.choice(ids)
        if what in ("add", "detail"):
            say(begin=what, content=words)
            added = store.add(words, detail="# D\n\nx" if what == "detail" else None)
            say(id=added.memory.memory_id)
            if dice.random() < 0.3:
                say(begin="undo", id=added.memory.memory_id)
                store.undo()
                say(id=added.memory.memory_id)
        elif what == "edit":
            say(begin=what, id=chosen, content=words)
            store.put(replace(store.get(chosen), content=words))
            say(id=chosen)
        elif what == "forget" and len(ids) > 3:
            say(begin=what, id=chosen)
            store.forget([chosen])
            say(id=chosen)
        elif what == "restore" and (trashed := store.engine.storage.trashed()):
            chosen = dice.choice(sorted(t.memory.memory_id for t in trashed))
            if chosen not in ids:
                say(begin=what, id=chosen)
                store.restore([chosen])
                say(id=chosen)
        elif what == "reflect":
            say(begin=what, id=chosen)
            store.reflections.write([store.get(chosen)])
            say(id=chosen)


CHILDREN = {"operation": _child_operation, "recovery": _child_recovery, "loop": _child_loop}
Child = Callable[[dict[str, Any], int], None]


def run_nursery(children: dict[str, Child]) -> None:
    """For each line of orders fork a child, kill it if so ordered, and answer with how it ended and what it said."""
    from memctl.providers.builtin import BuiltinEmbedder

    BuiltinEmbedder().embed(["warm up"])
    for line in sys.stdin:
        order = json.loads(line)
        inlet, outlet = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(inlet)
            try:
                children[order["child"]](order, outlet)
            except BaseException as problem:
                os.write(outlet, f"\nFAILED {type(problem).__name__}: {problem}".encode())
                os._exit(1)
            os._exit(0)
        os.close(outlet)
        said = b""
        if "delay" in order:
            while said.count(b"\n") < order["after"] and (chunk := os.read(inlet, 65536)):
                said += chunk
            time.sleep(order["delay"])
            os.kill(child, signal.SIGKILL)
        while chunk := os.read(inlet, 65536):
            said += chunk
        os.close(inlet)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": status, "said": said.decode()}), flush=True)


def own_path() -> str:
    """`PYTHONPATH` of a child process that imports from this folder."""
    return os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))))


class Nursery:
    """The nursery process, from the outside."""

    def __init__(self, script: str = __file__) -> None:
        command = [sys.executable, script, "nursery"]
        environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": own_path()}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __call__(self, child: str, root: Path, **order: Any) -> tuple[bool, str]:
        """Run a child; returns whether it was killed, and what it said."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({"child": child, "root": str(root), **order}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "FAILED" not in answer["said"], answer["said"]
        killed = os.WIFSIGNALED(answer["status"]) and os.WTERMSIG(answer["status"]) == signal.SIGKILL
        assert killed or answer["status"] == 0, answer
        return killed, answer["said"]

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    found = Nursery()
    yield found
    found.close()


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    """The store that `prepared` makes, to be copied for each kill."""
    folder = fast_folder()
    prepared(folder)
    yield folder
    shutil.rmtree(folder)


def truth(user: Path) -> dict[str, bytes]:
    """All that must be whole: the user's files and the trash, without logs, lock, caches and displaced copies."""
    private = {"operations.jsonl", "lock", "lock.turn", "receipts.jsonl"}
    found = {}
    for path in sorted(user.rglob("*")):
        relative = path.relative_to(user)
        if path.is_file() and path.name not in private and not {"cache", "displaced"} & set(relative.parts):
            found[relative.as_posix()] = path.read_bytes()
    return found


def mended(root: Path, states: list[dict[str, bytes]]) -> int:
    """Open what a crash left and check it; returns which of the whole states it is in."""
    folder = root / "alice"
    with opened(root) as store:
        store.refresh()
        now = {path: data for path, data in truth(folder).items() if atomic.TEMPORARY_PREFIX not in path}
        assert now in states, f"half-done: {_differences(now, states)}"
        same_as_rebuilt(store)
        assert journal.unfinished(store.folder) is None
        store.put(replace(store.get(PLAIN), tags=("after",)), now=NOW)
        assert journal.unfinished(store.folder) is None
        assert left_over(folder) == []
        same_as_rebuilt(store)
    return states.index(now)


def _differences(now: dict[str, bytes], states: list[dict[str, bytes]]) -> str:
    """Lines that differ from each of the whole states."""
    lines = []
    for at, state in enumerate(states):
        for path in sorted(now.keys() | state):
            one, other = (found.get(path, b"").decode("utf-8", "replace").splitlines() for found in (state, now))
            lines += [f"[{at}] {path} {line}" for line in unified_diff(one, other, n=0, lineterm="")][2:]
    return "\n".join(lines)


def _reference(nursery: Nursery, template: Path, work: Path, operation: str) -> tuple[list[dict[str, bytes]], dict]:
    """The whole states of an operation, and how many calls it makes."""
    states_folder = work / "states"
    states_folder.mkdir()
    shutil.copytree(template, work / "reference")
    killed, said = nursery("operation", work / "reference", operation=operation, states=str(states_folder))
    assert not killed
    states = [truth(copy) for copy in sorted(states_folder.iterdir(), key=lambda path: int(path.name))]
    final = truth(work / "reference" / "alice")
    states += [] if final in states else [final]
    return states, json.loads(said)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_before_any_call(operation: str, nursery: Nursery, template: Path, fast: Path) -> None:
    """For every n: killed right before its n-th call to a file; for some n, to the index."""
    states, calls = _reference(nursery, template, fast, operation)
    assert calls["file"] > 5
    assert calls["sql"] > 5
    places = [("file", n) for n in range(1, calls["file"] + 1)]
    places += [("sql", n) for n in range(1, calls["sql"] + 1, 1 if TORTURE else 15)]
    reached = set()
    for kind, n in places:
        root = fast / "killed"
        shutil.copytree(template, root)
        killed, _ = nursery("operation", root, operation=operation, kill_at={kind: n})
        try:
            reached.add(mended(root, states))
        except AssertionError as problem:
            problem.add_note(f"killed: {killed}, at {kind} call {n} of {calls[kind]}")
            raise
        shutil.rmtree(root)
    assert reached >= {0, len(states) - 1}, "neither side of the change was ever met"
    count_cases("tests/test_crash.py::test_killed_before_any_call", len(places))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_within_a_write(operation: str, nursery: Nursery, template: Path, fast: Path) -> None:
    """Half of a file's bytes are there, and no more come."""
    states, _ = _reference(nursery, template, fast, operation)
    for n in range(1, 50):
        root = fast / "killed"
        shutil.copytree(template, root)
        killed, _ = nursery("operation", root, operation=operation, torn=n)
        try:
            mended(root, states)
        except AssertionError as problem:
            problem.add_note(f"torn write number {n}")
            raise
        shutil.rmtree(root)
        if not killed:
            assert n > 1
            count_cases("tests/test_crash.py::test_killed_within_a_write", n - 1)
            return
    raise AssertionError("the operation never came to its end")


@pytest.mark.parametrize("operation", ["add with detail", "forget two", "restore", "purge"])
def test_killed_while_mending(operation: str, nursery: Nursery, template: Path, fast: Path) -> None:
    """A crash in the middle, and another one while what it left is mended, at every place."""
    states, calls = _reference(nursery, template, fast, operation)
    steps = range(1, calls["file"], 1 if TORTURE else 2)
    middle = [n for n in steps if _leaves_work(nursery, template, fast, operation, n)]
    assert middle
    for at in middle if TORTURE else middle[:: max(1, len(middle) // 2)]:
        for n in range(1, 200):
            root = fast / "killed"
            shutil.copytree(template, root)
            nursery("operation", root, operation=operation, kill_at={"file": at})
            killed, _ = nursery("recovery", root, kill_at={"file": n})
            try:
                mended(root, states)
            except AssertionError as problem:
                problem.add_note(f"killed at call {at}, and while mending at call {n}")
                raise
            shutil.rmtree(root)
            if not killed:
                count_cases("tests/test_crash.py::test_killed_while_mending", n - 1)
                break


def _leaves_work(nursery: Nursery, template: Path, fast: Path, operation: str, n: int) -> bool:
    root = fast / "probe"
    shutil.copytree(template, root)
    nursery("operation", root, operation=operation, kill_at={"file": n})
    found = journal.unfinished(layout.UserFolder(root / "alice")) is not None
    shutil.rmtree(root)
    return found


def test_undo_after_a_crash(nursery: Nursery, template: Path, fast: Path) -> None:
    """What was completed from the intent is in the history, and can be taken back."""
    _, calls = _reference(nursery, template, fast, "forget two")
    before = truth(template / "alice")
    taken_back = 0
    for n in range(1, calls["file"] + 1):
        root = fast / "killed"
        shutil.copytree(template, root)
        nursery("operation", root, operation="forget two", kill_at={"file": n})
        with opened(root) as store:
            store.refresh()
            if truth(root / "alice") == before:
                assert len(store.history.operations()) == len(_history(template))
            else:
                assert store.history.operations()[-1].command == "forget"
                store.undo(now=NOW)
                assert truth(root / "alice") == before
                taken_back += 1
        shutil.rmtree(root)
    assert taken_back


def test_a_killed_purge_leaves_no_word(nursery: Nursery, template: Path, fast: Path) -> None:
    """Wherever it was killed: once mended, either all is there still or no file, nor the index, holds the word."""
    states, calls = _reference(nursery, template, fast, "purge")
    places = [("file", n) for n in range(1, calls["file"] + 1)] + [("sql", n) for n in range(1, calls["sql"] + 1, 3)]
    gone = 0
    for kind, n in places:
        root = fast / "killed"
        shutil.copytree(template, root)
        nursery("operation", root, operation="purge", kill_at={kind: n})
        with opened(root) as store:
            store.query("tea", now=NOW)
            store.add("Another.", now=NOW)
            if DETAIL in {memory.memory_id for memory in store.all()}:
                shutil.rmtree(root)
                continue
        holding = [path for path in root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
        assert [path.relative_to(root) for path in holding] == [], f"killed at {kind} call {n}"
        gone += 1
        shutil.rmtree(root)
    assert gone
    assert len(states) == 2
    count_cases("tests/test_crash.py::test_a_killed_purge_leaves_no_word", len(places))


def _history(root: Path) -> list[operations.Operation]:
    return journal.read(layout.UserFolder(root / "alice"))


# Random kills


class Ledger:
    """What the killed writers said they had done, and the one thing each was just doing."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self.gone: set[str] = set()
        self.acknowledged = 0

    def take(self, said: str) -> dict[str, Any]:
        """Book everything acknowledged; returns what was under way, empty if nothing was."""
        under_way: dict[str, Any] = {}
        for line in said.splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # the writer was killed while it spoke
            found = json.loads(line)
            if "begin" in found:
                under_way = found
            elif "id" in found:
                self._book(under_way, found["id"])
                under_way = {}
        return under_way

    def _book(self, done: dict[str, Any], memory_id: str) -> None:
        self.acknowledged += 1
        if done["begin"] in ("add", "detail", "edit"):
            self.contents[memory_id] = done["content"]
        elif done["begin"] in ("forget", "undo"):
            self.gone.add(memory_id)
        elif done["begin"] == "restore":
            self.gone.discard(memory_id)

    def check(self, store: MemoryStore, under_way: dict[str, Any]) -> None:
        """Every acknowledged change is there, and of the other one all or nothing."""
        now = {m.memory_id: m for m in store.all()}
        doing, target = under_way.get("begin"), under_way.get("id")
        for memory_id, content in self.contents.items():
            if memory_id == target and doing in ("forget", "restore", "undo"):
                continue
            if memory_id in self.gone:
                assert memory_id not in now, f"{memory_id} is back"
            else:
                assert memory_id in now, f"{memory_id} is lost"
                allowed = {content, under_way["content"]} if memory_id == target and doing == "edit" else {content}
                assert now[memory_id].content in allowed
        known = self.contents.keys() | {f"seed{n}" for n in range(3)}
        new = [m for m in now.values() if m.memory_id not in known]
        assert len(new) <= 1
        assert all(doing in ("add", "detail") and m.content == under_way["content"] for m in new)
        if doing == "detail" and new:
            assert store.engine.reflection_of(new[0]) is not None, "a record without its reflection"
        for memory in now.values():
            assert not memory.summary_md_ref or store.engine.reflection_of(memory) is not None
        self._settle(now, store)

    def _settle(self, now: dict[str, Memory], store: MemoryStore) -> None:
        """From here on, what is there is known."""
        trashed = {t.memory.memory_id for t in store.engine.storage.trashed()}
        assert not trashed & now.keys(), "in the file and in the trash"
        self.gone = (self.contents.keys() | self.gone) - now.keys()
        self.contents.update({memory_id: memory.content for memory_id, memory in now.items()})


@pytest.mark.parametrize("seed", range(40 if TORTURE else 4))
def test_killed_at_any_time(seed: int, nursery: Nursery, fast: Path) -> None:
    """Several writers in a row on one store, each killed some milliseconds after it said something."""
    dice, ledger = random.Random(seed), Ledger()
    kills = 0
    for turn in range(20):
        after = 1 if turn % 4 == 3 else dice.randrange(2, 14)  # lines said; the first before the store is opened
        killed, said = nursery("loop", fast, seed=f"{seed}-{turn}", delay=dice.uniform(0, 0.03), after=after)
        kills += killed
        under_way = ledger.take(said)
        with opened(fast) as store:
            ledger.check(store, under_way)
            assert len(elements(store.folder.memory_file.read_bytes())) == len(store.all())
            same_as_rebuilt(store)
            if store.all():
                first = store.all()[0]
                store.put(first)
                assert journal.unfinished(store.folder) is None
                assert left_over(store.folder.root) == []
                same_as_rebuilt(store)
    assert kills == 20
    assert ledger.acknowledged > 20
    count_cases("tests/test_crash.py::test_killed_at_any_time", kills)


# Failures while the process lives: the caller is told, and told the truth


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in SEVERAL])
@pytest.mark.parametrize("number", [28, 5] if TORTURE else [28])
def test_any_call_may_fail(
    operation: str, number: int, template: Path, fast: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk (or a broken one) at every call in turn: an error means that nothing was done, none that all was."""
    from memctl.errors import MemctlError

    calls = ("open", "write", "fsync", "replace", "link")

    def run(root: Path, fail_at: int) -> tuple[BaseException | None, bool]:
        count, failed = 0, False
        with opened(root) as store, pytest.MonkeyPatch.context() as patch:
            _new_ids(store)
            store.sync()
            real = {name: getattr(os, name) for name in calls}

            def failing(name: str) -> Callable[..., Any]:
                def call(*given: Any, **more: Any) -> Any:
                    nonlocal count, failed
                    count += 1
                    if count == fail_at:
                        failed = True
                        raise OSError(number, os.strerror(number))
                    return real[name](*given, **more)

                return call

            for name in calls:
                patch.setattr(os, name, failing(name))
            try:
                OPERATIONS[operation](store)
            except (MemctlError, OSError) as problem:
                return problem, failed
        return None, failed

    shutil.copytree(template, fast / "good")
    assert run(fast / "good", 0) == (None, False)
    before, after = truth(template / "alice"), truth(fast / "good" / "alice")
    for n in range(1, 400):
        root = fast / "bad"
        shutil.copytree(template, root)
        problem, failed = run(root, n)
        if not failed:
            count_cases("tests/test_crash.py::test_any_call_may_fail", n - 1)
            return
        assert problem is None or isinstance(problem, MemctlError), f"call {n}: {problem!r}"
        expected = after if problem is None else before
        assert truth(root / "alice") == expected, f"call {n}: {problem}"
        with opened(root) as store:
            same_as_rebuilt(store)
            store.put(replace(store.get(PLAIN), tags=("later",)), now=NOW)
            assert len(store.all()) == len(elements(expected["memory.json"]))
            assert left_over(store.folder.root) == []
        shutil.rmtree(root)
    raise AssertionError("the operation never came to its end")


def test_a_second_writer_finishes_what_the_first_began(nursery: Nursery, template: Path, fast: Path) -> None:
    """The next command of another process mends before it writes, and does not undo what it finds."""
    _, calls = _reference(nursery, template, fast, "add with detail")
    for n in range(1, calls["file"] + 1, 2):
        root = fast / "killed"
        shutil.copytree(template, root)
        nursery("operation", root, operation="add with detail", kill_at={"file": n})
        nursery("operation", root, operation="edit")
        with opened(root) as store:
            assert store.get(PLAIN).content == "Alice likes coffee."
            there = [m for m in store.all() if m.memory_id == NEW]
            assert all(store.engine.reflection_of(m) is not None for m in there)
            if not there:
                assert not (store.folder.reflections / f"{NEW}.md").exists()
            try:
                store.undo(now=NOW)
            except ConflictError as problem:
                raise AssertionError("undo after a crash") from problem
        shutil.rmtree(root)


if __name__ == "__main__":
    run_nursery(CHILDREN)
