"""Questions of users about their own lives, of which the store knows no word."""

from __future__ import annotations

import pytest

from memctl import MemoryStore
from memctl.retrieval.subjects import asks_of_user


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    from memctl.core.models import Memory

    places = ("hall", "shed", "attic", "cellar", "garage", "porch")
    for n in range(120):
        store.add_many([Memory("", f"Shelf {n} in the {places[n % 6]} holds box {n * 7} of the archive.")])
    store.add("We keep two greyhounds, both rescues.")
    store.add("我开一辆本田飞度。")
    return store


@pytest.mark.parametrize(
    ("question", "answer"),
    [("What pets do I look after?", "greyhounds"), ("我的轿车是什么牌子？", "飞度")],
)
def test_the_nearest_memories_are_shown_although_no_word_is_known(
    filled: MemoryStore, question: str, answer: str
) -> None:
    pack = filled.build_context(question)

    assert not pack.open
    assert answer in pack.text


def test_little_is_shown_for_a_question_about_the_world(filled: MemoryStore) -> None:
    own, foreign = (filled.build_context(q).text for q in ("What pets do I look after?", "Which planets have rings?"))

    assert len(foreign) < len(own) / 2


@pytest.mark.parametrize(
    "question",
    ["What car do I have?", "Do we have siblings?", "What did my father suffer from", "How do I usually take my tea?",
     "我开什么车？", "我有慢性病吗", "我丈夫是做什么的？"],
)  # fmt: skip
def test_a_question_about_the_user(question: str) -> None:
    assert asks_of_user(question)


@pytest.mark.parametrize(
    "question",
    ["How do I boil an egg?", "Can you recommend me a hotel?", "What is the capital of Mongolia?", "I have a car.",
     "How can we speed up the build?", "我该怎么煮鸡蛋？", "推荐我一本书好吗？", "法国的首都是哪里？", "我有一辆车。"],
)  # fmt: skip
def test_a_question_that_the_world_answers(question: str) -> None:
    assert not asks_of_user(question)
