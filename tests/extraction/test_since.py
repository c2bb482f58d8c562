"""Since when a fact holds that is stated more than once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memctl import MemoryStore
from memctl.core.models import ACTIVE
from memctl.extraction.proposals import Utterance

NOW = datetime(2026, 10, 28, 12, tzinfo=UTC)


def said(text: str, days_ago: int) -> Utterance:
    return Utterance("user", text, NOW - timedelta(days=days_ago))


def test_a_fact_holds_since_it_was_stated_first_in_a_conversation(store: MemoryStore) -> None:
    store.extraction.run([said("I live in Graz.", 9), said("As I live in Graz, I ski.", 2)], now=NOW)

    assert [m.valid_from for m in store.all() if m.key == "city"] == [NOW - timedelta(days=9)]


def test_an_older_conversation_that_is_learned_later_dates_a_fact_back(store: MemoryStore) -> None:
    store.extraction.run([said("I live in Graz.", 2)], now=NOW)
    store.extraction.run([said("We live in Graz.", 9)], now=NOW)

    assert [m.valid_from for m in store.all()] == [NOW - timedelta(days=9)]


def test_not_past_another_value(store: MemoryStore) -> None:
    for text, days in (("I live in Graz.", 9), ("I moved to Linz.", 5), ("I moved back to Graz.", 2)):
        store.extraction.run([said(text, days)], now=NOW)
    store.extraction.run([said("We live in Graz.", 8)], now=NOW)

    assert [m.valid_from for m in store.all() if m.status == ACTIVE] == [NOW - timedelta(days=2)]


def test_a_value_ends_when_the_next_begins(store: MemoryStore) -> None:
    store.extraction.run([said("I'm Anna.", 9)], now=NOW)
    store.extraction.run([said("My name is Hanna.", 2)], now=NOW)

    ended, begun = sorted(store.all(), key=lambda m: m.status == ACTIVE)
    assert ended.valid_to == begun.valid_from == NOW - timedelta(days=2)
