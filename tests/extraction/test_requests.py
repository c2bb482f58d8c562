"""What a user asks to remember, and how they want the assistant to behave: any scope with any order, in any words that
ask; what is asked for once is not kept."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest

from memctl.config import Settings
from memctl.extraction import extract
from memctl.extraction.proposals import Utterance

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


def kept(text: str) -> list[tuple[str, str]]:
    """The rule and content of what is stored of a message."""
    proposals = extract.rules([Utterance("user", text)], "alice", NOW)
    return [(one.rule, one.content) for one in proposals if one.confidence >= Settings().extract_threshold]


ENGLISH = product(
    ("From this day forward, {}", "Until further notice {}", "Whatever I ask, {}", "House rule: {}", "{}, as a rule."),
    ("show prices in francs", "don't use tables", "you must cite a source", "no bullet lists"),
)
CHINESE = product(
    ("从今往后{}", "除非我要求，{}", "只要涉及合同，{}", "我一提合同你就{}", "每个回答都{}"),
    ("用表格", "先给结论", "附上出处", "别用缩写"),
)


@pytest.mark.parametrize(
    "text",
    [
        *(scope.format(order) for scope, order in (*ENGLISH, *CHINESE)),
        "Use she/her for me",
        "Metric units for me, thanks.",
        "Treat everything I tell you as confidential.",
        "If I say quickie I want one sentence max",
        "Would you mind sticking to short sentences starting today?",
        "别老说“作为一个AI”，听烦了",
        "价格都按人民币算，我不懂美元。",
        "跟我讲话不用“您”，怪生分的",
        "没问过我绝对不可以发邮件",
        "可不可以以後都寫短句？",
        "我用粵語問你就用粵語答",
    ],
)
def test_how_to_behave_is_a_scope_and_an_order(text: str) -> None:
    assert kept(text) == [("instruction", text)]


@pytest.mark.parametrize(
    "text",
    [
        asks.format(fact)
        for asks, fact in product(
            (
                "I'd be most grateful if you would make a note that {}",
                "Could I ask you to bear in mind that {}",
                "{}, and please don't lose this",
                "It would help a lot if you could memorise this one: {}",
                "Put this in your notebook: {}",
            ),
            ("the archive is kept in Lewes", "the choir never rehearses on Sundays"),
        )
    ]
    + [
        asks.format(fact)
        for asks, fact in product(
            ("请留意并记录：{}", "mark一下 {}", "找个地方写下来，{}", "{}，帮我记个账，别弄丢", "麻煩幫我記下來，{}"),
            ("会议室固定是302", "水電師傅姓林"),
        )
    ],
)
def test_what_to_remember_is_asked_in_any_words(text: str) -> None:
    assert kept(text) == [("remembered", text)]


@pytest.mark.parametrize(
    "text",
    [
        "write me a poem about the sea",
        "please fix the bug in this function",
        "do you remember what I told you?",
        "When you have a minute, translate the letter.",
        "Show me all the answers.",
        "You must be joking.",
        "Any time you need help, don't hesitate to reach out.",
        "Never give up!",
        "Yeah, I remember that!",
        "Write a poem about how I will always remember the summer.",
        "her new rule for the kids is no screens at dinner from now on.",
        "写一段话，别用形容词",
        "给面包店起五个名字，不要带“甜”字",
        "全部翻译成英文",
        "先别说",
    ],
)
def test_what_is_asked_once_or_told_of_others_is_not_kept(text: str) -> None:
    assert kept(text) == []
