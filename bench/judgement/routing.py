"""How often the route of a question is right: `python -m bench.judgement.routing [FILE…] [--store FOLDER] [--show]`.

Each line of a file is a JSON object `{"question", "intent"}` with one of ask (where it is left out), decide, reflect. For a store, each memory is
forgotten in a copy of it and its text asked: right is the category it had.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from memctl import open_store
from memctl.core.models import Query
from memctl.retrieval.intents import ASK, DECIDE, REFLECT, intent

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)

CHARACTERS = 150
"""Of a memory that are asked: a question is short."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.judgement.routing", description=__doc__)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--store", type=Path, help="measure the domains of its memories too")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    options = parser.parse_args(arguments)
    for path in options.files:
        _report_intents(path, options.show)
    if options.store:
        _report_domains(options.store, options.show)
    return 0


def _report_intents(path: Path, show: bool) -> None:
    asked, right = Counter[str](), Counter[str]()
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        wanted, (found, cue) = case.get("intent", ASK), intent(case["question"])
        asked[wanted] += 1
        right[wanted] += found == wanted
        if show and found != wanted:
            print(f"  {wanted} taken for {found} by {cue!r}: {case['question']}")
    rates = ", ".join(f"{name} {_rate(right[name], asked[name])}" for name in (ASK, DECIDE, REFLECT) if asked[name])
    print(f"{path.name}: {rates}; all {_rate(right.total(), asked.total())}")


def _report_domains(store: Path, show: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(store, Path(folder) / "store"))
        for user in sorted(path.parent.name for path in copy.glob("*/memory.json")):
            _report_domains_of(copy, user, show)


def _report_domains_of(store: Path, user: str, show: bool) -> None:
    asked = named = right = 0
    with open_store(store, user) as memories:
        for memory in memories.select(now=NOW):
            memories.forget([memory.memory_id], now=NOW)
            question = memory.content[:CHARACTERS]
            found = memories.query(Query(question), now=NOW, receipt=False).route.categories[:1]
            memories.undo(now=NOW)
            asked, named, right = asked + 1, named + bool(found), right + (found == (memory.category,))
            if show and found and found != (memory.category,):
                print(f"  {memory.category} taken for {found[0]}: {question}")
    print(f"{user}: a domain for {_rate(named, asked)} of {asked} memories, right for {_rate(right, named)} of these")


def _rate(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


if __name__ == "__main__":
    raise SystemExit(main())
