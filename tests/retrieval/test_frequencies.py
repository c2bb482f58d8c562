"""Searching a large index by part of it: the short ways find what the long ones find, and counts are never stale."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from math import log
from pathlib import Path

import pytest
from conftest import cases
from hypothesis import given
from hypothesis import strategies as st

from memctl import Memory, MemoryStore, open_store
from memctl.core.models import Filters
from memctl.core.text import terms
from memctl.storage.entries import scoring, vectors
from memctl.storage.index import conditions, frequencies, search
from memctl.storage.index.sqlite import SqliteIndex

NOW = datetime(2025, 6, 1, tzinfo=UTC)
COUNTS = st.dictionaries(
    st.sampled_from("tea coffee mug spoon kettle water milk sugar".split()), st.integers(0, 90_000), max_size=8
)
WORDS = "alice bob clara tea coffee mug spoon kettle lisbon porto office kitchen".split()


def weights(counts: Mapping[str, int], total: int) -> dict[str, float]:
    return {word: log((total + 1) / (count + 0.5)) for word, count in counts.items() if count}


def chosen(selection: str, words: frozenset[str]) -> bool:
    """Whether an entry with these words fits the expression."""
    sets = [one.strip("()").replace('"', "").split(" AND ") for one in selection.split(" OR ")]
    return any(words >= set(one) for one in sets)


@cases(200)
@given(COUNTS, st.sets(st.sampled_from("tea coffee mug spoon kettle water milk sugar".split())))
def test_what_holds_half_of_the_weight_is_chosen(counts: dict[str, int], held: set[str]) -> None:
    selection = frequencies.selection(counts, 100_000)
    if sum(counts.values()) <= scoring.MANY:
        assert selection == ""
        return
    rarest = dict(sorted(weights(counts, 100_000).items(), key=lambda pair: (-pair[1], pair[0]))[: scoring.CHOOSING])
    share = sum(rarest.get(word, 0.0) for word in held) / sum(rarest.values())

    assert chosen(selection, frozenset(held)) or share < scoring.SHARE + 1e-9
    assert not chosen(selection, frozenset(held)) or share > scoring.SHARE - 1e-9


@cases(60)
@given(COUNTS)
def test_each_set_is_needed(counts: dict[str, int]) -> None:
    """None holds another, so that the expression stays short: six words have at most twenty such sets."""
    sets = [set(one.split(" AND ")) for one in frequencies.selection(counts, 100_000).split(" OR ")]
    assert len(sets) <= 20
    assert not any(one < other for one in sets for other in sets)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """Three thousand memories of a few words each, one in ten of them not active."""
    root = tmp_path_factory.mktemp("large")
    chance = random.Random(3)
    with open_store(root, user="alice", create=True, environment={"XDG_CACHE_HOME": str(root)}) as store:
        store.add_many(
            Memory(
                f"m{number:04}",
                f"{' '.join(chance.choices(WORDS, k=6))} {number}",
                status="archived" if number % 10 == 0 else "active",
            )
            for number in range(3_000)
        )
        yield store


def all_matches(store: MemoryStore, words: list[str], limit: int) -> list[tuple[int, float]]:
    """The plain way to ask: everything is scored, everything is filtered."""
    sql = """SELECT f.rowid, -f.rank FROM full_text f JOIN entries e ON e.rowid = f.rowid
    WHERE full_text MATCH ? AND e.status = 'active' ORDER BY f.rank, e.rowid LIMIT ?"""
    return store.engine.files.index.connection.execute(sql, (terms.match_expression(words), limit)).fetchall()


@cases(40)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5, unique=True), st.integers(1, 40))
def test_the_best_by_words_are_those_of_all(large: MemoryStore, asked: list[str], limit: int) -> None:
    words = terms.terms(" ".join(asked))
    found = large.engine.files.index.full_text(words, Filters(), NOW, limit)

    assert [(one.key, one.score) for one in found] == all_matches(large, words, limit)


def test_many_that_do_not_pass_the_filter_hide_none(large: MemoryStore) -> None:
    """Wherever the looked-up part of the best holds too few, more are looked at."""
    words = terms.terms("tea lisbon 10 20 30 40 50 60 70 80 90")
    found = large.engine.files.index.full_text(words, Filters(), NOW, 5)

    assert [(one.key, one.score) for one in found] == all_matches(large, words, 5)
    archived = large.engine.files.index.full_text(words, Filters(statuses=("archived",)), NOW, 9)
    assert {entry.memory_id for entry in large.engine.files.index.matches([one.key for one in archived])} == {
        f"m{number:04}" for number in range(10, 100, 10)
    }


@cases(15)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join))
def test_the_nearest_by_sketches_are_the_nearest(large: MemoryStore, asked: str) -> None:
    assert large.engine.embedder is not None
    vector = large.engine.embedder.embed_query(asked)
    condition = conditions.where(Filters(), NOW)
    exact = search.exactly_nearest(large.engine.files.index.connection, vectors.pack(vector).vector, condition, 10)
    found = search.nearest(large.engine.files.index.connection, vector, condition, 10)

    assert [one.score for one in found] == pytest.approx([one.score for one in exact], abs=0.02)


def empty_and_fail(index: SqliteIndex) -> None:
    """Count in the middle of a change that is then rolled back."""
    with search.db.transaction(index.connection):
        index.connection.execute("DELETE FROM full_text")
        index.connection.execute("DELETE FROM entries")
        assert index.total() == 0
        raise RuntimeError


def test_counts_follow_every_change(opener: Callable[..., MemoryStore]) -> None:
    """Of this connection and of others, made and taken back."""
    store, other = opener(), opener()

    def counts() -> tuple[dict[str, int], int]:
        store.refresh()
        return store.engine.files.index.term_counts(["tea", "milk"]), store.engine.files.index.total()

    assert counts() == ({"tea": 0, "milk": 0}, 0)
    first = store.add("Alice drinks tea").memory
    assert counts() == ({"tea": 1, "milk": 0}, 1)
    other.add("Bob drinks tea with milk")
    assert counts() == ({"tea": 2, "milk": 1}, 2)
    store.forget([first.memory_id])
    assert counts() == ({"tea": 1, "milk": 1}, 1)
    store.undo()
    assert counts() == ({"tea": 2, "milk": 1}, 2)
    other.reindex()
    assert counts() == ({"tea": 2, "milk": 1}, 2)
    with pytest.raises(RuntimeError):
        empty_and_fail(store.engine.files.index)
    assert counts() == ({"tea": 2, "milk": 1}, 2)


def test_a_copied_index_has_its_own_counts(opener: Callable[..., MemoryStore], tmp_path: Path) -> None:
    store = opener()
    store.add("Alice drinks tea")
    copy = store.engine.files.index.copied()
    store.add("Bob drinks tea")

    assert (store.engine.files.index.term_counts(["tea"]), copy.term_counts(["tea"])) == ({"tea": 2}, {"tea": 1})
