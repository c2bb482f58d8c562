"""What is compared: an agent's memory after whole dialogues, and simpler ways to choose messages for a prompt."""

from __future__ import annotations

import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from bench.agent.data import ASSISTANT, Dialogue, Turn
from memctl import open_store
from memctl.agent.memory import AgentMemory
from memctl.context.tokens import estimate
from memctl.core.models import Memory, Query
from memctl.store import MemoryStore

if TYPE_CHECKING:
    from memctl.context.pack import ContextPack

USER_NAME = "bench"
ASKING = "asking"
"""The session in which the questions are asked; none of the dialogue's messages is in it."""

WHOLE_WINDOW = 0.4
"""The largest share of a window that the recalled part had in programs that cannot set its size alone."""

MOST_HITS = 1_000
DONE = "replayed"


class System(Protocol):
    """Something that was given a dialogue and chooses what to put into a prompt for a question."""

    sized: bool
    """Whether it needs a size; else it has a default of its own."""

    def recall(self, question: str, size: int | None, gate: bool) -> str:
        """The recalled part of a prompt: at most `size` tokens of items, or its default size where None.

        Args:
            gate: whether it may decide that nothing it knows answers the question.
        """

    def close(self) -> None: ...


# The agent's memory


class Agent:
    """AgentMemory: one session per session of the dialogue, ended one after the other; no `maintain`.

    The questions are asked in a session of their own, which stays empty: the question itself is not recorded, so that
    no question finds another.
    """

    sized = False

    def __init__(self, dialogue: Dialogue, folder: Path) -> None:
        self._now = dialogue.asked_at
        fresh = not (folder / DONE).exists()
        self.store = open_store(folder / "store", user=USER_NAME, create=True)
        if fresh:
            replay(self.store, dialogue)
            (folder / DONE).touch()
        self._agent = AgentMemory(self.store, session_id=ASKING, background=False)

    def recall(self, question: str, size: int | None, gate: bool) -> str:
        return self._context(question, size, gate).text

    def relevance(self, question: str) -> float:
        """How well what is known answers a question, by which a gate decides: as the program tells, else the relevance of
        the best hit."""
        strength = getattr(self._context(question, None, False), "strength", None)
        return best_relevance(self.store, question, self._now) if strength is None else float(strength)

    def _context(self, question: str, size: int | None, gate: bool) -> ContextPack:
        options: dict[str, Any] = {"now": self._now, "receipt": False}
        if context_takes("gate"):
            options["gate"] = gate
        if size is not None and context_takes("memory_tokens"):
            options["memory_tokens"] = size
        elif size is not None:
            options["budget"] = math.ceil(size / WHOLE_WINDOW)
        return self._agent.build_context(question, **options)

    def close(self) -> None:
        self._agent.close()
        self.store.close()


def replay(store: MemoryStore, dialogue: Dialogue) -> None:
    """Play a dialogue through AgentMemory, at the times when it was said where the program takes them."""
    for turns in dialogue.sessions:
        with AgentMemory(store, background=False) as agent:
            for turn in turns:
                hear = agent.on_assistant_message if turn.role == ASSISTANT else agent.on_user_message
                hear(turn.text, **_known(hear, now=turn.at, speaker=turn.speaker))
            agent.on_session_end(**_known(agent.on_session_end, now=turns[-1].at + timedelta(minutes=1)))


def best_relevance(store: MemoryStore, question: str, now: datetime) -> float:
    """The relevance of the best hit; 0 where there is none."""
    hits = store.query(Query(question), now=now, receipt=False).hits
    return max((hit.relevance for hit in hits), default=0.0)


@cache
def context_takes(name: str) -> bool:
    """Whether a context can be built with this option."""
    try:
        from memctl.context.service import Contexts
    except ImportError:  # an older program
        return accepts(MemoryStore.build_context, name)
    return accepts(Contexts.build, name)


def accepts(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name: older programs have fewer."""
    return name in inspect.signature(function).parameters


def _known(function: Callable[..., Any], **given: Any) -> dict[str, Any]:
    """Those of the arguments that a function takes and that say something."""
    return {name: value for name, value in given.items() if value and accepts(function, name)}


# Baselines: raw turns, chosen in other orders


class Packed(ABC):
    """Raw turns in some order, packed until the size is full; one that does not fit is left out and the next is tried."""

    sized = True

    def __init__(self, dialogue: Dialogue) -> None:
        self._lines = {turn.name: rendered(turn) for turn in dialogue.turns}
        self._question, self._order = "", [""]

    @abstractmethod
    def order(self, question: str) -> Iterable[str]:
        """Names of turns, best first."""

    def recall(self, question: str, size: int | None, gate: bool) -> str:
        if question != self._question:  # it is asked once for all sizes
            self._question, self._order = question, [*self.order(question)]
        return packed((self._lines[name] for name in self._order), size or 0)

    def close(self) -> None:
        self._lines.clear()


class Last(Packed):
    """The newest messages alone."""

    def order(self, question: str) -> Iterable[str]:
        return reversed(self._lines)


class PlainFullText(Packed):
    """FTS5's own order: any word of the question, bm25."""

    def __init__(self, dialogue: Dialogue) -> None:
        super().__init__(dialogue)
        self._connection = apsw.Connection(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE t USING fts5(name UNINDEXED, body, tokenize='unicode61')")
        rows = [(name, _spaced(line)) for name, line in self._lines.items()]
        self._connection.executemany("INSERT INTO t VALUES (?, ?)", rows)

    def order(self, question: str) -> Iterable[str]:
        terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", _spaced(question)))
        sql = "SELECT name FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
        return [name for (name,) in self._connection.execute(sql, (terms, MOST_HITS))] if terms else []

    def close(self) -> None:
        self._connection.close()


class QueryOrder(Packed):
    """memctl's `query` over a store in which every turn is a memory, with its session, speaker and time."""

    def __init__(self, dialogue: Dialogue, folder: Path) -> None:
        super().__init__(dialogue)
        self._now = dialogue.asked_at
        fresh = not (folder / DONE).exists()
        self._store = open_store(folder / "store", user=USER_NAME, create=True)
        if fresh:
            self._store.add_many([_as_memory(turn) for turn in dialogue.turns], allow_duplicate=True)
            self._store.sync()
            (folder / DONE).touch()

    def order(self, question: str) -> Iterable[str]:
        hits = self._store.query(Query(question, top=MOST_HITS), now=self._now, receipt=False).hits
        return [hit.memory.external_id for hit in hits]

    def relevance(self, question: str) -> float:
        return best_relevance(self._store, question, self._now)

    def close(self) -> None:
        self._store.close()


def rendered(turn: Turn) -> str:
    """A turn as an item: its speaker and its text, later lines marked as continuing it."""
    first, *later = (f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text).splitlines() or [""]
    return "\n".join([f"- {first}", *(f"  | {line}" for line in later)])


def packed(lines: Iterable[str], size: int) -> str:
    """As many of the items as fit into `size` tokens, in their order."""
    kept: list[str] = []
    left = float(size)
    for line in lines:
        cost = estimate(line + "\n")
        if cost <= left:
            kept.append(line)
            left -= cost
        if left < 1:
            break
    return "\n".join(kept)


def within(text: str, size: int | None) -> str:
    """A text without the lines that are beyond `size` tokens: what a program adds beyond its limit does not count."""
    if size is None or estimate(text) <= size:
        return text
    lines = text.splitlines()
    least, most = 0, len(lines)
    while least < most:
        middle = (least + most + 1) // 2
        fits = estimate("\n".join(lines[:middle])) <= size
        least, most = (middle, most) if fits else (least, middle - 1)
    return "\n".join(lines[:least])


def _as_memory(turn: Turn) -> Memory:
    speaker = {"speaker": turn.speaker} if turn.speaker else {}
    return Memory(
        "", turn.text, external_id=turn.name, occurred_at=turn.at, session_id=turn.session, metadata=speaker
    )  # fmt: skip


_HAN = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])")


def _spaced(text: str) -> str:
    """Chinese characters as words of their own: FTS5's tokenizer takes a whole sentence for one word."""
    return _HAN.sub(r" \1 ", text)


Maker = Callable[[Dialogue, Path], System]

AGENT = "AgentMemory"
BASELINES: Sequence[tuple[str, Maker]] = (
    ("raw turns in `query`'s order", lambda dialogue, folder: QueryOrder(dialogue, folder)),
    ("raw turns in plain FTS5's order", lambda dialogue, _: PlainFullText(dialogue)),
    ("the last messages alone", lambda dialogue, _: Last(dialogue)),
)
