"""What stands beside a message in its session lifts it, within bounds, and never past a filter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryStore, open_store
from memctl.core.models import ARCHIVED, Filters, Memory, Query
from memctl.retrieval.cues import Cues
from memctl.retrieval.rank import (
    ANSWER_SHARE,
    NEIGHBOUR_SHARE,
    Signals,
    most,
    with_cues,
    with_neighbours,
    with_sessions,
)
from memctl.storage.ports.search import Neighbours, Origin

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

SESSIONS = ("", "one", "two")
rows = st.integers(1, 20)
shares = st.floats(0, 0.5)
signals = st.dictionaries(rows, st.tuples(shares, shares).map(lambda pair: Signals(*pair)), max_size=12)
stands = st.lists(st.builds(Neighbours, rows, st.booleans(), st.none() | rows, st.none() | rows), max_size=20)
origins = st.builds(Origin, st.sampled_from(SESSIONS), st.sampled_from(("", "alice", "bob")), st.none(), st.booleans())
asked = st.builds(Cues, st.booleans(), st.sampled_from((frozenset(), frozenset({"alice"}))), st.none())


@given(signals, stands, st.data(), asked)
def test_bounds(blended: dict[int, Signals], beside: list[Neighbours], data: st.DataObject, question: Cues):
    said = {row: data.draw(origins) for row in blended}
    known = [one for one in beside if one.key in said and said[one.key].session]
    found = with_cues(with_sessions(with_neighbours(blended, said, known), said), said, question)
    assert found.keys() == blended.keys()
    limit = most(found, said, question)
    for row, parts in found.items():
        assert all(part >= 0 for part in parts)
        assert sum(parts) <= limit + 1e-9
        assert (parts.lexical, parts.vector) == (blended[row].lexical, blended[row].vector)
    if not any(one.session for one in said.values()) and question == Cues():
        assert found == blended


@given(signals, st.data())
def test_what_stands_alone_keeps_its_order(blended: dict[int, Signals], data: st.DataObject):
    said = {row: Origin(data.draw(st.sampled_from(SESSIONS)), "", None, False) for row in blended}
    found = with_sessions(with_neighbours(blended, said, []), said)
    alone = [row for row in blended if not said[row].session]
    for one, other in pairwise(alone):
        if sum(blended[one]) > sum(blended[other]):
            assert sum(found[one]) > sum(found[other])


def test_an_answer_is_lifted_more_than_another_neighbour():
    blended = {1: Signals(0.5, 0.5), 2: Signals(0.1), 3: Signals(0.1)}
    said = dict.fromkeys(blended, Origin("one", "", None, False))
    found = with_neighbours(blended, said, [Neighbours(1, True, 2, 3)])
    assert (found[2].neighbour, found[3].neighbour) == (NEIGHBOUR_SHARE, ANSWER_SHARE)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    found = open_store(tmp_path / "s", "alice", create=True)
    said = ["Which city did you choose?", "It is Porto.", "Nice!", "I bought a kettle."]
    talk = [Memory("", text, session_id="one", created_at=NOW + timedelta(minutes=n)) for n, text in enumerate(said)]
    other = [Memory("", f"The printer number {n} is blue.", session_id="two") for n in range(20)]
    found.add_many([*talk, *other], now=NOW)
    return found


def test_an_answer_is_found_by_its_question(store: MemoryStore):
    hits = store.query(Query("which city did she choose", top=3, route=False), now=NOW).hits
    assert [hit.memory.content for hit in hits[:2]] == ["Which city did you choose?", "It is Porto."]
    assert hits[1].parts["neighbour"] > 0
    assert sum(hits[1].parts.values()) == pytest.approx(hits[1].score)
    assert "I bought a kettle." not in [hit.memory.content for hit in hits[:2]]


def test_a_neighbour_comes_in_only_through_the_filters(store: MemoryStore):
    porto = next(m for m in store.all() if "Porto" in m.content)
    store.put(replace(porto, status=ARCHIVED, archived_at=NOW), expected=porto)
    hits = store.query(Query("which city did she choose", top=10, route=False), now=NOW).hits
    assert "It is Porto." not in [hit.memory.content for hit in hits]
    asked = Query("which city did she choose", filters=Filters(categories=("work",)), route=False)
    assert store.query(asked, now=NOW).hits == ()


def test_a_memory_is_found_by_its_day(store: MemoryStore):
    store.add("Alice ran the marathon", occurred_at=datetime(2023, 5, 27, tzinfo=UTC), now=NOW)
    store.add("小林去了杭州", occurred_at=datetime(2023, 5, 9, tzinfo=UTC), now=NOW)
    first = store.query(Query("what happened on 27 May 2023", top=1, route=False), now=NOW).hits[0]
    assert first.memory.content == "Alice ran the marathon"
    first = store.query(Query("2023年5月9日做了什么", top=1, route=False), now=NOW).hits[0]
    assert first.memory.content == "小林去了杭州"
