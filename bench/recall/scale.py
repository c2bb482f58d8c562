"""Recall and latency as a store grows: `python -m bench.recall.scale DATA_FOLDER [--sizes N...] [--questions N]`.

The questions of LoCoMo are asked of stores that hold its dialogues and ever more that has nothing to do with them. Below
the number of all its messages each dialogue has a store of its own. Distractors are the other dialogues, then the
other English sets, then copies of all these with every name changed, but of no message that holds an answer. Beside
memctl as it is stand memctl with every vector compared, which is what its first pass by sketches approximates, and
plain FTS5.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, count, islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench.recall.data import Dialogue, Question, load
from bench.recall.systems import Memctl, PlainFullText, System
from memctl.evaluation.metrics import Judgement, interval, judged, mean
from memctl.storage.index import search

TARGET, OTHERS = "locomo", ("beam", "xquad-r-en", "reflexion-lessons")
SHORT = 600
"""Characters: longer texts are no distractors twice, as the copies would be mostly of these."""

EXACT = 10**9

_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b")
_SYLLABLES = ("va", "lo", "ri", "te", "mu", "sa", "ko", "ne", "pi", "du", "ha", "ze")


@dataclass
class Run:
    """What one way of searching made of the questions at one size."""

    judgements: list[Judgement] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def ask(self, system: System, questions: Sequence[Question]) -> None:
        for question in questions:
            start = time.process_time()  # of the processor: what else runs on the machine does not count
            ranking = system.ask(question.text)
            self.seconds.append(time.process_time() - start)
            self.judgements.append(judged(ranking, question.gold))


def stores(data: Path, size: int, most: int) -> Iterator[Dialogue]:
    """Stores of a size with the questions to ask them, at most so many in all, evenly picked."""
    targets = [_named(name, one) for name, one in load(data / TARGET).items()]
    total = sum(len(one.questions) for one in targets)
    for one in targets:
        one.questions = one.questions[:: max(1, -(-total // most))]
    gold = {name for one in targets for question in one.questions for name in question.gold}
    everything = [line for one in targets for line in one.memories]
    if size >= len(everything):
        questions = [question for one in targets for question in one.questions]
        yield Dialogue([*everything, *islice(_strangers(data, everything, gold), size - len(everything))], questions)
        return
    for one in targets:
        own = {line["id"] for line in one.memories}
        beside = [line for line in everything if line["id"] not in own]
        others = islice(chain(beside, _strangers(data, beside, gold)), size - len(one.memories))
        yield Dialogue([*one.memories, *others], one.questions)


def _named(store: str, dialogue: Dialogue) -> Dialogue:
    """The dialogue with ids and sessions that no other has."""
    memories = [_renamed(line, store) for line in dialogue.memories]
    questions = [Question(q.text, frozenset(f"{store}/{g}" for g in q.gold), q.category) for q in dialogue.questions]
    return Dialogue(memories, questions)


def _renamed(line: Mapping[str, Any], store: str) -> dict[str, Any]:
    session = {"session": f"{store}/{line['session']}"} if line.get("session") else {}
    return {**line, "id": f"{store}/{line['id']}", **session}


def _strangers(data: Path, dialogues: Sequence[dict[str, Any]], gold: set[str]) -> Iterator[dict[str, Any]]:
    """Distractors without end: the other sets, then copies of these and of the dialogues."""
    others = [
        _renamed(line, f"{name}/{store}")
        for name in OTHERS
        for store, one in load(data / name).items()
        for line in one.memories
    ]
    yield from others
    pool = [line for line in (*dialogues, *others) if line["id"] not in gold and len(line["text"]) <= SHORT]
    for copy in count(1):
        yield from (_copied(line, copy) for line in pool)


def _copied(line: Mapping[str, Any], copy: int) -> dict[str, Any]:
    """A text with every name in it changed for an invented one, the speaker's too."""
    text = _NAME.sub(lambda match: _invented(match[0], copy), line["text"])
    speaker = {"speaker": _invented(line["speaker"], copy)} if line.get("speaker") else {}
    return {**_renamed(line, f"copy{copy}"), "text": text, **speaker}


def _invented(name: str, copy: int) -> str:
    digest = blake2b(f"{copy}/{name}".encode(), digest_size=4).digest()
    return "".join(_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest[:3]).capitalize()


def measured(data: Path, size: int, most: int, model: str) -> dict[str, Run]:
    """The ways of searching at one size."""
    runs = {"memctl": Run(), "every vector compared": Run(), "plain FTS5": Run()}
    for dialogue in stores(data, size, most):
        with tempfile.TemporaryDirectory() as folder:
            system = Memctl(dialogue, Path(folder) / "store", f"model: {model}\nlog_limit_mb: 10000\n")
            system.ask(dialogue.questions[0].text)
            runs["memctl"].ask(system, dialogue.questions)
            with _exactly():
                runs["every vector compared"].ask(system, dialogue.questions)
            system.close()
        bare = PlainFullText(dialogue, "porter unicode61")
        runs["plain FTS5"].ask(bare, dialogue.questions)
        bare.close()
    return runs


@contextmanager
def _exactly() -> Iterator[None]:
    """Without the first pass."""
    before, search.EXACT_SCAN_LIMIT = search.EXACT_SCAN_LIMIT, EXACT
    try:
        yield
    finally:
        search.EXACT_SCAN_LIMIT = before


def rows(size: int, runs: Mapping[str, Run]) -> list[str]:
    """Lines of the table; what the first pass costs is the difference of the first two, question by question."""
    exact = [j.recall[-1] for j in runs["every vector compared"].judgements]
    lines = []
    for name, run in runs.items():
        figures = mean(run.judgements)
        recalls = [j.recall[-1] for j in run.judgements]
        low, high = interval(recalls)
        lost = [a - b for a, b in zip(exact, recalls, strict=True)]
        cost = "{:+.4f} ({:+.4f} to {:+.4f})".format(fmean(lost), *interval(lost)) if name == "memctl" else ""
        lines.append(
            f"| {size:,} | {name} | {figures.recall[0]:.3f} | {figures.recall[1]:.3f} | {figures.recall[-1]:.3f} "
            f"({low:.3f}–{high:.3f}) | {cost} | {median(run.seconds) * 1000:.1f} |"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Recall and latency as a store grows.")
    parser.add_argument("data", type=Path, help="folder with NAME/memories.jsonl and NAME/questions.jsonl")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--questions", type=int, default=250, help="how many at most")
    parser.add_argument("--model", default="builtin")
    options = parser.parse_args()
    print("| memories | what | R@1 | R@5 | R@10 (95 %) | lost by the first pass | p50 ms of processor time |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for size in options.sizes:
        runs = measured(options.data, size, options.questions, options.model)
        print("\n".join(rows(size, runs)), flush=True)
        print(f"{len(runs['memctl'].judgements)} questions at {size:,}", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
