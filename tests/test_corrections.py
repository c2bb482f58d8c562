"""Corrections in a conversation: which facts they take the place of, and what must leave every fact as it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memctl import MemoryStore
from memctl.agent.memory import AgentMemory
from memctl.models import ACTIVE, CANDIDATE, SUPERSEDED, Memory

CASES = json.loads((Path(__file__).parent / "correction_cases.json").read_text("utf-8"))
"""Conversations and what the store must hold after them. `developed` ones were looked at while the rules were made,
`untouched` ones were not.

`turns`: the user's messages; `A: ` begins an assistant's, `---` a new session, `+ ` a memory that is added by hand.
`expect`: `active`, `superseded`, `inactive` and `candidate` name a text or a value; `kept`: nothing was superseded.
"""


def play(store: MemoryStore, turns: Sequence[str]) -> None:
    """A conversation as an agent's framework reports it, session by session."""
    agent = AgentMemory(store, background=False)
    for turn in [*turns, "---"]:
        if turn.startswith("+ "):
            store.add(turn[2:])
        elif turn == "---":
            if agent._conversation.get():
                agent.on_session_end()
            agent = AgentMemory(store, background=False)
        elif turn.startswith("A: "):
            agent.on_assistant_message(turn[3:])
        else:
            agent.on_user_message(turn)
            if turn == turns[-1]:
                agent.on_assistant_message("ok")


def unmet(expectation: str, memories: Sequence[Memory]) -> bool:
    """Whether the memories do not meet an expectation."""
    what, _, text = expectation.partition(" ")
    if what == "kept":
        return any(memory.status == SUPERSEDED for memory in memories)
    if what == "inactive":
        exactly = {text, f"{text}.", f"{text}。"}
        return any(m.status == ACTIVE and (m.value in exactly or m.content in exactly) for m in memories)
    status = {"active": ACTIVE, "superseded": SUPERSEDED, "candidate": CANDIDATE}[what]
    named = [m for m in memories if m.status == status and (text in m.content or text == m.value)]
    dated = all(m.valid_to for m in named) if status == SUPERSEDED else True
    return not named or not dated


def failures(opener: Callable[..., MemoryStore], root: Path, cases: Sequence[dict]) -> list[str]:
    found = []
    for number, case in enumerate(cases):
        store = opener(root=root / f"case{number}")
        play(store, case["turns"])
        memories = list(store.all())
        wrong = [expectation for expectation in case["expect"] if unmet(expectation, memories)]
        if wrong:
            found.append(f"{case['turns']}: {wrong}")
        store.close()
    return found


@pytest.mark.parametrize("part", ["developed", "untouched"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_cases(opener: Callable[..., MemoryStore], tmp_path: Path, language: str, part: str) -> None:
    cases = [case for case in CASES if (case["lang"], case["part"]) == (language, part)]
    wrong = failures(opener, tmp_path, cases)
    print(f"{language}, {part}: {len(cases) - len(wrong)} of {len(cases)}", *wrong, sep="\n")
    assert not wrong
