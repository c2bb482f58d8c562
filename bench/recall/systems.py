"""What is compared: memctl as it is, its signals alone, and what others do."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import apsw

from bench.recall.data import Dialogue, as_memory
from memctl import open_store
from memctl.core.models import Query

ANSWERS = 50
"""Hits that are asked for: the tail is for the size of a context, recall looks at the first ten."""


class System(Protocol):
    """Something that is filled with a dialogue and asked."""

    def ask(self, question: str) -> Sequence[str]:
        """Ids of memories, best first."""

    def close(self) -> None: ...


class Memctl:
    """memctl through its public API."""

    def __init__(
        self, dialogue: Dialogue, folder: Path, settings: str = "", top: int = ANSWERS, at_end: bool = False
    ) -> None:
        times = [time for line in dialogue.memories if at_end and (time := as_memory(line).occurred_at)]
        self._top, self._now = top, max(times, default=None)
        folder.mkdir(parents=True)
        (folder / "memctl.yaml").write_text(settings, "utf-8")
        self._store = open_store(folder, user="bench", create=True)
        self._store.add_many([as_memory(line) for line in dialogue.memories], allow_duplicate=True)
        self._store.sync()

    def ask(self, question: str) -> Sequence[str]:
        hits = self._store.query(Query(question, top=self._top), receipt=False, now=self._now).hits
        return [hit.memory.external_id for hit in hits]

    def close(self) -> None:
        self._store.close()


class RankFusion:
    """The textbook hybrid: reciprocal ranks of full text and vectors added, k = 60."""

    def __init__(self, dialogue: Dialogue, folder: Path, model: str) -> None:
        self._parts = [
            Memctl(dialogue, folder / "words", "model: none\n"),
            Memctl(dialogue, folder / "vectors", f"model: {model}\nlexical_weight: 0.0\n"),
        ]

    def ask(self, question: str) -> Sequence[str]:
        scores: dict[str, float] = defaultdict(float)
        for part in self._parts:
            for rank, name in enumerate(part.ask(question), 1):
                scores[name] += 1 / (60 + rank)
        return sorted(scores, key=lambda name: (-scores[name], name))[:ANSWERS]

    def close(self) -> None:
        for part in self._parts:
            part.close()


class PlainFullText:
    """FTS5 as others use it: the whole question, any of its words, bm25."""

    def __init__(self, dialogue: Dialogue, tokenizer: str) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(f"CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, body, tokenize='{tokenizer}')")
        rows = [(str(m["id"]), _spoken(m)) for m in dialogue.memories]
        self._connection.executemany("INSERT INTO t VALUES (?, ?)", rows)

    def ask(self, question: str) -> Sequence[str]:
        words = [f'"{word}"' for word in re.findall(r"\w+", question)]
        sql = "SELECT id FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
        return [name for (name,) in self._connection.execute(sql, (" OR ".join(words), ANSWERS))] if words else []

    def close(self) -> None:
        self._connection.close()


class Grep:
    """Lines by how many words of the question they hold, as a person with grep would."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._lines = [(str(m["id"]), _spoken(m).lower()) for m in dialogue.memories]

    def ask(self, question: str) -> Sequence[str]:
        words = set(re.findall(r"\w+", question.lower()))
        counts = Counter({name: sum(word in line for word in words) for name, line in self._lines})
        return [name for name, count in counts.most_common(ANSWERS) if count]

    def close(self) -> None: ...


def _spoken(line: dict[str, object]) -> str:
    return f"{line['speaker']}: {line['text']}" if line.get("speaker") else str(line["text"])


Maker = Callable[[Dialogue, Path], System]


def _with_setting(model: str, line: str, top: int, at_end: bool) -> Maker:
    return lambda d, f: Memctl(d, f, f"model: {model}\n{line}\n", top, at_end)


def makers(model: str, baselines: bool, also: Sequence[str] = (), at_end: bool = False) -> dict[str, Maker]:
    """The systems by name; the first is memctl as it is.

    Args:
        also: lines of settings: memctl with each, asked for the ten hits that are judged, because some settings decide by
            how many are asked for.
        at_end: these ask on the day of the last memory, not today.
    """
    result: dict[str, Maker] = {f"memctl ({model})": _with_setting(model, "", ANSWERS, at_end)}
    result |= {f"memctl ({line})": _with_setting(model, line, 10, at_end) for line in also}
    if baselines:
        result |= {
            "memctl, full text alone": lambda d, f: Memctl(d, f, "model: none\n"),
            f"{model} vectors alone": lambda d, f: Memctl(d, f, f"model: {model}\nlexical_weight: 0.0\n"),
            "rank fusion of these two, k=60": lambda d, f: RankFusion(d, f, model),
            "FTS5 unicode61, whole question": lambda d, _: PlainFullText(d, "unicode61"),
            "FTS5 porter, whole question": lambda d, _: PlainFullText(d, "porter unicode61"),
            "grep": lambda d, _: Grep(d),
        }
    return result
