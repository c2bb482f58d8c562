"""A small store of everything, the changes that are interrupted in it, and what must hold when it is opened again.

As a program it is the nursery of these changes (`failing.nursery`).
"""

from __future__ import annotations

import json
import os
import random
import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import copies
from conftest import left_over, same_as_rebuilt

from failing.comparing import as_text, copy_states, differences, is_new, truth
from failing.nursery import Nursery, die, serve, watched
from memctl import MemoryStore, open_store
from memctl.core.models import Memory
from memctl.storage.files import atomic, journal

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def environment(root: Path) -> dict[str, str]:
    """What a store may see of the environment: a cache of its own."""
    return {"XDG_CACHE_HOME": str(root / ".cache")}


def opened(root: Path) -> MemoryStore:
    """Alice's part of a store, made where there is none."""
    return open_store(root, user="alice", create=True, environment=environment(root))


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


def fixed_tokens() -> None:
    """Random names that are the same in every run, so that stores can be compared."""
    numbers = iter(range(1, 10**9))
    secrets.token_hex = lambda length=32: f"{next(numbers):0{2 * length}x}"  # type: ignore[assignment]


def new_ids(store: MemoryStore) -> None:
    """Ids that are the same in every run."""
    numbers = iter(range(1, 1000))
    store.engine.files.gateway.ids = lambda created, moment: f"mem_20250601_f{next(numbers):011x}"  # type: ignore[assignment]


def _child_operation(order: dict[str, Any], out: int) -> None:
    """Do one operation and be killed in it; with no place to be killed, copy the user's folder at each whole state."""
    root = Path(order["root"])
    fixed_tokens()
    store = opened(root)
    new_ids(store)
    BEFORE.get(order["operation"], MemoryStore.sync)(store)
    if order.get("torn"):
        _tear(order["torn"])
    if order.get("states"):
        copy_states(store.folder.root, Path(order["states"]))
    events = watched(order.get("kill_at", {}), lambda: OPERATIONS[order["operation"]](store))
    os.write(out, json.dumps(events).encode())


def _tear(number: int) -> None:
    """The n-th write stops half-way: what a kill, or a power cut, may leave of it."""
    write_all, count = atomic.write_all, 0

    def torn(handle: int, data: bytes) -> None:
        nonlocal count
        count += 1
        if count == number:
            os.write(handle, data[: max(1, len(data) // 2)])
            die()
        write_all(handle, data)

    atomic.write_all = torn


def _child_recovery(order: dict[str, Any], out: int) -> None:
    """Open a store that a crash left and be killed while it is repaired."""
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


def _warm() -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepared(Path(folder))
        with opened(Path(folder)) as store:
            for act in OPERATIONS.values():
                with suppress(Exception):
                    act(store)


# What must hold


def repaired(root: Path, states: list[dict[str, bytes]]) -> int:
    """Open what a crash left and check it; returns which of the whole states it is in."""
    folder = root / "alice"
    with opened(root) as store:
        store.refresh()
        now = truth(folder)
        assert now in states, f"half-done: {differences(_texts(now), [_texts(state) for state in states])}"
        assert journal.unfinished(store.folder) is None
        if is_new(store):
            same_as_rebuilt(store)
            store.put(replace(store.get(PLAIN), tags=("after",)), now=NOW)
            assert journal.unfinished(store.folder) is None
            assert left_over(folder) == []
            same_as_rebuilt(store)
    return states.index(now)


def _texts(state: dict[str, bytes]) -> dict[str, str]:
    return {path: as_text(data) for path, data in state.items()}


def copied(template: Path, root: Path) -> None:
    """A copy of a store, the index included."""
    copies.copy(template, root, copies.inodes(template))


def reference(nursery: Nursery, template: Path, work: Path, operation: str) -> tuple[list[dict[str, bytes]], dict]:
    """The whole states of an operation, and how many calls it makes."""
    states_folder = work / "states"
    states_folder.mkdir()
    copied(template, work / "reference")
    killed, said = nursery("operation", work / "reference", operation=operation, states=str(states_folder))
    assert not killed
    states = [truth(copy) for copy in sorted(states_folder.iterdir())]
    final = truth(work / "reference" / "alice")
    states += [] if final in states else [final]
    return states, json.loads(said)


if __name__ == "__main__":
    serve({"operation": _child_operation, "recovery": _child_recovery, "loop": _child_loop}, _warm)
