"""The intent of a question by its form, its domain by what is nearest to it, and what the route does to an answer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.judgement import routing
from memctl import open_store
from memctl.core.models import Memory, Query, Route
from memctl.retrieval.intents import ASK, DECIDE, REFLECT, intent
from memctl.retrieval.route import domain, route, with_domain

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)

ASKED = (
    "Where does Ben keep the spare key?", "Did we decide on a date for the retreat?", "What did Priya recommend for the rash?",
    "How many people report to Omar?", "What happened to the old server?", "What inspired Ben to learn the cello?",
    "Was the flight on Monday or on Tuesday?", "", "?", "会议室几点开门？", "他是左撇子还是右撇子？", "该公司的总部在哪里？",
    "上次医生推荐的药叫什么？", "哪个活动的时间更长？", "我老家的邮编是多少？",
)  # fmt: skip
DECIDED = (
    "Should we repaint the hall?", "Which camera to take along?", "Is it wise to sell now?", "Ferry or bridge?",
    "Do I renew the lease or move out?", "What's the best way to tell Priya?", "Is the warranty worth it?", "How about a picnic?",
    "We could not choose. What to do next?", "前端选哪个框架好？", "要不要换工作？", "礼物买什么合适？", "走路还是坐车？", "这台打印机值不值得修？",
    "这个活该怎么分？", "有必要再试一次吗？",
)  # fmt: skip
REFLECTED = (
    "What did we learn from the outage?", "How did the recital go?", "Looking back, was the move worth it?", "Why do I keep losing my keys?",
    "Should we have told Omar earlier?", "Has my sleep improved since May?", "What would you do differently? What went wrong?",
    "回头看，这次搬家值得吗？", "这次比赛打得怎么样？", "我为什么总是迟到？", "这半年有什么进步？", "项目卡在哪了？", "那次要是早点出发就好了，是不是？",
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "wanted"),
    [(each, name) for name, some in ((ASK, ASKED), (DECIDE, DECIDED), (REFLECT, REFLECTED)) for each in some],
)
def test_the_form_of_a_question_tells_its_intent(question, wanted):
    assert intent(question)[0] == wanted


def test_what_stands_before_the_question_is_no_part_of_its_form():
    assert intent("We should talk about lessons learned. Where is the key?")[0] == ASK
    assert intent("我们该复盘一下。钥匙在哪？")[0] == ASK


def test_a_domain_needs_a_clear_share_of_the_nearest():
    assert domain([("work", 1.0), ("life", 0.4), ("", 3.0)]) == "work"
    assert domain([("work", 0.4), ("life", 0.3), ("strategy", 0.3)]) == ""
    assert domain([("garden", 1.0)]) == "garden"
    assert domain([]) == ""


def test_far_memories_have_no_say_in_the_domain():
    assert domain([("work", 1.0)] * 5 + [("life", 0.9)] * 50) == "work"


def test_decisions_look_for_constraints_and_for_what_worked_too():
    assert with_domain(Route(DECIDE), "life").categories == ("life", "preference", "strategy")
    assert with_domain(Route(ASK), "life").categories == ("life",)
    assert with_domain(Route(DECIDE), "").categories == ()


def test_the_present_is_asked_for():
    assert route("Where does Ben live now?").present
    assert not route("Where did Ben live?").present


def test_the_domain_is_that_of_the_stores_own_memories(tmp_path: Path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "memctl.yaml").write_text("categories: [work, life, garden]\n", "utf-8")
    with open_store(tmp_path / "s", "alice", create=True) as store:
        store.add_many(
            [
                Memory("", "看门狗每五分钟检查一次服务", category="work"),
                Memory("", "看门狗超时后重启服务", category="work"),
                Memory("", "周末带狗去公园跑步", category="life"),
                Memory("", "The tomatoes get water twice a day", category="garden"),
            ],
            now=NOW,
        )
        assert store.query(Query("看门狗多久检查一次？"), now=NOW).route.categories == ("work",)
        assert store.query(Query("when do the tomatoes get water"), now=NOW).route.categories == ("garden",)
        assert store.query(Query("看门狗多久检查一次？", route=False), now=NOW).route.categories == ()


def test_the_rate_is_measured_on_files_and_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        '{"question": "Should I go?", "intent": "decide"}\n{"question": "Where is it?"}\n{"question": "Why?", "intent": "reflect"}\n',
        "utf-8",
    )
    with open_store(tmp_path / "store", "alice", create=True) as store:
        for text in ("The tram to work is late", "The tram to work is new"):
            store.add(text, category="life", now=NOW, allow_duplicate=True)
    assert routing.main([str(cases), "--store", str(tmp_path / "store"), "--show"]) == 0
    told = capsys.readouterr().out
    assert "reflect taken for ask by '': Why?" in told
    assert "cases.jsonl: ask 1.00, decide 1.00, reflect 0.00; all 0.67" in told
    assert "alice: a domain for 1.00 of 2 memories, right for 1.00 of these" in told
