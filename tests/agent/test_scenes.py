"""Fifty short scenes: what an agent was told in one place, asked for in another, seen from the text that a model gets.

Each of ten situations is played with five facts, three in English and two in Chinese. No language model, no upkeep in
between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from failing.nursery import die, in_a_fork

from memctl import MemoryStore, open_store
from memctl.agent.memory import AgentMemory

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Fact:
    """Something said in passing, the question that needs it, and the word that shows that it was recalled.

    Args:
        then: the value after `correction`.
    """

    name: str
    said: str
    asked: str
    word: str
    correction: str
    then: str
    reply: str


FACTS = (
    Fact(
        "nephew",
        "Sorry for the delay, my nephew Tobias broke his wrist at the climbing hall yesterday. So, about that report.",
        "What happened to my nephew?",
        "wrist",
        "Actually it was not the wrist, it was his collarbone that Tobias broke.",
        "collarbone",
        "I hope he gets well soon.",
    ),
    Fact(
        "server",
        "Before I forget: the staging database listens on port 6543, not on the usual one. Now to the slides.",
        "Which port does the staging database use?",
        "6543",
        "We moved the staging database to port 7654 today.",
        "7654",
        "Good to know. Which slides?",
    ),
    Fact(
        "train",
        "I will write the summary on the train to Ghent on Thursday, it has good wifi. Can you find me a template?",
        "Where will I write the summary?",
        "Ghent",
        "Change of plan: I will write the summary on the train to Liège instead.",
        "Liège",
        "Here is a template.",
    ),
    Fact(
        "奶奶",
        "不好意思刚才没回，我奶奶的生日是农历九月初三，我在给她订蛋糕。我们继续说合同吧。",
        "我奶奶的生日是哪天？",
        "九月初三",
        "刚才说错了，我奶奶的生日是农历九月十三。",
        "九月十三",
        "好的，合同的第二条要改一下。",
    ),
    Fact(
        "仪器",
        "对了，三号离心机的转速上限被我调到了四千二，大家别再调回去。实验记录的模板在哪里？",
        "三号离心机的转速上限是多少？",
        "四千二",
        "三号离心机的转速上限现在改成三千八了。",
        "三千八",
        "模板在共享文件夹里。",
    ),
)

FILLER = (
    ("The garden needs rain, the tomatoes look thin.", "A drip hose could help."),
    ("Which film should we watch tonight?", "Something short and funny, perhaps."),
    ("窗户的密封条又松了，风很大。", "可以先用胶带固定。"),
    ("My neighbour plays the trombone at noon.", "Earplugs, or a friendly word."),
    ("今天的会开得太长，大家都累了。", "下次可以先发议程。"),
)

facts = pytest.mark.parametrize("fact", FACTS, ids=[fact.name for fact in FACTS])


def tell(store: MemoryStore, fact: Fact, session: str = "first", now: datetime = NOW) -> None:
    with AgentMemory(store, session_id=session, background=False) as memory:
        memory.on_user_message(fact.said, now=now)
        memory.on_assistant_message(fact.reply, now=now)


def chat(store: MemoryStore, session: str, messages: int, now: datetime = NOW) -> None:
    """Other talk, so many messages of it."""
    pairs = (FILLER[number % len(FILLER)] for number in range(messages // 2))
    said = [
        (f"{text} ({number})", role)
        for number, pair in enumerate(pairs)
        for text, role in zip(pair, ROLES, strict=True)
    ]
    conversation = store.sessions.conversation(session)
    conversation.extend([{"role": role, "content": text} for text, role in said], now=now)
    conversation.flush(now=now)


ROLES = ("user", "assistant")


def given(store: MemoryStore, fact: Fact, session: str = "asking", now: datetime = NOW) -> str:
    """All that a model would read when the question is asked."""
    with AgentMemory(store, session_id=session, background=False) as memory:
        memory.on_user_message(fact.asked, now=now)
        return "\n".join(str(message["content"]) for message in memory.build_context(now=now).messages)


@facts
def test_once_in_passing(store: MemoryStore, fact: Fact) -> None:
    tell(store, fact)
    store.end_session("first", now=NOW)
    assert fact.word in given(store, fact)


@facts
def test_a_hundred_messages_later(store: MemoryStore, fact: Fact) -> None:
    tell(store, fact)
    chat(store, "first", 100)
    assert fact.word in given(store, fact, "first")


@facts
def test_in_another_session_while_the_first_is_open(store: MemoryStore, fact: Fact) -> None:
    tell(store, fact)
    chat(store, "second", 20)
    assert fact.word in given(store, fact, "second")


@facts
def test_on_another_day(store: MemoryStore, fact: Fact) -> None:
    tell(store, fact)
    for day in range(1, 4):
        chat(store, f"day {day}".replace(" ", "-"), 20, NOW + timedelta(days=day))
    later = NOW + timedelta(days=40)
    assert fact.word in given(store, fact, now=later)


@facts
def test_corrected(store: MemoryStore, fact: Fact) -> None:
    """The new value is there; where the old one is too, the new one says so, or comes with its later day."""
    tell(store, fact)
    later = NOW + timedelta(days=2)
    with AgentMemory(store, session_id="second", background=False) as memory:
        memory.on_user_message(fact.correction, now=later)
        memory.on_assistant_message("Noted.", now=later)
    assert fact.then in given(store, fact, now=later + timedelta(days=1))


@facts
def test_forgotten(store: MemoryStore, fact: Fact) -> None:
    tell(store, fact)
    said = store.query(fact.asked, now=NOW).hits[0].memory.memory_id
    store.forget([said], now=NOW)
    if "first" in store.sessions.ids():
        store.end_session("first", now=NOW)
    assert fact.word not in given(store, fact)
    assert [m for m in store.all() if fact.word in m.content] == []


@facts
def test_in_a_paste(store: MemoryStore, fact: Fact) -> None:
    """It is found, and nothing of it was learned as the user's own."""
    with AgentMemory(store, session_id="first", background=False) as memory:
        memory.on_user_message(f"Look at this log, please:\n```\n{fact.said}\n```", now=NOW)
        memory.on_assistant_message("I see.", now=NOW)
        memory.on_session_end(now=NOW)
    assert fact.word in given(store, fact)
    assert [m for m in store.all() if m.kind in ("fact", "preference")] == []


@facts
def test_in_the_output_of_a_tool(store: MemoryStore, fact: Fact) -> None:
    with AgentMemory(store, session_id="first", background=False) as memory:
        memory.on_user_message("Read the notes.", now=NOW)
        memory.on_tool_result(memory.on_tool_call("read", {"name": "notes.txt"}), fact.said)
        memory.on_assistant_message("Done.", now=NOW)
        memory.on_session_end(now=NOW)
    assert fact.word in given(store, fact)
    assert [m for m in store.all() if m.kind in ("fact", "preference")] == []


@facts
def test_said_by_the_assistant(store: MemoryStore, fact: Fact) -> None:
    with AgentMemory(store, session_id="first", background=False) as memory:
        memory.on_user_message("What is new?", now=NOW)
        memory.on_assistant_message(fact.said, now=NOW)
        memory.on_session_end(now=NOW)
    assert fact.word in given(store, fact)
    assert [m for m in store.all() if m.kind in ("fact", "preference")] == []


@facts
def test_with_a_crash_in_between(opener: Callable[..., MemoryStore], fact: Fact) -> None:
    """The process dies right after the message was acknowledged, before any answer."""
    root = opener("alice", create=True).folder.root.parent

    def tell() -> None:
        memory = AgentMemory(open_store(root, user="alice"), session_id="first")
        memory.on_user_message(fact.said, now=NOW)
        die()

    assert in_a_fork(tell)
    with open_store(root, user="alice") as again:
        assert fact.word in given(again, fact)
