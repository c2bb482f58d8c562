"""A memory that says that something has ended, and one that says that it still holds."""

from __future__ import annotations

from memctl import MemoryStore


def test_add_reports_what_has_ended_and_conflicts_lists_it(store: MemoryStore) -> None:
    car = store.add("I have a red Volvo.").memory
    store.add("I have a red Skoda.", metadata={"compatible_with": [car.memory_id]})
    sold = store.add("We sold the Volvo.")

    assert sold.against == (car.memory_id,)
    pairs = {pair.ids: pair.evidence for pair in store.conflicts.open().pairs}
    assert pairs[car.memory_id, sold.memory.memory_id] == ("ended: Volvo",)


def test_a_state_that_began_after_an_ending_is_no_conflict(store: MemoryStore) -> None:
    store.add("I left Acme.")
    again = store.add("I work at Acme.")

    assert again.against == ()
    assert not store.conflicts.open().pairs
