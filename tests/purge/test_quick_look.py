"""A quick look says no only where a thorough one finds nothing."""

from __future__ import annotations

import json

import pytest

from memctl.core.text.terms import terms, words
from memctl.providers.builtin import DATA, VOCABULARY_FILE
from memctl.purge.planning import Phrases
from memctl.purge.telling import holds_one_of, marks, passages, written

ENDINGS = ("", "s", "ed", "ing", "ly", "y", "ies", "ization", "ational", "ability", "fulness", "'s", "'ll")


def test_the_beginning_of_a_stem_is_in_every_word_that_has_it() -> None:
    vocabulary = (DATA / VOCABULARY_FILE).read_text("utf-8").split()[::7]
    every = {word + ending for word in vocabulary if word.isascii() and word.isalnum() for ending in ENDINGS}
    every |= {"dying", "lies", "tying", "skies", "o'clock", "rock'n'roll", "v2", "x86s"}
    missed = {word for word in every for stem in terms(word) if not holds_one_of((), (stem,))(word)}
    assert not missed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Zoë's café, 48213", "ZOE\u2019S CAFE\u0301 — 48213"),
        ("Zoë's café, 48213", json.dumps({"a": json.dumps("Zoë’s café 48213")})),
        ("Zibberix is ill", json.dumps({"a": "\nZibberix", "b": "is\nill"})),
        ("Zibberix is ill", '{"a": "Z\\u0069bberix\\tis ill"}'),
        ("Ｚｉｂｂｅｒｉｘ is ill", "zibberix is ill"),
        ("陈大卫得了克罗恩病", json.dumps("陈大卫得了克罗恩病")),
        ("Он умирает от болезни", "он умирает от болезни"),
    ],
)
def test_what_is_written_otherwise_is_not_ruled_out(text: str, said: str) -> None:
    for thing in (said, json.dumps({"text": said}), f"{json.dumps({'text': said})}\n" * 2):
        assert holds_one_of((), marks(text))(thing)
        phrases, whole = Phrases([text]), [each for _, each in passages(thing)]
        assert phrases.concerned(thing) or not any(map(phrases.stand_in, whole))
        assert phrases.stand_within(thing) == any(map(phrases.stand_in, whole))


def test_each_word_of_a_text_stands_in_what_is_written() -> None:
    text = "Don’t say “Ünïcode” twice: Ｆｕｌｌ, İstanbul, \\u0041bc\nΣΑΣ naïve"
    assert all(word in written(text) for word in words(text))
