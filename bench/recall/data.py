"""The plain form of a data set: `NAME/memories.jsonl` and `NAME/questions.jsonl`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memctl.core import times
from memctl.core.models import Memory


@dataclass(frozen=True)
class Question:
    """A question, the ids of the memories that hold its evidence, and what kind of question it is."""

    text: str
    gold: frozenset[str]
    category: str


@dataclass
class Dialogue:
    """One store: its memories and the questions about them."""

    memories: list[dict[str, Any]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    @property
    def sessions(self) -> dict[str, str]:
        """The session of each memory, by id."""
        return {m["id"]: str(m.get("session", "")) for m in self.memories}


def load(folder: Path) -> dict[str, Dialogue]:
    """A data set by store; questions without evidence are left out."""
    dialogues: dict[str, Dialogue] = defaultdict(Dialogue)
    for line in _lines(folder / "memories.jsonl"):
        dialogues[line["store"]].memories.append(line)
    for line in _lines(folder / "questions.jsonl"):
        if line["gold"]:
            gold = frozenset(map(str, line["gold"]))
            dialogues[line["store"]].questions.append(Question(line["question"], gold, str(line.get("category", ""))))
    return {name: one for name, one in dialogues.items() if one.questions}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def as_memory(line: dict[str, Any]) -> Memory:
    """A line as a memory, as `memctl import` would make it."""
    return Memory(
        "",
        line["text"],
        external_id=str(line["id"]),
        occurred_at=times.from_value(line["time"]) if line.get("time") else None,
        session_id=str(line.get("session", "")),
        metadata={"speaker": line["speaker"]} if line.get("speaker") else {},
    )
