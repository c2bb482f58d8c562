"""A database answers as the folder that it was copied from, whichever way its rows are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from pathlib import Path

import pytest
from conftest import Database

from memctl import Memory, MemoryStore, copy_store, open_store
from memctl.core.models import ARCHIVED, DOCUMENTS, MEMORIES, MESSAGES, Filters
from memctl.storage.postgres import small, words

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
ANIMALS, PLACES = ("heron", "otter", "grey fox", "kingfisher"), ("river", "mill", "old bridge", "lighthouse", "quay")
QUESTIONS = ("Which animals are at the river?", "Who waits by the lighthouse?", "the", "And the grey one at the quay?")
FILTERS = (
    Filters(),
    *(Filters(only=part) for part in (MEMORIES, MESSAGES, DOCUMENTS)),
    Filters(statuses=(ARCHIVED,)),
    Filters(tags=("seen",)),
    Filters(as_of=NOW - timedelta(days=6)),
)


def filled(folder: Path, environment: dict[str, str], count: int) -> None:
    """A folder with memories, of which some are archived, some expire and one has a reflection, messages and a
    document."""
    with open_store(folder, "alice", create=True, environment=environment) as store:
        first = NOW - timedelta(days=7)
        given = [
            Memory(
                "", f"A {ANIMALS[n % 4]} was at the {PLACES[n % 5]}, visit {n}", created_at=first + timedelta(minutes=n)
            )
            for n in range(count)
        ]
        store.add_many(given, now=NOW)
        for n, memory in enumerate(store.all()[:15]):
            way = ({"status": ARCHIVED}, {"tags": ("seen",)}, {"expires_at": NOW + timedelta(days=n - 7)})[n % 3]
            store.put(replace(memory, **way), now=NOW)
        store.write_reflection(store.all()[-1], "The grey fox sleeps in the mill by the river.", now=NOW)
        talk = store.sessions.conversation("main")
        for n in range(12):
            talk.add(f"I saw the {ANIMALS[n % 4]} again. Was it at the {PLACES[n % 5]}?", now=NOW)
        page = folder.parent / "animals.md"
        page.write_text("\n\n".join(f"## {place}\n\nAn otter lives at the {place}." for place in PLACES))
        store.documents.add(str(page), now=NOW)


def answers(store: MemoryStore) -> list[object]:
    asked = ((question, each) for question in QUESTIONS for each in FILTERS)
    hits = [store.query(question, filters=each, top=8, receipt=False, now=NOW).hits for question, each in asked]
    packs = [store.build_context(question, receipt=False, now=NOW).messages for question in QUESTIONS]
    return [[[(h.memory.memory_id, h.via, pytest.approx(h.score, abs=1e-6)) for h in some] for some in hits], packs]


def _plain(found: Sequence[object]) -> list[object]:
    return [[[(name, via, value.expected) for name, via, value in some] for some in found[0]], found[1]]  # type: ignore


@pytest.mark.parametrize("most", [0, small.MOST])
def test_a_small_user(
    most: int, database: Database, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small, "MOST", most)
    folder = tmp_path / "folder"
    filled(folder, environment, 60)
    copy_store(folder, database.address, ["alice"])
    with (
        open_store(folder, "alice", environment=environment) as files,
        open_store(database.address, "alice", environment=environment) as rows,
    ):
        assert rows.engine.search.state().total <= small.MOST or not most
        assert _plain(answers(rows)) == answers(files)


def test_a_user_of_whom_many_entries_have_a_word(
    database: Database, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the rarest words choose, as far as they suffice."""
    chosen: list[bool] = []
    best = words._best

    def counted(*given):
        chosen.append(len(found := best(*given)) >= given[-1])
        return found

    monkeypatch.setattr(words, "_best", counted)
    folder = tmp_path / "folder"
    filled(folder, environment, 2_600)
    copy_store(folder, database.address, ["alice"])
    with (
        open_store(folder, "alice", environment=environment) as files,
        open_store(database.address, "alice", environment=environment) as rows,
    ):
        assert _plain(answers(rows)) == answers(files)
        for terms in (["visit"], ["visit", "none"], ["visit", "heron"], ["visit", "heron", "quay"], []):
            assert by_rarest(rows, terms) == by_rarest(files, terms)
    assert set(chosen) == {True, False}


def by_rarest(store: MemoryStore, terms: Sequence[str]) -> list[str]:
    """The ids of memories that share the rarest of some terms; `visit` is in more than are counted to the end."""
    only = Filters(only=MEMORIES)
    found = store.engine.search.sharing_rarest(terms, only, NOW, rarest=8, limit=20, quick=True)
    return [match.memory_id for match in found]


@pytest.mark.parametrize("count", [small.MOST - 10, 700])
def test_many_that_answer_equally_well(
    count: int, database: Database, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Which of them came first decides nothing: a copy does not know it."""
    folder = tmp_path / "folder"
    with open_store(folder, "alice", create=True, environment=environment) as store:
        letters = ("".join(each) for each in product("bdfgklm", "aeiou", "bcdfghjklmnpqrstvwxz"))
        given = [
            Memory("", f"The heron {name} waits", created_at=NOW - timedelta(days=1 + n * 37 % 11))
            for n, name in enumerate(islice(letters, count))
        ]
        store.add_many(given, now=NOW)
    copy_store(folder, database.address, ["alice"])
    questions = ("Who waits?", "Where is the heron?", "Which heron is the one that waits?")
    asked = [(question, Filters(only=only)) for question in questions for only in ("", MEMORIES)]

    def hits(store: MemoryStore) -> list[list[tuple[str, float]]]:
        found = (store.query(q, filters=each, top=40, receipt=False, now=NOW).hits for q, each in asked)
        return [[(hit.memory.memory_id, round(hit.score, 6)) for hit in some] for some in found]

    with (
        open_store(folder, "alice", environment=environment) as files,
        open_store(database.address, "alice", environment=environment) as rows,
    ):
        assert hits(rows) == hits(files)
