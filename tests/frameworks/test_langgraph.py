"""The LangGraph store: by the real package, against its own `InMemoryStore`, and in compiled graphs."""

from __future__ import annotations

import asyncio
import copy
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypedDict

import pytest
from conftest import cases, fast_folder, same_as_rebuilt
from hypothesis import given
from hypothesis import strategies as st

from memctl import open_store
from memctl.errors import InvalidDataError, LockedError

pytest.importorskip("langgraph.graph", reason="langgraph is not installed here: `make test-frameworks`")

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from memctl.agent import langgraph_filters, langgraph_items
from memctl.agent.langgraph import MemctlStore

ALICE = ("users", "alice")


class Clock:
    """A present that stands still until it is moved."""

    def __init__(self):
        self.now = datetime(2026, 3, 1, 9, tzinfo=UTC)

    def __call__(self):
        return self.now

    def move(self, **span):
        self.now += timedelta(**span)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def items(store, clock):
    return MemctlStore(store, clock=clock)


# The same as LangGraph's own store


class Reference(InMemoryStore):
    """LangGraph's store in memory. It lists namespaces that hold nothing (even one that was only asked for); its
    persistent stores do not, and neither do we."""

    def _handle_list_namespaces(self, op):
        for namespace in [ns for ns, held in self._data.items() if not held]:
            del self._data[namespace]
        return super()._handle_list_namespaces(op)


_LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_TEXTS = st.text(_LETTERS, max_size=6) | st.sampled_from(["red tea", "10", "2", "", " ", "茶", "true"])
_NUMBERS = st.integers(-3, 12) | st.floats(-3, 12, allow_nan=False) | st.integers(-(10**20), 10**20)
_LEAVES = st.none() | st.booleans() | _NUMBERS | _TEXTS
_JSON = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3), max_leaves=6
)
_VALUES = st.dictionaries(st.sampled_from(["n", "text", "deep", "$x"]) | _TEXTS, _JSON, max_size=4)
_LABELS = st.sampled_from(["a", "b", "users", "用户"])
_NAMESPACES = st.lists(_LABELS, min_size=1, max_size=3).map(tuple)
_KEYS = st.sampled_from(["k", "k2", "", "with space", "鍵", 'quo"te'])
_PATHS = st.lists(_LABELS | st.just("*"), max_size=3).map(tuple)
_OPERATORS = st.dictionaries(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), _LEAVES, min_size=1)
_FILTERS = st.dictionaries(st.sampled_from(["n", "text", "deep", "$x"]), _OPERATORS | _JSON, max_size=2)

_PUTS = st.builds(
    PutOp,
    _NAMESPACES,
    _KEYS,
    st.none() | _VALUES,
    st.sampled_from([None, False, ["text"], ["deep[*]", "$"]]),
    st.none(),
)
_GETS = st.builds(GetOp, _NAMESPACES, _KEYS)
_SEARCHES = st.builds(
    SearchOp,
    st.just(()) | _NAMESPACES,
    st.none() | _FILTERS,
    limit=st.just(1000),
    offset=st.just(0),
    query=st.none() | st.sampled_from(["red tea", "茶", "k2", "?"]),
)
_LISTS = st.builds(
    ListNamespacesOp,
    st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), _PATHS), max_size=2).map(tuple),
    st.none() | st.integers(1, 3),
    st.integers(0, 5),
    st.integers(0, 3),
)
_BATCHES = st.lists(_PUTS | _PUTS | _GETS | _SEARCHES | _LISTS, min_size=1, max_size=4)


def plain(result):
    """A result without times, scores and the order of a search, for which LangGraph's stores have no rule."""
    if isinstance(result, list) and result and not isinstance(result[0], tuple):
        return sorted((plain(item) for item in result), key=repr)
    if result is None or isinstance(result, list):
        return result
    return (result.namespace, result.key, result.value)


@cases(100)
@given(st.lists(_BATCHES, max_size=8))
def test_it_answers_as_langgraphs_own_store(batches):
    folder = fast_folder()
    try:
        with open_store(folder, user="alice", create=True) as memory:
            ours, theirs = MemctlStore(memory), Reference()
            for ops in batches:
                try:
                    expected = theirs.batch(copy.deepcopy(ops))
                except (TypeError, ValueError):  # it compares what has no order; we say that it does not fit
                    ops = [op for op in ops if isinstance(op, PutOp)]
                    expected = theirs.batch(copy.deepcopy(ops))
                assert [*map(plain, ours.batch(ops))] == [*map(plain, expected)]
            everything = ours.search((), limit=10_000)
            same_as_rebuilt(memory)
        with open_store(folder, user="alice") as again:
            assert MemctlStore(again).search((), limit=10_000) == everything
    finally:
        shutil.rmtree(folder)


@given(_JSON, _FILTERS.map(lambda f: f.get("n")))
def test_a_filter_reads_as_theirs(value, wanted):
    theirs = InMemoryStore()
    theirs.put(("a",), "k", {"n": value})
    try:
        expected = bool(theirs.search((), filter={"n": wanted}))
    except (TypeError, ValueError):
        langgraph_filters.fits(value, wanted)  # no error: a missing field is no reason to lose the search
        return
    assert langgraph_filters.fits(value, wanted) == expected


@given(st.sampled_from(["prefix", "suffix"]), _PATHS, _NAMESPACES)
def test_a_namespace_matches_as_theirs(kind, path, namespace):
    theirs = InMemoryStore()
    theirs.put(namespace, "k", {})
    expected = bool(theirs.list_namespaces(**{kind: path}))
    assert langgraph_filters.matches(MatchCondition(kind, path), namespace) == expected


def test_what_langgraph_does_not_know_is_refused_as_there(items):
    items.put(ALICE, "k", {"n": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        items.search((), filter={"n": {"$near": 1}})
    with pytest.raises(ValueError, match="middle"):
        items.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])
    with pytest.raises(ValueError, match="unknown operation"):
        items.batch(["get"])
    with pytest.raises(ValueError, match="period"):
        items.put(("a.b",), "k", {"n": 1})


def test_a_missing_field_and_dates_in_order(items):
    items.put(ALICE, "old", {"day": "2026-01-05"})
    items.put(ALICE, "new", {"day": "2026-02-01"})
    items.put(ALICE, "none", {"other": 1})
    assert [i.key for i in items.search(ALICE, filter={"day": {"$gte": "2026-01-31"}})] == ["new"]


def test_labels_with_periods_given_to_batch_stay_apart(items):
    items.batch([PutOp(("a.b",), "k", {"n": 1}), PutOp(("a", "b"), "k", {"n": 2})])
    assert [i.value["n"] for i in items.search(("a", "b"))] == [2]
    assert items.list_namespaces() == [("a", "b"), ("a.b",)]


# Items and times


def test_times_and_overwriting(items, clock):
    items.put(ALICE, "tea", {"text": "green"})
    clock.move(seconds=1.5)
    items.put(ALICE, "tea", {"text": "black"})
    item = items.get(ALICE, "tea")
    assert (item.updated_at - item.created_at) == timedelta(seconds=1.5)
    assert item.value == {"text": "black"}
    item.value["text"] = "mine to change"
    assert items.search(ALICE)[0].value == {"text": "black"}
    items.search(ALICE)[0].value.clear()
    assert items.search(ALICE)[0].value == {"text": "black"}


def test_the_latest_come_first_and_pages_make_up_the_whole(items, clock):
    for n in range(7):
        clock.move(seconds=1)
        items.put(ALICE, str(n), {"text": f"tea number {n}"})
    clock.move(seconds=1)
    items.put(ALICE, "2", {"text": "tea again"})
    assert [i.key for i in items.search(ALICE, limit=3)] == ["2", "6", "5"]
    for query in (None, "tea again"):
        pages = [items.search(ALICE, query=query, limit=3, offset=at) for at in (0, 3, 6)]
        assert sorted(i.key for page in pages for i in page) == [*"0123456"]


def test_a_batch_reads_before_it_writes_and_is_one_change(items):
    items.put(ALICE, "k", {"n": 1})
    ops = [PutOp(ALICE, "k", {"n": 2}), GetOp(ALICE, "k"), PutOp(ALICE, "k", {"n": 3}), PutOp(ALICE, "other", {})]
    assert [r and r.value for r in items.batch(ops)] == [None, {"n": 1}, None, None]
    assert items.get(ALICE, "k").value == {"n": 3}
    items.memory.undo()
    assert [i.value for i in items.search(ALICE)] == [{"n": 1}]


def test_what_json_cannot_hold_is_refused_whole(items):
    for value in ({"at": datetime.now(UTC)}, {"x": float("nan")}, {"text": "\ud800"}, {"text": "a\0b"}):
        with pytest.raises(InvalidDataError):
            items.batch([PutOp(ALICE, "fine", {"n": 1}), PutOp(ALICE, "k", value)])
    assert items.search(()) == []
    items.put(ALICE, "k", {1: "number", "1": "text", "pair": (1, 2)})
    assert items.get(ALICE, "k").value == {"1": "text", "pair": [1, 2]}
    same_as_rebuilt(items.memory)


# Searching by words


def test_a_query_ranks_and_never_leaves_out(items):
    items.put(ALICE, "tea", {"memory": "Alice drinks green tea in the morning"})
    items.put(ALICE, "work", {"memory": "Alice works at the harbour"})
    items.put(("users", "bob"), "tea", {"memory": "Bob drinks green tea in the morning"})
    items.put(ALICE, "茶", {"memory": "爱丽丝喜欢绿茶"})
    found = items.search(ALICE, query="what does she drink in the morning?")
    assert next(i.key for i in found) == "tea"
    assert len(found) == 3
    scores = [i.score for i in found if i.score is not None]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert items.search(ALICE, query="绿茶")[0].key == "茶"
    assert [i.key for i in items.search(("users",), query="green tea", limit=2)] != ["work"]


def test_index_says_what_is_searched(store, clock):
    items = MemctlStore(store, fields=["title"], clock=clock)
    items.put(ALICE, "default", {"title": "harbour", "body": "lighthouse"})
    items.put(ALICE, "body", {"title": "harbour", "body": "lighthouse"}, index=["body"])
    items.put(ALICE, "hidden", {"title": "harbour", "body": "lighthouse"}, index=False)
    items.put(ALICE, "lists", {"parts": [{"t": "one"}, {"t": "harbour wall"}]}, index=["parts[*].t"])
    scores = {i.key: i.score for i in items.search(ALICE, query="harbour")}
    assert scores["hidden"] is None
    assert scores["default"] > (scores["body"] or 0)
    assert scores["lists"] > (scores["body"] or 0)
    held = {m.external_id: m.content for m in store.all()}
    assert held['langgraph:["users", "alice", "hidden"]'] == "item users.alice.hidden"
    assert held['langgraph:["users", "alice", "lists"]'] == "one\nharbour wall"


def test_the_text_of_a_value():
    assert langgraph_items.text_of({"memory": "Likes tea", "empty": None}, ["$"]) == "Likes tea"
    assert langgraph_items.text_of({"who": "Alice", "likes": ["tea", "rain"], "n": 3}, ["$"]).splitlines() == [
        "who: Alice",
        "likes: tea",
        "likes: rain",
        "n: 3",
    ]
    assert langgraph_items.text_of({}, ["$"]) == langgraph_items.text_of({"a": " "}, ["$"]) == ""


# Life and death


def test_deleted_items_lie_in_the_trash_and_can_come_back(items):
    items.put(ALICE, "k", {"text": "a secret garden"})
    items.delete(ALICE, "k")
    items.delete(ALICE, "never there")
    assert items.get(ALICE, "k") is None
    assert items.list_namespaces() == []
    (trashed,) = items.memory.engine.storage.trashed()
    assert trashed.memory.value == {"text": "a secret garden"}
    items.memory.restore([trashed.memory.memory_id])
    assert items.get(ALICE, "k").value == {"text": "a secret garden"}
    same_as_rebuilt(items.memory)


def test_restoring_an_item_that_was_written_anew_keeps_the_new_one(items, clock):
    items.put(ALICE, "k", {"n": 1})
    items.delete(ALICE, "k")
    clock.move(seconds=1)
    items.put(ALICE, "k", {"n": 2})
    items.memory.restore([items.memory.engine.storage.trashed()[0].memory.memory_id])
    assert items.get(ALICE, "k").value == {"n": 2}
    assert [i.value for i in items.search(ALICE)] == [{"n": 2}]
    items.delete(ALICE, "k")
    assert items.search(()) == []


def test_time_to_live_runs_from_the_last_access(items, clock):
    items.put(ALICE, "k", {"text": "soon gone"}, ttl=10)
    items.put(ALICE, "stays", {"text": "here"})
    for read in (lambda: items.get(ALICE, "k"), lambda: items.search(ALICE), lambda: items.get(ALICE, "k")):
        clock.move(minutes=9)
        assert read()
    updated = items.get(ALICE, "k").updated_at
    clock.move(minutes=9)
    assert items.get(ALICE, "k", refresh_ttl=False).updated_at == updated == datetime(2026, 3, 1, 9, tzinfo=UTC)
    clock.move(minutes=2)
    assert items.get(ALICE, "k") is None
    assert [i.key for i in items.search(ALICE, query="soon gone")] == ["stays"]
    assert items.memory.engine.storage.trashed() == []
    items.put(ALICE, "k", {"text": "anew"})
    assert [t.memory.value for t in items.memory.engine.storage.trashed()] == [{"text": "soon gone"}]
    clock.move(days=400)
    assert items.get(ALICE, "k").value == {"text": "anew"}
    same_as_rebuilt(items.memory)


def test_the_default_time_to_live(store, clock):
    items = MemctlStore(store, ttl={"default_ttl": 5, "refresh_on_read": False}, clock=clock)
    items.put(ALICE, "short", {"n": 1})
    items.put(ALICE, "long", {"n": 2}, ttl=None)
    before = store.folder.memory_file.read_bytes()
    clock.move(minutes=4)
    assert items.get(ALICE, "short")
    assert len(items.search(ALICE)) == 2
    assert store.folder.memory_file.read_bytes() == before
    clock.move(minutes=2)
    assert [i.key for i in items.search(ALICE)] == ["long"]


def test_reading_writes_nothing_without_a_time_to_live(items):
    items.put(ALICE, "k", {"n": 1})
    before = items.memory.folder.memory_file.read_bytes()
    items.get(ALICE, "k")
    items.search(ALICE, query="n")
    items.list_namespaces()
    assert items.memory.folder.memory_file.read_bytes() == before


# Beside the rest of memctl


def test_other_memories_are_no_items_and_items_are_memories(items):
    items.memory.add("Alice has a cat called Miso")
    items.put(ALICE, "pet", {"memory": "Alice has a dog called Udon"})
    assert [i.key for i in items.search((), query="cat Miso")] == ["pet"]
    assert {hit.memory.source for hit in items.memory.query("Alice has").hits} == {"user", "langgraph"}


def test_merging_and_saying_again_keep_every_item(items):
    for name in ("alice", "bob"):
        items.put(("users", name), "city", {"text": "The office moved to the harbour street in Porto last spring"})
    items.memory.add("The office moved to the harbour street in Porto last spring", metadata={"mine": 1})
    items.memory.consolidation.run()
    assert len(items.search((), query="office in Porto")) == 2
    assert items.get(("users", "bob"), "city").value["text"].startswith("The office")
    items.put(("users", "bob"), "city", {"text": "Lisbon"})
    assert items.get(("users", "bob"), "city").value == {"text": "Lisbon"}
    assert {m.status for m in items.memory.all() if m.value == {"text": "Lisbon"}} == {"active"}


def test_what_people_add_to_a_record_outlives_a_put(items, clock):
    items.put(ALICE, "k", {"n": 1}, ttl=5)
    held = items.memory.all()[0]
    changed = replace(held, importance=0.9, tags=(*held.tags, "mine"), category="work")
    items.memory.put(changed, expected=held, now=clock())
    items.put(ALICE, "k", {"n": 2})
    now = items.memory.all()[0]
    assert (now.importance, now.category, "mine" in now.tags, now.expires_at) == (0.9, "work", True, None)


def test_an_item_that_was_judged_wrong_says_so_and_keeps_its_value(items):
    """The note is for its reader: what is read and written again is what was there."""
    items.put(ALICE, "drinks", {"likes": "coffee", "memctl_note": "mine"})
    items.put(ALICE, "reads", {"likes": "novels"})
    for memory in items.memory.all():
        items.memory.feedback(memory.memory_id, "👎")
    for read in (items.get(ALICE, "reads"), *items.search(ALICE, query="novels", limit=1)):
        assert read.value == {"likes": "novels", "memctl_note": "needs revision"}
    items.put(ALICE, "reads", items.get(ALICE, "reads").value)
    assert {"likes": "novels"} in [memory.value for memory in items.memory.all()]
    items.put(ALICE, "sees", {"memctl_note": "mine"})
    assert items.get(ALICE, "sees").value == {"memctl_note": "mine"}


def test_two_stores_on_one_folder_see_each_other(items, opener):
    other = MemctlStore(opener())
    items.put(ALICE, "k", {"n": 1})
    assert other.get(ALICE, "k").value == {"n": 1}
    other.delete(ALICE, "k")
    assert items.get(ALICE, "k") is None


def test_a_locked_folder_is_an_error_and_changes_nothing(opener):
    items = MemctlStore(opener())
    other = opener()
    object.__setattr__(items.memory.engine.files.gateway, "lock_timeout", 0.05)
    with other.engine.files.gateway.locked(), pytest.raises(LockedError):
        items.put(ALICE, "k", {"n": 1})
    assert items.get(ALICE, "k") is None


def test_many_threads(items):
    def write(number):
        for n in range(5):
            items.put(("threads", str(number)), str(n), {"n": n})
            items.search(("threads",), query="n")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(items.search(("threads",), limit=100)) == 30
    same_as_rebuilt(items.memory)


def test_the_async_face_is_the_same_store(items):
    async def work():
        await asyncio.gather(*(items.aput(ALICE, str(n), {"n": n}, ttl=60) for n in range(8)))
        await items.adelete(ALICE, "3")
        found = await items.asearch(ALICE, filter={"n": {"$gt": 4}})
        return sorted(i.key for i in found), (await items.aget(ALICE, "1")).value, await items.alist_namespaces()

    assert asyncio.run(work()) == (["5", "6", "7"], {"n": 1}, [ALICE])


# In graphs


class State(TypedDict):
    said: str
    answer: str


def remembering(store):
    """A graph that answers with what it knows, then keeps what was said."""

    def node(state: State, *, store: BaseStore):
        known = store.search(ALICE, query=state["said"], limit=1)
        store.put(ALICE, str(len(store.search(ALICE, limit=100))), {"memory": state["said"]})
        return {"answer": known[0].value["memory"] if known else "nothing"}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(checkpointer=InMemorySaver(), store=store)


def test_a_compiled_graph_remembers_across_threads_and_processes(items, opener):
    graph = remembering(items)
    first = graph.invoke({"said": "My cat is called Miso"}, {"configurable": {"thread_id": "1"}})
    second = graph.invoke({"said": "What is my cat called?"}, {"configurable": {"thread_id": "2"}})
    assert (first["answer"], second["answer"]) == ("nothing", "My cat is called Miso")
    again = remembering(MemctlStore(opener()))
    third = again.invoke({"said": "cat Miso"}, {"configurable": {"thread_id": "3"}})
    assert third["answer"] == "My cat is called Miso"


def test_an_async_graph(items):
    async def node(state: State, *, store: BaseStore):
        await store.aput(ALICE, "said", {"memory": state["said"]})
        return {"answer": (await store.aget(ALICE, "said")).value["memory"]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile(store=items)
    assert asyncio.run(graph.ainvoke({"said": "hello"}))["answer"] == "hello"


def test_tools_get_the_store_injected(items):
    def remember(text: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
        """Keep a text."""
        store.put(ALICE, text[:5], {"memory": text})
        return "kept"

    class Messages(TypedDict):
        messages: list

    builder = StateGraph(Messages)
    builder.add_node("tools", ToolNode([remember]))
    builder.add_edge(START, "tools")
    calls = [{"name": "remember", "args": {"text": text}, "id": text} for text in ("green tea", "black tea")]
    answer = builder.compile(store=items).invoke({"messages": [AIMessage("", tool_calls=calls)]})
    assert [m.content for m in answer["messages"]] == ["kept", "kept"]
    assert len(items.search(ALICE)) == 2
