"""Questions of users about themselves, and who somebody is: what is about that subject comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl import open_store
from memctl.retrieval.subjects import Subject, introduces, subject_of

KNOWN = (
    "My boss lives in Drammen and commutes.",
    "My wife works as a translator.",
    "I work as a geologist at Equinor.",
    "Clara brought cake to the office on Monday.",
    "My sister Clara is a vet in Leeds.",
    "Clara said the invoice was late.",
    "Tom borrowed my drill.",
    "Tom, our neighbour, has two dogs.",
    "Tom and Clara are getting married.",
    "小林昨天来我家吃饭了。",
    "小林是我大学同学。",
    "小林说他不想去。",
)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("what is my job?", "I work as a geologist at Equinor."),
        ("Who is Clara?", "My sister Clara is a vet in Leeds."),
        ("who's tom?", "Tom, our neighbour, has two dogs."),
        ("小林是谁？", "小林是我大学同学。"),
    ],
)
def test_what_is_about_the_subject_comes_first(tmp_path: Path, question: str, first: str) -> None:
    with open_store(tmp_path / "s", "ruth", create=True) as store:
        for text in KNOWN:
            store.add(text)
        hits = store.query(question, top=5).hits

    assert hits[0].memory.content == first
    assert all(abs(sum(hit.parts.values()) - hit.score) < 1e-9 and 0 <= hit.score <= 1 for hit in hits)


@pytest.mark.parametrize(
    "question",
    [
        "Where does my mother live?",
        "What should I cook?",
        "我妈妈住在哪里？",
        "Who is on call?",
        "Who is she?",
        "谁说的？",
        "deploy",
    ],
)
def test_other_questions_have_no_subject(question: str) -> None:
    assert subject_of(question) == Subject()


@pytest.mark.parametrize(
    ("question", "text", "misses"),
    [
        ("Where do I live?", "My mother lives in Bergen.", True),
        ("Where do I live?", "I live in Oslo, and my mother lives in Bergen.", False),
        ("Where do I live?", "My mother visits at Easter; I live in Oslo.", False),
        ("Where do I live?", "Alice lives in Porto.", False),
        ("我住在哪里？", "我妈妈住在烟台。", True),
        ("我住在哪里？", "我住在青岛。", False),
    ],
)
def test_what_is_said_of_somebody_else_does_not_answer(question: str, text: str, misses: bool) -> None:
    assert subject_of(question).misses(text) is misses


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("My dentist is Dr. Patel.", True),
        ("Dr. Patel is our dentist.", True),
        ("Dr. Patel moved his practice to Elm Street.", False),
        ("After Dr. Patel left, the phone rang.", False),
    ],
)
def test_introductions(text: str, says: bool) -> None:
    assert introduces(text, "Dr. Patel") is says
