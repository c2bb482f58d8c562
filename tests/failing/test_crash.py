"""Killed at any moment: what was acknowledged is there, what was not is there as a whole or not at all."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import copies
import pytest
from conftest import (
    SHARE,
    THOROUGH,
    TORTURE,
    count_cases,
    elements,
    fast_folder,
    left_over,
    same_as_rebuilt,
    sampled,
    spread,
)

from failing import changes
from failing.changes import (
    DETAIL,
    NEW,
    NOW,
    OPERATIONS,
    PLAIN,
    SECRET,
    SEVERAL,
    copied,
    new_ids,
    opened,
    prepared,
    reference,
    repaired,
)
from failing.comparing import is_new, truth
from failing.nursery import Nursery
from memctl import MemoryStore
from memctl.core import operations
from memctl.core.models import Memory
from memctl.errors import ConflictError
from memctl.storage.files import journal, layout


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("-m", changes.__name__) as found:
        yield found


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    """The store that `prepared` makes, to be copied for each kill."""
    folder = fast_folder()
    prepared(folder)
    copies.settled(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_before_any_call(operation: str, nursery: Nursery, template: Path, fast: Path) -> None:
    """For every n: killed right before its n-th call to a file; for some n, to the index. In the shortest form, for a
    share of them, which begins elsewhere for the next operation."""
    states, calls = reference(nursery, template, fast, operation)
    assert calls["file"] > 5
    assert calls["sql"] > 5
    places = [("file", n) for n in range(1, calls["file"] + 1)]
    places += [("sql", n) for n in range(1, calls["sql"] + 1, 1 if TORTURE else 15)]
    places = spread(places, list(OPERATIONS).index(operation))
    reached = set()
    for kind, n in places:
        root = fast / "killed"
        copied(template, root)
        killed, _ = nursery("operation", root, operation=operation, kill_at={kind: n})
        try:
            reached.add(repaired(root, states))
        except AssertionError as problem:
            problem.add_note(f"killed: {killed}, at {kind} call {n} of {calls[kind]}")
            raise
        shutil.rmtree(root)
    assert reached >= {0, len(states) - 1}, "neither side of the change was ever met"
    count_cases("tests/failing/test_crash.py::test_killed_before_any_call", len(places))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_within_a_write(operation: str, nursery: Nursery, template: Path, fast: Path) -> None:
    """Half of a file's bytes are there, and no more come."""
    states, _ = reference(nursery, template, fast, operation)
    for n in range(1, 50):
        root = fast / "killed"
        copied(template, root)
        killed, _ = nursery("operation", root, operation=operation, torn=n)
        try:
            repaired(root, states)
        except AssertionError as problem:
            problem.add_note(f"torn write number {n}")
            raise
        shutil.rmtree(root)
        if not killed:
            assert n > 1
            count_cases("tests/failing/test_crash.py::test_killed_within_a_write", n - 1)
            return
    raise AssertionError("the operation never came to its end")


@pytest.mark.parametrize("operation", ["add with detail", "forget two", "restore", "purge"])
def test_killed_while_repairing(operation: str, nursery: Nursery, template: Path, fast: Path) -> None:
    """A crash in the middle, and another one while what it left is repaired, at every place."""
    states, calls = reference(nursery, template, fast, operation)
    steps = range(1, calls["file"], 1 if TORTURE else 2)
    leaving = (n for n in steps if _leaves_work(nursery, template, fast, operation, n))
    middle = list(leaving) if THOROUGH else [next(leaving)]
    for at in middle if TORTURE else middle[:: max(1, len(middle) // 2)]:
        for n in range(1, 200, SHARE):
            root = fast / "killed"
            copied(template, root)
            nursery("operation", root, operation=operation, kill_at={"file": at})
            killed, _ = nursery("recovery", root, kill_at={"file": n})
            try:
                repaired(root, states)
            except AssertionError as problem:
                problem.add_note(f"killed at call {at}, and while repairing at call {n}")
                raise
            shutil.rmtree(root)
            if not killed:
                count_cases("tests/failing/test_crash.py::test_killed_while_repairing", n - 1)
                break


def _leaves_work(nursery: Nursery, template: Path, fast: Path, operation: str, n: int) -> bool:
    root = fast / "probe"
    copied(template, root)
    nursery("operation", root, operation=operation, kill_at={"file": n})
    found = journal.unfinished(layout.UserFolder(root / "alice")) is not None
    shutil.rmtree(root)
    return found


def test_undo_after_a_crash(nursery: Nursery, template: Path, fast: Path) -> None:
    """What was completed from the intent is in the history, and can be taken back."""
    _, calls = reference(nursery, template, fast, "forget two")
    before = truth(template / "alice")
    taken_back = 0
    for n in spread(range(1, calls["file"] + 1)):
        root = fast / "killed"
        copied(template, root)
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
    """Wherever it was killed: once repaired, either all is there still or no file, nor the index, holds the word."""
    states, calls = reference(nursery, template, fast, "purge")
    places = [("file", n) for n in range(1, calls["file"] + 1)]
    places += [("sql", n) for n in range(1, calls["sql"] + 1, 3)]
    places = spread(places)
    gone = 0
    for kind, n in places:
        root = fast / "killed"
        copied(template, root)
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
    count_cases("tests/failing/test_crash.py::test_a_killed_purge_leaves_no_word", len(places))


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


@pytest.mark.parametrize("seed", range(40 if TORTURE else sampled(4)))
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
    count_cases("tests/failing/test_crash.py::test_killed_at_any_time", kills)


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
            new_ids(store)
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

    copied(template, fast / "good")
    assert run(fast / "good", 0) == (None, False)
    before, after = truth(template / "alice"), truth(fast / "good" / "alice")
    for n in range(1 + list(OPERATIONS).index(operation) % SHARE, 400, SHARE):
        root = fast / "bad"
        copied(template, root)
        problem, failed = run(root, n)
        if not failed:
            count_cases("tests/failing/test_crash.py::test_any_call_may_fail", n - 1)
            return
        assert problem is None or isinstance(problem, MemctlError), f"call {n}: {problem!r}"
        expected = after if problem is None else before
        assert truth(root / "alice") == expected, f"call {n}: {problem}"
        assert left_over(root / "alice") == [], f"call {n}: {problem}"
        with opened(root) as store:
            store.sync()
            if is_new(store):
                same_as_rebuilt(store)
                store.put(replace(store.get(PLAIN), tags=("later",)), now=NOW)
                assert len(store.all()) == len(elements(expected["memory.json"]))
                assert left_over(store.folder.root) == []
        shutil.rmtree(root)
    raise AssertionError("the operation never came to its end")


def test_a_second_writer_finishes_what_the_first_began(nursery: Nursery, template: Path, fast: Path) -> None:
    """The next command of another process repairs before it writes, and does not undo what it finds."""
    _, calls = reference(nursery, template, fast, "add with detail")
    for n in spread(range(1, calls["file"] + 1, 2)):
        root = fast / "killed"
        copied(template, root)
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
