"""What stands beside a message in its session lifts it, within bounds, and never past a filter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryStore, open_store
from memctl.models import ARCHIVED, Filters, Memory, Query
from memctl.retrieval.rank import NEIGHBOUR_SHARE, lifted

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

signals = st.dictionaries(st.integers(1, 20), st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)), max_size=12)
pairs = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), max_size=20)


@given(signals, pairs)
def test_bounds_and_order(blended: dict[int, tuple[float, float]], beside: list[tuple[int, int]]):
    known = [(row, other) for row, other in beside if row in blended and row != other]
    found = lifted(blended, known)
    assert set(found) == set(blended) | {other for _, other in known}
    for row, parts in found.items():
        assert all(part >= 0 for part in parts)
        assert sum(parts) <= 1 + 1e-9
        own = sum(blended.get(row, (0.0, 0.0)))
        best = max((sum(blended[r]) for r, other in known if other == row), default=0.0)
        assert sum(parts) == pytest.approx((own + NEIGHBOUR_SHARE * best) / (1 + NEIGHBOUR_SHARE if known else 1))
    if not known:
        assert sorted(found, key=lambda r: sum(found[r])) == sorted(found, key=lambda r: sum(blended[r]))


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
    store.put(Memory(**{**vars(porto), "status": ARCHIVED, "archived_at": NOW}), expected=porto)
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
