"""The same page on memories in PostgreSQL."""

from __future__ import annotations

from typing import Any

from memctl import open_store
from memctl.web.sitemap import NAVIGATION

from .site import serving, words


def test_memories_in_a_database_are_seen_corrected_and_undone(database: Any) -> None:
    with open_store(database.address, "alice", create=True) as store, open_store(database.address, "alice") as other:
        memory = store.add("Alice is allergic to tree nuts", tags=("food",)).memory
        with serving(store, where=database.address) as visitor:
            visitor.enter()
            for _, path in NAVIGATION:
                assert visitor.page(path)
            assert memory.memory_id in visitor.page("/search?q=is+Alice+allergic+to+nuts")
            visitor.done("pin", memory_id=memory.memory_id, version=visitor.version(memory.memory_id))
            assert other.get(memory.memory_id).pinned
            visitor.done("undo", op=other.history.operations()[-1].op)
            assert not other.get(memory.memory_id).pinned
            before = visitor.page("/stamp").rpartition(".")[0]
            other.add("Alice likes dal")
            assert visitor.page("/stamp").rpartition(".")[0] != before
            assert "Alice likes dal" in words(visitor.checked())


def test_problems_in_a_database_are_shown(database: Any) -> None:
    key = "AKIA" + "Q3EXAMPLEKEY7XYZ"
    with open_store(database.address, "alice", create=True) as store:
        memory = store.add(f"The key is {key}", allow_secret=True).memory
        with serving(store, where=database.address) as visitor:
            page = visitor.enter().checked()
        shown = page[page.index('id="waiting"') : page.index('id="lately"')]
        assert f"memory {memory.memory_id}" in words(shown)
