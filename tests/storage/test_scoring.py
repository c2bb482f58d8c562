"""How candidates are chosen, in every storage."""

from __future__ import annotations

from memctl.storage.entries.scoring import MANY, rarest_words

COUNTS = {"ferry": 3, "boat": MANY, "sea": 2 * MANY, "the": 9 * MANY, "nowhere": 0}


def test_the_rarest_words_are_as_many_as_wanted() -> None:
    assert rarest_words(COUNTS, 9) == ["ferry", "boat", "sea", "the"]
    assert rarest_words(COUNTS, 3) == ["ferry", "boat", "sea"]


def test_a_quick_search_leaves_out_words_that_many_entries_have() -> None:
    assert rarest_words(COUNTS, 9, quick=True) == ["ferry", "boat"]
    assert rarest_words({"the": 9 * MANY, "sea": 2 * MANY, "boat": MANY + 1}, 9, quick=True) == ["boat", "sea"]
    assert rarest_words({"a": 3, "b": 4, "c": 5}, 9, quick=True) == ["a", "b", "c"]
