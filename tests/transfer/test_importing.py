"""What was read goes into a real store, once."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memctl import open_store
from memctl.transfer import formats, writing

from .test_forms import GRAPH, MEM0, RECORD, lines, turn
from .test_notes import COFFEE, write

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
LATER = datetime(2025, 7, 1, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "memctl.yaml").write_text("model: none\n")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with open_store(tmp_path / "store", "alice", create=True, environment=environment) as opened:
        yield opened


FORMS = {
    "memctl": lines({"memory_id": "a", "content": "tea"}, {"content": "no id"}, {"key": "city", "value": "Rome"}),
    "jsonl": lines(turn("c1", 1, "Hi"), turn("c1", 2, "Hi"), turn("c2", 1, "Hi")),
    "records": f"[{RECORD}]".encode(),
    "mcp": lines(*GRAPH),
    "mem0": json.dumps({"results": [MEM0]}, indent=1).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_importing_twice_adds_nothing(store, form):
    first = formats.read(FORMS[form], now=NOW)
    outcomes = {added.outcome for added in store.add_many(first.memories, now=NOW)}
    kept = store.all()
    again = store.add_many(formats.read(FORMS[form], now=LATER).memories, now=LATER)
    assert outcomes == {"added"}
    assert len(kept) == len(first.memories)
    assert {added.outcome for added in again} <= {"skipped", "mentioned"}
    assert [memory.memory_id for memory in store.all()] == [memory.memory_id for memory in kept]


def test_importing_notes_twice_adds_nothing(store, tmp_path):
    folder = write(tmp_path / "notes", coffee=COFFEE, other="- [tip] Rinse the filter\n")
    for now in (NOW, LATER):
        found = formats.read(folder, now=now)
        store.add_many(found.memories, details=found.details, now=now)
    assert len(store.all()) == 9
    assert {memory.imported_at for memory in store.all()} == {NOW}
    [note] = [memory for memory in store.all() if memory.external_id == "basic-memory:other"]
    assert store.reflection_of(note).body.strip() == "- [tip] Rinse the filter"


def test_a_store_moves_whole(store, tmp_path):
    store.add_many(formats.read(FORMS["records"], now=NOW).memories, now=NOW)
    text = "\n".join(writing.to_jsonl(store.all()))
    with open_store(tmp_path / "store", "bob", create=True, environment={}) as other:
        other.add_many(formats.read(text.encode()).memories, now=LATER)
        assert other.all() == store.all()
