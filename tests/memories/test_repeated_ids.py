"""Several records with one id, as copying and pasting leaves them: the first counts, and none is lost by removing it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from conftest import elements, write_by_hand

from memctl import MemoryStore
from memctl.core.models import Memory
from memctl.doctor.examining import examine
from memctl.doctor.repairing import repair
from memctl.errors import RefusedError

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)


def written(store: MemoryStore, *records: dict[str, Any]) -> None:
    write_by_hand(store.folder.memory_file, json.dumps({"format": "memctl/1", "user_id": "alice", "memories": records}))


def texts(store: MemoryStore) -> list[str]:
    return [record["content"] for record, _ in elements(store.folder.memory_file.read_bytes())]


TWINS = (
    {"memory_id": "note", "content": "first", "created_at": "2026-03-01"},
    {"memory_id": "note", "content": "second", "created_at": "2026-03-02"},
    {"memory_id": "k", "content": "keep", "created_at": "2026-03-01"},
)

REMOVALS: dict[str, Callable[[MemoryStore], object]] = {
    "forget": lambda store: store.forget(["note"], now=NOW),
    "reject": lambda store: store.candidates.reject(["note"], now=NOW),
    "undo": lambda store: store.undo(now=NOW),
}


@pytest.mark.parametrize("how", REMOVALS)
def test_removing_one_is_refused_and_loses_none(store: MemoryStore, how: str) -> None:
    store.add_many([Memory("note", "first", created_at=NOW, status="candidate")], now=NOW)
    record, raw = elements(store.folder.memory_file.read_bytes())[0]
    text = store.folder.memory_file.read_text()
    twin = raw.decode().replace("first", "second")
    write_by_hand(store.folder.memory_file, text.replace(raw.decode(), f"{raw.decode()},\n    {twin}"))
    with pytest.raises(RefusedError) as caught:
        REMOVALS[how](store)
    assert "doctor --fix" in caught.value.hint
    assert record["memory_id"] == "note"
    assert texts(store) == ["first", "second"]


def test_after_doctor_has_parted_them_each_goes_by_itself(store: MemoryStore) -> None:
    written(store, *TWINS)
    repair(store, examine(store))
    store.forget(["note"], now=NOW)
    assert sorted(texts(store)) == ["keep", "second"]
    store.undo(now=NOW)
    assert sorted(texts(store)) == ["first", "keep", "second"]


def test_what_expires_takes_no_other_with_it(store: MemoryStore) -> None:
    first = {**TWINS[0], "expires_at": "2026-03-05T00:00:00Z"}
    written(store, first, *TWINS[1:])
    store.add("Something else", now=NOW)
    assert sorted(texts(store)) == ["Something else", "first", "keep", "second"]


def test_the_same_record_twice_goes_as_one(store: MemoryStore) -> None:
    written(store, TWINS[0], TWINS[0], TWINS[2])
    store.forget(["note"], now=NOW)
    assert texts(store) == ["keep"]
    store.undo(now=NOW)
    assert sorted(texts(store)) == ["first", "keep"]


def test_an_import_brings_nothing_back_that_was_purged(store: MemoryStore) -> None:
    memory = store.add("The purge takes Doloxor", now=NOW).memory
    store.purge([memory.memory_id], now=NOW)
    assert [added.outcome for added in store.add_many([memory], now=NOW + timedelta(days=1))] == ["purged"]
    assert texts(store) == []
    assert b"Doloxor" not in store.folder.memory_file.read_bytes()


def test_a_purge_takes_all_records_with_the_id_and_says_so(store: MemoryStore) -> None:
    written(store, *TWINS, {**TWINS[0], "status": "done"})
    shown = store.purge(["note"], dry_run=True, now=NOW)
    [file] = [each for each in shown.files if each.path == "memory.json"]
    assert file.detail == "3 records removed"
    store.purge(["note"], expected=shown, now=NOW)
    assert texts(store) == ["keep"]
