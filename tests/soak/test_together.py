"""Eight processes on one store: three of command lines, three of Python, two MCP servers with the SDK's own client.

Each keeps a list of what was acknowledged to it; at the end the store is compared with all of them. This file, run as
a script, is one of the processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from conftest import THOROUGH, TORTURE, count_cases, left_over, same_as_rebuilt
from failing.nursery import own_path

from memctl import open_store
from memctl.core.models import Memory
from memctl.doctor.examining import examine
from memctl.storage.files import journal

SECONDS = float(os.environ.get("MEMCTL_SOAK_SECONDS", 120 if TORTURE else 6 if THOROUGH else 2))
EXECUTABLE = str(Path(sys.executable).with_name("memctl"))
KINDS = ("cli", "cli", "cli", "python", "python", "python", "mcp", "mcp")


class Diary:
    """What one process was told is done: its texts, each with its id where it is known; None where it was forgotten."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.until = name, time.monotonic() + seconds
        self.dice = random.Random(name)
        self.texts: dict[str, str] = {}
        self.gone: list[str] = []
        self.done: Counter[str] = Counter()

    @property
    def going(self) -> bool:
        """Until the time is over, and at least for a few acts: a busy machine may give it no turn before."""
        return time.monotonic() < self.until or self.done.total() < 3

    def new(self) -> str:
        return f"{self.name} saw number {len(self.texts) + len(self.gone)} {self.dice.randrange(10**9)}"

    def choose(self) -> str:
        """What to do next; what was written earlier is needed for some of it."""
        what = self.dice.choice(("add", "add", "add", "query", "query", "edit", "forget", "list"))
        return what if what in ("add", "query", "list") or len(self.texts) > 2 else "add"

    def any(self) -> tuple[str, str]:
        return self.dice.choice(sorted(self.texts.items()))


def _python(root: Path, diary: Diary) -> None:
    with open_store(root, user="alice", environment=os.environ) as store:
        while diary.going:
            what = diary.choose()
            if what == "add":
                text = diary.new()
                diary.texts[text] = store.add(text).memory.memory_id
            elif what in ("query", "list"):
                found = store.query(diary.name, top=5)
                assert found.index.state == "fresh", found.index
            else:
                text, memory_id = diary.any()
                del diary.texts[text]
                if what == "forget":
                    store.forget([memory_id])
                    diary.gone.append(text)
                else:
                    store.put(replace(store.get(memory_id), content=f"{text} changed"))
                    diary.texts[f"{text} changed"] = memory_id
            diary.done[what] += 1


def _cli(root: Path, diary: Diary) -> None:
    def run(*line: str) -> Any:
        made = subprocess.run([EXECUTABLE, *line, "--json"], capture_output=True, text=True, check=False)
        assert made.returncode == 0, (line, made.stderr)
        assert made.stderr == "", (line, made.stderr)
        return json.loads(made.stdout)

    while diary.going:
        what = diary.choose()
        if what == "add":
            text = diary.new()
            diary.texts[text] = run("add", text)["memory"]["memory_id"]
        elif what == "query":
            assert run("query", diary.name)["index"]["state"] == "fresh"
        elif what == "list":
            assert run("list", "-n", "3")["memories"]
        else:
            text, memory_id = diary.any()
            del diary.texts[text]
            if what == "forget":
                run("forget", memory_id)
                diary.gone.append(text)
            else:
                run("edit", memory_id, "--set", f"content={text} changed")
                diary.texts[f"{text} changed"] = memory_id
        diary.done[what] += 1


def _mcp(root: Path, diary: Diary) -> None:
    from mcp import Client, StdioServerParameters

    async def work() -> None:
        server = StdioServerParameters(command=EXECUTABLE, args=["mcp"], env=dict(os.environ))
        async with Client(server) as client:

            async def call(name: str, **given: Any) -> str:
                found = await client.call_tool(name, given)
                assert not found.is_error, found
                return found.content[0].text

            while diary.going:
                what = diary.choose()
                if what in ("query", "list", "forget", "edit"):
                    await call("retrieve_from_memory", keywords=[diary.name])
                    diary.done["query"] += 1
                else:
                    text = diary.new()
                    await call("record_to_memory", thinking="seen", content=[text])
                    diary.texts[text] = ""
                    diary.done["add"] += 1

    asyncio.run(work())


PARTS: dict[str, Callable[[Path, Diary], None]] = {"python": _python, "cli": _cli, "mcp": _mcp}


def _play() -> None:
    kind, root, name, seconds = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    diary = Diary(name, float(seconds))
    PARTS[kind](Path(root), diary)
    print(json.dumps({"texts": diary.texts, "gone": diary.gone, "done": diary.done}), flush=True)


def test_eight_processes(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()
    (root / "memctl.yaml").write_text("lock_timeout: 120\nnear_duplicate: 1\n")
    own = {"MEMCTL_STORE": str(root), "MEMCTL_USER": "alice", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {**os.environ, **own, "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": own_path()}
    with open_store(root, user="alice", create=True, environment=environment) as store:
        store.add_many([Memory("", f"There before, number {n}") for n in range(50)])
        ids = {memory.memory_id for memory in store.all()}
    diaries = _played(root, environment)

    done = sum((Counter(diary["done"]) for diary in diaries), Counter())
    expected = {text: memory_id for diary in diaries for text, memory_id in diary["texts"].items()}
    gone = {text for diary in diaries for text in diary["gone"]}
    with open_store(root, user="alice", environment=environment) as store:
        there = {memory.content: memory for memory in store.all() if memory.memory_id not in ids}
        assert len(store.all()) == len(there) + 50, "something is there twice"
        assert there.keys() == expected.keys()
        assert all(memory_id in ("", there[text].memory_id) for text, memory_id in expected.items())
        assert {found.memory.content for found in store.engine.storage.trashed()} == gone
        assert len(store.history.operations()) == done["add"] + done["edit"] + done["forget"] + 1
        assert journal.unfinished(store.folder) is None
        assert left_over(root) == []
        assert examine(store) == []
        same_as_rebuilt(store)
    count_cases("tests/soak/test_together.py::test_eight_processes", done.total())


def _played(root: Path, environment: dict[str, str]) -> list[Any]:
    """All eight at once."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    players = []
    for number, kind in enumerate(KINDS):
        command = [sys.executable, __file__, kind, str(root), f"{kind}{number}", str(SECONDS)]
        players.append(subprocess.Popen(command, env=environment, **pipes))
    for player in players:
        assert player.stdout.readline() == "ready\n"
    for player in players:
        player.stdin.write("\n")
        player.stdin.flush()
    told = []
    for player in players:
        said, failed = player.communicate()
        assert player.returncode == 0, failed
        told.append(json.loads(said))
    return told


if __name__ == "__main__":
    _play()
