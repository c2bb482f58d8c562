"""What a start costs: what is imported for what, and that subjects of the store which join late are whole.

No clocks: the lists of modules say what was imported.
"""

from __future__ import annotations

import inspect
import json
import os
import pydoc
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import memctl
from memctl import MemoryStore, store
from memctl.memories.asking import Asking

LATE = {"memctl.purge", "memctl.files.erase", "memctl.files.sessions", "memctl.git"}
"""Parts of the program which most commands do not need."""

HEAVY = {"numpy", "fastembed", "onnxruntime", "httpx", "yaml", "rich", "regex", "asyncio"}


def modules_after(script: str, *arguments: str) -> set[str]:
    """The modules a fresh process has imported when the script has run."""
    whole = f"import sys\n{script}\nimport json\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    environment = os.environ | {"PYTHONPATH": str(Path(memctl.__file__).parents[1])}
    command = [sys.executable, "-c", whole, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def subjects(modules: set[str]) -> set[str]:
    return {name.removeprefix("memctl.usecases.") for name in modules if name.startswith("memctl.usecases.")}


def class_of(subject: str) -> type:
    module, _, name = subject.partition(".")
    found: type = getattr(import_module(f"memctl.usecases.{module}"), name)
    return found


@pytest.fixture
def asked(tmp_path: Path) -> str:
    """A store with something in it."""
    with memctl.open_store(tmp_path / "store", user="alice", create=True) as made:
        made.add("Alice prefers Inês’s café – tea, not coffee", category="preference")
    return str(tmp_path / "store")


COMMAND = "from memctl.cli.main import main\nassert main(sys.argv[1:]) == 0"


def test_a_question_imports_nothing_but_asking(asked: str) -> None:
    found = modules_after(COMMAND, "--store", asked, "query", "what does Alice drink?")

    assert subjects(found) == {"asking"}
    assert not found & (LATE | HEAVY)


def test_a_list_imports_no_model(asked: str) -> None:
    found = modules_after(COMMAND, "--store", asked, "list")

    assert subjects(found) == {"asking"}
    assert not found & (LATE | HEAVY | {"tokenizers"})


def test_an_add_imports_its_own_subject(asked: str) -> None:
    found = modules_after(COMMAND, "--store", asked, "add", "Bob prefers coffee")

    assert {"adding", "asking"} <= subjects(found)
    assert not subjects(found) & {"sessions", "tasks", "strategies", "consolidating", "history", "context"}
    assert not found & HEAVY


def test_the_version_imports_nothing_at_all() -> None:
    found = modules_after(COMMAND, "--version")

    assert {name for name in found if name.startswith("memctl")} == {"memctl", "memctl.cli", "memctl.cli.main"}
    assert "typer" not in found


# The subjects of the store


def test_the_table_is_what_the_subjects_add() -> None:
    whole = type("Whole", (*map(class_of, store.SUBJECTS), Asking), {})
    public = [name for name in dir(whole) if not name.startswith("_") and not hasattr(Asking, name)]
    first = {name: next(base for base in whole.__mro__ if name in vars(base)) for name in public}

    assert sorted(name for names in store.SUBJECTS.values() for name in names) == sorted(public)
    assert {name: class_of(subject) for subject, names in store.SUBJECTS.items() for name in names} == first


def test_no_private_name_means_two_things() -> None:
    """Else it would depend on the order in which subjects joined."""
    seen: dict[str, type] = {}
    for subject in (*map(class_of, store.SUBJECTS), *Asking.__mro__[:-1]):
        for name in vars(subject):
            if name.startswith("_") and not name.startswith("__"):
                assert seen.setdefault(name, subject) is subject, f"{name}: {seen[name]}, {subject}"


@pytest.mark.parametrize("subject", store.SUBJECTS)
def test_each_subject_joins_alone(subject: str) -> None:
    """In a fresh process, so that none has joined before; and its names are its own afterwards."""
    names = store.SUBJECTS[subject]
    script = f"""
from memctl.store import MemoryStore, Subjects
from inspect import getattr_static
before = [name for name in {names!r} if type(getattr_static(MemoryStore, name)).__name__ == "_Later"]
assert before == list({names!r}), before
for name in {names!r}:
    getattr(MemoryStore, name)
assert {subject.partition(".")[2]!r} in [base.__name__ for base in MemoryStore.__mro__]
for name in {names!r}:
    assert type(getattr_static(MemoryStore, name)).__name__ != "_Later", name
"""
    assert subject.partition(".")[0] in subjects(modules_after(script))


def test_what_one_subject_overrides_is_overridden_whoever_joined_first() -> None:
    script = """
from memctl.store import MemoryStore
MemoryStore.session_ids
assert "Tasks" not in [base.__name__ for base in MemoryStore.__mro__]
assert MemoryStore.end_session.__qualname__ == "Tasks.end_session"
"""
    assert "tasks" in subjects(modules_after(script))


def test_a_class_of_ones_own_may_build_on_a_method_that_joins_late(asked: str) -> None:
    script = """
from memctl import open_store
from memctl.store import MemoryStore
class Shouting(MemoryStore):
    def add(self, content, **more):
        return super().add(content.upper(), **more)
store = open_store(sys.argv[1])
store.__class__ = Shouting
assert store.add("tea").memory.content == "TEA"
assert store.add("milk").memory.content == "MILK"
"""
    assert "adding" in subjects(modules_after(script, asked))


def test_threads_may_ask_for_the_same_subject_at_once() -> None:
    script = """
import threading
from memctl.store import MemoryStore
names = ("start_task", "save", "maintain", "end_session", "add", "undo") * 4
found, gate = [], threading.Barrier(len(names))
def look(name):
    gate.wait()
    found.append(getattr(MemoryStore, name).__name__)
threads = [threading.Thread(target=look, args=(name,)) for name in names]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert sorted(found) == sorted(names), found
"""
    assert "tasks" in subjects(modules_after(script))


def test_help_shows_every_method() -> None:
    shown = pydoc.plain(pydoc.render_doc(MemoryStore))
    for names in store.SUBJECTS.values():
        assert all(f"\n |  {name}" in shown for name in names)


@pytest.mark.parametrize("name", [name for names in store.SUBJECTS.values() for name in names])
def test_every_method_says_what_it_takes(name: str) -> None:
    found: Any = getattr(MemoryStore, name)
    function = found.fget if isinstance(found, property) else found

    assert inspect.signature(function).return_annotation is not inspect.Signature.empty
