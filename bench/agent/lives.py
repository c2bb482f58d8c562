"""What an agent can answer about its user months later: `python -m bench.agent lives FILE… [--misses]`.

A file is a JSON list of lives: `{"name", "sessions": [{"date", "messages": [{"role", "content"}]}], "questions":
[{"question", "answer", "kind", "old"}]}`. Each life is played through `AgentMemory`, message by message at its session's
date; then each question is asked in a new session, months later. An answer counts if the recalled text has its phrase;
if the question has an `old` value, what states only that one must not look current.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.agent.data import Dialogue, Turn
from bench.agent.report import number
from bench.agent.score import ENOUGH, content_words, items, share, words
from bench.agent.systems import Agent
from memctl.context.tokens import estimate
from memctl.core import times

SIZES = (1_000, None)
"""Tokens of the recalled part; None for the default."""

LATER = timedelta(days=120)
"""How long after the last session the questions are asked."""

STEP = timedelta(seconds=30)
"""Between two messages of a session."""

_DATED_NOTE = re.compile(r"\((?:since|the user said later|corrected since|said on|a newer memory seems)\b")
"""The notes by which a context marks a value that no longer holds."""


@dataclass(frozen=True)
class Asked:
    """A question of a life: any of the answers will do, and what was true before, if the answer changed."""

    text: str
    answers: tuple[str, ...]
    kind: str
    old: str = ""


@dataclass(frozen=True)
class Life:
    """A user's conversations, and questions about the user."""

    dialogue: Dialogue
    asked: tuple[Asked, ...]


@dataclass(frozen=True)
class Result:
    """How a question went at one size.

    Args:
        size: tokens of the recalled part; None for the default.
        phrase: whether the recalled text has the answer, word for word.
        words: whether one item has most of its content words.
        stale: whether the old value looks current.
        tokens: of the recalled text.
    """

    life: str
    asked: Asked
    size: int | None
    phrase: bool
    words: bool
    stale: bool
    tokens: int
    text: str

    @property
    def answered(self) -> bool:
        return self.phrase and not self.stale


def load(path: Path) -> list[Life]:
    return [_life(str(at), each) for at, each in enumerate(json.loads(path.read_text("utf-8")))]


def _life(number: str, given: dict[str, Any]) -> Life:
    name = str(given.get("name") or number)
    turns = tuple(turn for at, session in enumerate(given["sessions"]) for turn in _turns(f"s{at}", session))
    return Life(
        Dialogue(name, tuple(sorted(turns, key=lambda turn: turn.at)), (), LATER),
        tuple(map(_asked, given["questions"])),
    )


def _turns(session: str, given: dict[str, Any]) -> Iterator[Turn]:
    start = times.from_value(given["date"])
    for at, message in enumerate(given["messages"]):
        yield Turn(f"{session}:{at}", message["content"], message["role"], "", start + at * STEP, session)


def _asked(given: dict[str, Any]) -> Asked:
    answer = given["answer"]
    answers = tuple(map(str, answer)) if isinstance(answer, list) else (str(answer),)
    return Asked(given["question"], answers, given.get("kind", ""), str(given.get("old") or ""))


def measured(life: Life, folder: Path) -> Iterator[Result]:
    agent = Agent(life.dialogue, folder)
    try:
        for asked in life.asked:
            for size in SIZES:
                text = agent.recall(asked.text, size, gate=True)
                yield _result(life.dialogue.name, asked, size, text)
    finally:
        agent.close()


def _result(life: str, asked: Asked, size: int | None, text: str) -> Result:
    held = [frozenset(words(item)) for item in items(text)]
    phrase = any(_plain(answer) in _plain(text) for answer in asked.answers)
    most = any(share(content_words(answer), held) >= ENOUGH for answer in asked.answers)
    return Result(life, asked, size, phrase, most, is_stale(asked, text), estimate(text), text)


def is_stale(asked: Asked, text: str) -> bool:
    """Whether an item states the old value as if it were current: without the new one, and without a note that says so.

    Messages are what was said on a day, so only what is stated as known counts.
    """
    if not asked.old:
        return False
    known = [_plain(item) for item in items(text) if item.startswith("[")]
    return any(
        _plain(asked.old) in item
        and not any(_plain(answer) in item for answer in asked.answers)
        and not _DATED_NOTE.search(item)
        for item in known
    )


def _plain(text: str) -> str:
    """The text without differences that do not matter: case, quotes, line ends and their marks."""
    return " ".join(re.sub(r"\n\s*(?:\| ?)?", " ", text).replace("’", "'").casefold().split())


def table(results: Sequence[Result]) -> str:
    """The share of questions that can be answered, by kind and size."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups["all"].append(result)
        groups[result.asked.kind].append(result)
    lines = ["| kind | questions |", "|---|---|"]
    for size in SIZES:
        lines[0] += f" {f'{size:,}' if size else 'default'} |"
        lines[1] += "---|"
    for kind, of in groups.items():
        cells = [_cell([each for each in of if each.size == size]) for size in SIZES]
        lines.append(f"| {kind or '-'} | {len(of) // len(SIZES)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(results: Sequence[Result]) -> str:
    """Answered, held by one item to 80 %, tokens; and how many answers look outdated, of those with an old value."""
    shares = (fmean(getattr(each, name) for each in results) for name in ("answered", "words"))
    changed = [each.stale for each in results if each.asked.old]
    outdated = f"; outdated {sum(changed)} of {len(changed)}" if changed else ""
    return " / ".join(map(number, shares)) + f" ({fmean(each.tokens for each in results):,.0f}{outdated})"


def misses(results: Sequence[Result]) -> Iterator[str]:
    for each in results:
        if not each.answered:
            why = "outdated" if each.stale else "missing"
            yield f"{each.life}\t{each.size}\t{each.asked.kind}\t{why}\t{each.asked.text}\t{' | '.join(each.asked.answers)}"


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.agent lives", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--misses", action="store_true", help="list the questions that could not be answered")
    options = parser.parse_args(given)
    for path in options.files:
        lives = load(path)
        with tempfile.TemporaryDirectory() as folder:
            results = [
                result
                for at, life in enumerate(lives)
                for result in measured(life, Path(folder) / str(at))
            ]  # fmt: skip
        messages = sum(len(life.dialogue.turns) for life in lives)
        print(f"{path}: {len(lives)} lives, {messages} messages\n\n{table(results)}\n")
        if options.misses:
            print(*misses(results), sep="\n")
    return 0
