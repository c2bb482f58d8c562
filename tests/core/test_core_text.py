"""Rules for texts in natural language."""

from __future__ import annotations

import time

import pytest

from memctl.core.text.language import has_chinese, language_of
from memctl.core.text.sentences import sentences, spans


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "en"),
        ("Deploy with PostgreSQL", "en"),
        ("用 PostgreSQL 部署", "zh"),
        ("用 Docker Compose 部署", "zh"),
        ("2026年11月21日开会", "zh"),
        ("连接失败: user_id", "zh"),
        ("I met 王小明 yesterday", "en"),
        ("The character 猫 means cat", "en"),
        ("Ça coûte 20 €", "en"),
        ("Привет, мир", "en"),
    ],
)
def test_a_text_is_in_the_language_of_most_of_its_words(text: str, language: str) -> None:
    assert language_of(text) == language


def test_several_texts_are_in_the_language_of_all_of_them() -> None:
    assert language_of("Use PostgreSQL", "用数据库部署") == "zh"
    assert language_of() == "en"


def test_chinese_characters_are_found_among_others() -> None:
    assert has_chinese("The character 猫")
    assert not has_chinese("Ça")


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Okafor works at Acme Corp. in Oslo.|She is nice.",
        "I work at Acme Inc.|My boss is Al.|He is 3.5 m tall.",
        "J. R. R. Tolkien wrote it.|John F. Kennedy read it.",
        "In the U.S. it rains.|U.S. rain is wet.|I was in the U.S.|It rained.",
        "At 5 p.m. on Jan. 5.|The sun.|Alice came.",
        "Smith et al. found it, e.g. here (i.e. there).|No. 5 is alive.|No.|Never.",
        "Vitamin C.|It helps.",
        "1. Buy milk.|2. Sell it.",
        "See https://example.com/c?q=1.|Then go!|What?!|Use 3.11.2.",
        "i live in Berlin.|my dog is Rex.",
        "Wait... what?|Wait...|What?|Well… yes.",
        'He said "Stop!" and left.|He said "Go."|"No," (she said.)|Then he left.',
        "我住在上海！|真的？|“好。”|他说。|我……|不知道；|好",
        "Hi!|我住在上海",
        "one\n|two\n\n\n|three",
    ],
)
def test_a_text_ends_its_sentences_where_a_reader_does(text: str) -> None:
    wanted = text.split("|")
    assert sentences(" ".join(wanted)) == [one.strip() for one in wanted]
    whole = " ".join(wanted)
    assert [" ".join(whole[begin:end].split()) for begin, end in spans(whole)] == sentences(whole)


@pytest.mark.parametrize("piece", [".", ". ", "\n", ".'", " ", "…", "a.b.", "! ", "Dr. "])
def test_sentences_take_time_in_proportion_to_the_text(piece: str) -> None:
    begun = time.process_time()
    sentences(piece * 50_000 + "x")
    assert time.process_time() - begun < 5
