"""Asking the questions of dialogues of every system, and noting what each recalled."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.agent.data import Dialogue, Question
from bench.agent.score import scores
from bench.agent.systems import AGENT, BASELINES, Agent, Maker, QueryOrder, System, context_takes, within
from memctl.context.tokens import estimate

SIZES = (1_000, 2_000, 8_000)
DEFAULT = 0
"""Stands for the size that a program chooses itself."""

FOREIGN_SIZES = (2_000, DEFAULT)
"""At which questions of another dialogue are asked."""

Say = Callable[[str], None]

_IN_MEMORY = next((str(place) for place in (Path("/dev/shm"),) if os.access(place, os.W_OK)), None)
"""Where stores are filled: what is recalled does not depend on the disk."""


@dataclass(frozen=True)
class Answer:
    """One question to one system.

    Args:
        system: its name.
        size: tokens of the recalled part, `DEFAULT` for the program's own choice.
        gate: whether it may inject nothing.
        own: whether the question is about this dialogue; else all that is recalled is false.
        share: of the evidence turns, those held to 80 %; 0 for a question of another dialogue.
        full: of the evidence turns, those held with every word.
        chance: the share of evidence turns of a question of another dialogue that the same text holds to 80 %.
        tokens: of the text that was recalled.
        relevance: how well what is known answers the question, by which a gate decides.
        category: what kind of question it is.
    """

    system: str
    size: int
    gate: bool
    own: bool
    share: float
    full: float
    chance: float
    tokens: int
    relevance: float
    category: str


@dataclass(frozen=True)
class Foreign:
    """A question about another dialogue, and its evidence there."""

    question: Question
    evidence: Sequence[str]


def measured(
    dialogues: Sequence[Dialogue], others: Sequence[Foreign], only_agent: bool, keep: Path | None, say: Say
) -> list[Answer]:
    """Every system's answers to every question.

    Args:
        others: questions that none of the dialogues answers, where there is a single one; else they ask each other's.
        keep: where the filled stores stay and are found again; a temporary folder where None.
    """
    makers = [(AGENT, Agent), *(() if only_agent else BASELINES)]
    results: list[Answer] = []
    for at, dialogue in enumerate(dialogues):
        if dialogue.questions:
            foreign = _foreign(dialogues, at) or others
            for name, make in makers:
                say(f"{dialogue.name}: {name}, {len(dialogue.turns)} turns, {len(dialogue.questions)} questions")
                with _filled(make, dialogue, name, keep) as system:
                    results += answers(system, name, dialogue, foreign)
    return results


def answers(system: System, name: str, dialogue: Dialogue, foreign: Sequence[Foreign]) -> Iterator[Answer]:
    """The questions of a dialogue, then as many of another."""
    pairs = [(q, foreign[at % len(foreign)] if foreign else None) for at, q in enumerate(dialogue.questions)]
    for question, other in pairs:
        relevance = system.relevance(question.text) if isinstance(system, Agent | QueryOrder) else 0.0
        for size, gate in _asks(system, (*SIZES, DEFAULT)):
            text = system.recall(question.text, size or None, gate)
            counted = within(text, size or None)
            share, full = scores(dialogue.evidence(question), counted)
            chance = scores(other.evidence, counted)[0] if other else 0.0
            yield Answer(name, size, gate, True, share, full, chance, estimate(text), relevance, question.category)
    if isinstance(system, Agent | QueryOrder):
        for _, other in pairs:
            if other:
                yield from _falsely(system, name, other)


def _falsely(system: Agent | QueryOrder, name: str, other: Foreign) -> Iterator[Answer]:
    """What is recalled for a question that nothing here answers."""
    relevance = system.relevance(other.question.text)
    for size, gate in _asks(system, FOREIGN_SIZES):
        tokens = estimate(system.recall(other.question.text, size or None, gate))
        yield Answer(name, size, gate, False, 0.0, 0.0, 0.0, tokens, relevance, other.question.category)


def _asks(system: System, sizes: Sequence[int]) -> Iterator[tuple[int, bool]]:
    gates = (False, True) if isinstance(system, Agent) and context_takes("gate") else (False,)
    for size in sizes:
        if size or not system.sized:
            yield from ((size, gate) for gate in gates)


def _foreign(dialogues: Sequence[Dialogue], at: int) -> list[Foreign]:
    """The questions of the next dialogue that has any."""
    for other in (*dialogues[at + 1 :], *dialogues[:at]):
        if other.questions:
            return [Foreign(question, other.evidence(question)) for question in other.questions]
    return []


@contextmanager
def _filled(make: Maker, dialogue: Dialogue, name: str, keep: Path | None) -> Iterator[System]:
    """A system that was given the dialogue, closed at the end."""
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as temporary:
        folder = (keep or Path(temporary)) / _safe(dialogue.name) / _safe(name)
        folder.mkdir(parents=True, exist_ok=True)
        system = make(dialogue, folder)
        try:
            yield system
        finally:
            system.close()


def _safe(name: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in name)


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
