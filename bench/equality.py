"""Whether a database answers as a folder does: `python -m bench.equality DATA [NAME...] [--stores N] [--questions N]`.

DATA is a folder of data sets as for `bench.recall`. Each store is a folder, and copied into a database; the hits of each
question, their order, scores and explained parts are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.postgres import database
from memctl import MemoryStore, copy_store, open_store
from memctl.core.models import Memory

CLOSE = 1e-6


def stores_of(data: Path) -> Iterator[tuple[str, list[dict], list[str]]]:
    """Each store of a data set with its lines and questions."""
    lines = [json.loads(line) for line in (data / "memories.jsonl").read_text("utf-8").splitlines()]
    questions = [json.loads(line) for line in (data / "questions.jsonl").read_text("utf-8").splitlines()]
    for name in dict.fromkeys(line["store"] for line in lines):
        yield (
            name,
            [line for line in lines if line["store"] == name],
            [each["question"] for each in questions if each["store"] == name],
        )


def compared(folder: MemoryStore, rows: MemoryStore, question: str) -> str:
    """What differs first between two answers; `equal` where nothing does."""
    here, there = (store.query(question, top=10).hits for store in (folder, rows))
    if {hit.memory.memory_id for hit in here} != {hit.memory.memory_id for hit in there}:
        return "hits"
    if [hit.memory.memory_id for hit in here] != [hit.memory.memory_id for hit in there]:
        return "order"
    if any(abs(a.score - b.score) > CLOSE for a, b in zip(here, there, strict=True)):
        return "scores"
    for a, b in zip(here, there, strict=True):
        if a.parts.keys() != b.parts.keys() or any(abs(a.parts[name] - b.parts[name]) > CLOSE for name in a.parts):
            return "parts"
    return "equal"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", help="data sets; default: all")
    parser.add_argument("--stores", type=int, default=10**6, help="stores of each set at most")
    parser.add_argument("--questions", type=int, default=10**6, help="questions of each store at most")
    options = parser.parse_args()
    names = options.names or sorted(path.parent.name for path in options.data.glob("*/memories.jsonl"))
    differing = 0
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        os.environ["XDG_CACHE_HOME"] = str(root / "cache")
        with database("", root) as place:
            for number, name in enumerate(names):
                counts = compare(options, name, root / f"folders-{number}", place.program, number)
                print(f"{name}: {', '.join(f'{many} {what}' for what, many in counts.most_common())}", flush=True)
                differing += counts.total() - counts["equal"]
    return 1 if differing else 0


def compare(options: argparse.Namespace, name: str, root: Path, address: str, number: int) -> Counter[str]:
    """How the answers of one data set compare."""
    counts: Counter[str] = Counter()
    for at, (_, lines, questions) in enumerate(stores_of(options.data / name)):
        if at == options.stores:
            break
        user = f"user-{number}-{at}"
        with open_store(root, user, create=True) as folder:
            folder.add_many([Memory("", line["text"]) for line in lines])
            copy_store(root, address, [user])
            with open_store(address, user) as rows:
                counts.update(compared(folder, rows, question) for question in questions[: options.questions])
    return counts


if __name__ == "__main__":
    sys.exit(main())
