"""The messages a model gets: accepted by the servers, with the question once, whatever happened before."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import message_rules
import pytest
from conftest import TORTURE, cases, sampled
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memctl import MemoryStore, open_store
from memctl.agent.memory import AgentMemory
from memctl.context import history, turns
from memctl.context.anthropic import converted
from memctl.context.cut import Cutter, cost
from memctl.context.tokens import estimate


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return open_store(tmp_path / "s", "alice", create=True)


def talk(pack) -> list[Mapping[str, Any]]:
    """The conversation in a context, without the system prompt and what was recalled."""
    return [message for message in pack.messages if message["role"] != "system"]


def roles(pack) -> list[str]:
    return [message["role"] for message in talk(pack)]


def texts(pack) -> str:
    return "\n".join(str(message["content"]) for message in talk(pack))


def is_accepted(pack) -> None:
    assert message_rules.openai(pack.messages) == []
    assert message_rules.anthropic(pack.anthropic()) == []


# Whole conversations, through an agent's memory and a real store

WORDS = st.sampled_from(
    ["We use Postgres.", "It failed with an error", "我喜欢上午部署", "ok", "因为成本", "12:30 on Friday", "{not json"]
)
TEXT = st.builds(lambda words, times: " ".join(words) * times, st.lists(WORDS, max_size=6), st.sampled_from([1, 1, 40]))
LOG, CHINESE_LOG = "LOG", "日志"
"""Short where a failing example is shown."""
LONG = {LOG: ("row of a long log " * 60 + "\n") * 50, CHINESE_LOG: ("日志一行，" * 80 + "。") * 50}
OUTPUT = st.one_of(TEXT, st.sampled_from(["", "  ", LOG, CHINESE_LOG]))
NOSHRINK = [Phase.generate]
ACTION = st.one_of(
    st.tuples(st.just("user"), TEXT),
    st.tuples(st.just("user"), st.sampled_from([LOG, CHINESE_LOG])),
    st.tuples(st.just("assistant"), TEXT),
    st.tuples(st.just("call"), TEXT),
    st.tuples(st.just("call"), TEXT),
    st.tuples(st.just("result"), OUTPUT),
    st.tuples(st.just("result"), OUTPUT),
    st.tuples(st.just("error"), TEXT),
    st.tuples(st.just("crash"), st.just("")),
    st.tuples(st.just("task"), TEXT),
    st.tuples(st.just("end"), TEXT),
    st.tuples(st.just("build"), st.sampled_from(["140", "400", "1500", "16000"])),
)
TIGHT = "conversation_tokens: 600\nconversation_messages: 16\nconversation_keep_last: 4\ntask_iterations: 5\n"


class Agent:
    """An agent at work: it does what is drawn, may crash, and looks at what a model would get."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = 0
        self.called = 0
        self.waiting: list[str] = []
        self.since: list[str] = []
        """Calls since the user spoke last."""
        self.open()

    def open(self) -> None:
        self.store = open_store(self.folder, "alice")
        self.memory = AgentMemory(self.store, system="Be brief." * 20, background=False)

    def do(self, kind: str, text: str) -> None:
        text = LONG.get(text, text)
        if kind == "user":
            self.said += 1
            self.since = []
            self.memory.on_user_message(f"{text} question {self.said}?")
        elif kind == "assistant":
            self.memory.on_assistant_message(text)
        elif kind == "call":
            self.called += 1
            self.waiting.append(f"call_{self.called}")
            self.since.append(f"call_{self.called}")
            self.memory.on_tool_call("look up", {"what": text}, call_id=f"call_{self.called}")
        elif kind in ("result", "error") and self.waiting:
            call_id = self.waiting.pop(len(text) % len(self.waiting))
            self.memory.on_tool_result(call_id, text, error=(text or "failed") if kind == "error" else "")
        elif kind == "task" and self.memory.task() is None:
            self.memory.on_task_start(text or "Something to do", context={"why": text})
        elif kind == "end" and self.memory.task() is not None:
            self.memory.on_task_complete(text)
        elif kind == "crash":  # results of some calls never come
            self.waiting = self.waiting[::2]
            self.store.close()
            self.open()
        elif kind == "build":
            self.look(int(text))

    def look(self, budget: int) -> None:
        pack = self.memory.build_context(budget=budget)
        is_accepted(pack)
        if budget == 16_000 and self.said:
            asked = [at for at, m in enumerate(pack.messages) if f"question {self.said}?" in str(m["content"])]
            mine = [at for at in asked if pack.messages[at]["role"] == "user"]
            assert len(mine) == 1, "the question stands there once"
            calls = [
                at for at, m in enumerate(pack.messages) for c in m.get("tool_calls") or () if c["id"] in self.since
            ]
            assert all(at > mine[0] for at in calls), "before the calls it led to"


@settings(max_examples=1200 if TORTURE else sampled(60), phases=NOSHRINK)
@given(st.lists(ACTION, min_size=4, max_size=24))
def test_servers_accept_what_is_built_whatever_happened(actions: list[tuple[str, str]]):
    with TemporaryDirectory() as name:
        folder = Path(name) / "s"
        open_store(folder, "alice", create=True).close()
        (folder / "memctl.yaml").write_text(TIGHT)
        agent = Agent(folder)
        for kind, text in actions:
            agent.do(kind, text)
        agent.look(16_000)
        agent.look(140)
        agent.store.close()


# Any history, as other programs give it

PART = st.one_of(
    st.just({"type": "text", "text": "look"}),
    st.just({"type": "text", "text": ""}),
    st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
    st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}),
    st.just({"type": "thinking", "thinking": "hm"}),
)
CONTENT = st.one_of(TEXT, st.none(), st.lists(PART, max_size=3))
ID = st.sampled_from(["c1", "c2", "c 3!", "呼叫", ""])
CALL = st.one_of(
    st.builds(
        lambda i, a: {"id": i, "type": "function", "function": {"name": "look up", "arguments": a}},
        ID,
        st.sampled_from(["{}", '{"a": 1}', "{not json", "[1]", "", json.dumps({"text": "long " * 5_000})]),
    ),
    st.just({"id": "c1"}),
)
MESSAGE = st.one_of(
    st.builds(
        lambda r, c: {"role": r, "content": c}, st.sampled_from(["user", "assistant", "system", "Critic"]), CONTENT
    ),
    st.builds(
        lambda c, t: {"role": "assistant", "content": t, "tool_calls": c},
        st.lists(CALL, min_size=1, max_size=3),
        CONTENT,
    ),
    st.builds(lambda i, c: {"role": "tool", "tool_call_id": i, "content": c}, ID, CONTENT),
)


@cases(300)
@given(st.lists(MESSAGE, max_size=14), st.sampled_from([0, 20, 80, 300, 2_000, 100_000]), st.sampled_from(["en", "zh"]))
def test_any_history_is_brought_into_form(messages: list[Mapping[str, Any]], limit: int, language: str):
    cutter = Cutter(estimate, lambda text: f"main/{abs(hash(text)):032x}"[:37], language)
    done = history.fitted(turns.groups(messages, language), limit, cutter)
    assert message_rules.openai(done.messages) == []
    assert message_rules.anthropic(converted(done.messages, language)) == []
    assert sum(cost(message, estimate) for message in done.messages) <= limit
    assert set(done.left_out) <= set(range(len(messages)))
    if done.messages and done.messages == history.fitted(turns.groups(messages, language), 10**9, cutter).messages:
        again = history.fitted(turns.groups(done.messages, language), 10**9, cutter)
        assert again.messages == done.messages, "what is in form stays as it is"


# The question


def test_the_question_stands_once_before_the_calls_it_led_to(store: MemoryStore):
    with AgentMemory(store, system="Help.", background=False) as memory:
        memory.on_user_message("What is the weather in Porto?")
        call = memory.on_tool_call("weather", {"city": "Porto"})
        memory.on_tool_result(call, "Sunny")
        pack = memory.build_context()
        assert roles(pack) == ["user", "assistant", "tool"]
        assert texts(pack).count("What is the weather in Porto?") == 1
        is_accepted(pack)


def test_what_to_recall_by_is_no_message_in_the_middle_of_a_step(store: MemoryStore):
    store.add("Alice drinks green tea")
    with AgentMemory(store, background=False) as memory:
        memory.on_user_message("What do I drink?")
        memory.on_tool_result(memory.on_tool_call("look", {}), "nothing")
        pack = memory.build_context("green tea")
        assert pack.messages[-1]["role"] == "tool"
        assert "Alice drinks green tea" in pack.text
        memory.on_assistant_message("Green tea.")
        assert memory.build_context("And when?").messages[-1] == {"role": "user", "content": "And when?"}


def test_a_question_that_was_answered_is_asked_again(store: MemoryStore):
    told = [{"role": "user", "content": "现在几点？"}, {"role": "assistant", "content": "九点。"}]
    assert store.build_context("现在几点？", messages=told).messages[-1]["content"] == "现在几点？"
    assert len(store.build_context("现在几点？", messages=told[:1]).messages) == 1


# What is too large


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("10.0.0.7 GET /pay 200 in 41 ms\n", "Which of these requests failed?"),
        ("付款服务一切正常。\n", "哪一行有错误？"),
    ],
)
def test_a_pasted_log_is_cut_in_its_middle_and_can_be_read(line: str, question: str, store: MemoryStore):
    log = "first line: " + line * (68_000 // len(line)) + question
    with AgentMemory(store, system="Help.", budget=4_000, background=False) as memory:
        memory.on_user_message("Hello there")
        memory.on_assistant_message("Hello, what can I do?")
        memory.on_user_message(log)
        for _ in range(2):
            pack = memory.build_context()
            is_accepted(pack)
            (shown,) = [m["content"] for m in talk(pack) if str(m["content"]).startswith("first line")]
            assert shown.endswith(question)
            assert "Hello there" in texts(pack)
            (note,) = pack.notes
            assert note.startswith("a message of the user was cut in its middle")
            (reference,) = pack.offloads
            assert reference in shown
            assert store.sessions.read_offloaded(reference) == log
            piece = memory.call_tool("read_offloaded", {"reference": reference, "offset": 30_000})
            assert not piece.failed
            assert line.strip() in piece.text
            memory.on_tool_result(memory.on_tool_call("grep", {"word": "500"}), "no match")
        assert pack.tokens <= 4_000 - pack.allocation.reserve


def test_a_large_result_is_cut_and_its_call_stays(store: MemoryStore):
    with AgentMemory(store, budget=3_000, background=False) as memory:
        memory.on_user_message("Read the file.")
        memory.on_tool_result(memory.on_tool_call("read", {"name": "a.txt"}), "begin " + "word " * 30_000 + "end")
        pack = memory.build_context()
        assert roles(pack) == ["user", "assistant", "tool"]
        assert pack.messages[-1]["content"].startswith("begin")
        assert pack.messages[-1]["content"].endswith("end")
        (reference,) = re.findall(r"main/[0-9a-f]{32}", pack.messages[-1]["content"])
        assert store.sessions.read_offloaded(reference).endswith("word end"), "the window had cut it already"
        is_accepted(pack)


def test_large_arguments_stay_json(store: MemoryStore):
    with AgentMemory(store, budget=3_000, background=False) as memory:
        memory.on_user_message("Write the file.")
        call = memory.on_tool_call("write", {"name": "a.txt", "text": 'say "hi"\n' * 8_000})
        memory.on_tool_result(call, "ok")
        pack = memory.build_context()
        is_accepted(pack)
        assert json.loads(talk(pack)[1]["tool_calls"][0]["function"]["arguments"])["name"] == "a.txt"


def test_a_large_system_prompt_is_cut_with_a_note(store: MemoryStore):
    system = "Always be kind. " + "Rule: say little. " * 4_000 + "Never give advice on medicine."
    pack = store.build_context("May I take two pills?", system=system, budget=2_000)
    assert pack.messages[0]["content"].startswith("Always be kind.")
    assert pack.messages[0]["content"].endswith("Never give advice on medicine.")
    assert pack.messages[-1]["content"] == "May I take two pills?"
    assert pack.notes[0].startswith("the system prompt was cut")
    assert pack.tokens <= 2_000 - pack.allocation.reserve


def test_schemas_of_tools_beyond_the_reserve_take_room(store: MemoryStore):
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "description": "word " * 100}} for n in range(20)]
    talk = [{"role": "user", "content": f"message {n} " + "word " * 100} for n in range(40)]
    schemas = estimate(json.dumps(tools))
    alone = store.build_context("tea", messages=talk, budget=8_000)
    beside = store.build_context("tea", messages=talk, budget=8_000, tools=tools)
    assert alone.tokens + schemas > 8_000
    assert beside.tokens + schemas <= 8_000
    assert beside.notes == ()
    assert "the tools' schemas take" in store.build_context("tea", budget=1_000, tools=tools).notes[0]


def test_an_agent_s_own_tools_count(store: MemoryStore):
    with AgentMemory(store, background=False) as memory:
        memory.on_user_message("word " * 4_000)
        schemas = estimate(json.dumps(memory.tools()))
        assert memory.build_context(budget=4_000).tokens + schemas <= 4_000


# Crashes


@pytest.mark.parametrize(
    ("said", "closing"),
    [
        ("Delete the old logs.", "No result: the run was interrupted"),
        ("请删除旧日志。", "没有结果：运行在该工具返回之前中断"),
    ],
)
def test_a_call_without_a_result_gets_one_that_says_so(said: str, closing: str, store: MemoryStore):
    memory = AgentMemory(store, background=False)
    memory.on_user_message(said)
    memory.on_tool_call("delete", {"path": "/logs"}, call_id="c1")
    memory.on_tool_call("list", {"path": "/logs"}, call_id="c2")
    memory.on_tool_result("c2", "3 files")
    again = AgentMemory(store, background=False)
    pack = again.build_context()
    is_accepted(pack)
    results = {m["tool_call_id"]: m["content"] for m in pack.messages if m["role"] == "tool"}
    assert results["c1"].startswith(closing)
    assert results["c2"] == "3 files"
    again.on_tool_result("c1", "deleted after all")
    assert "deleted after all" in texts(again.build_context())


def test_ids_that_a_server_gives_again_in_every_turn(store: MemoryStore):
    with AgentMemory(store, background=False) as memory:
        for n in range(3):
            memory.on_user_message(f"Question {n}?")
            memory.on_tool_call("look", {"n": n}, call_id="call_0")
            memory.on_tool_result("call_0", f"answer {n}")
        pack = memory.build_context()
        is_accepted(pack)
        assert [m["content"] for m in pack.messages if m["role"] == "tool"] == ["answer 0", "answer 1", "answer 2"]


# The rules themselves


def test_the_rules_find_what_servers_reject():
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asking: Sequence[Mapping[str, Any]] = [{"role": "user", "content": "Hi"}]
    wrong: list[list[Mapping[str, Any]]] = [
        [*asking, {"role": "assistant", "content": None, "tool_calls": [call]}],
        [*asking, {"role": "tool", "tool_call_id": "c1", "content": "x"}],
        [{"role": "assistant", "content": None, "tool_calls": [call]}, *asking, {"role": "tool", "tool_call_id": "c1", "content": "x"}],
        [{"role": "user", "content": " "}],
        [{"role": "Critic", "content": "x"}],
    ]  # fmt: skip
    assert all(message_rules.openai(messages) for messages in wrong)
    turn = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    assert message_rules.anthropic({"messages": [turn, turn]})
    assert message_rules.anthropic({"messages": [{"role": "assistant", "content": [{"type": "text", "text": "x"}]}]})
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
    assert message_rules.anthropic({"messages": [turn, used, turn]})
