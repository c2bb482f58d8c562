"""What people type: other tools' names of commands, days by name, lists of tags, ids by their ends."""

from __future__ import annotations

import pytest

from memctl.cli.app import PANELS, SYNONYMS

from .conftest import Memctl


def test_synonyms_do_what_the_command_does(memctl: Memctl) -> None:
    added = memctl("remember", "The spare key is with Mrs Okafor", "--json").done().json["memory"]["memory_id"]

    for name in ("search", "recall", "find"):
        hits = memctl(name, "who has the spare key?", "--json").done().json["hits"]
        assert hits[0]["memory"]["memory_id"] == added
    assert memctl("ls", "-n", "1").lines[0].startswith(added)
    for name in ("rm", "delete", "remove"):
        assert memctl(name, added).done().lines[0].startswith(f"forgot {added}")
        memctl("undo").done()


@pytest.mark.parametrize(("synonym", "name"), SYNONYMS.items())
def test_help_of_a_synonym_names_the_command(synonym: str, name: str, nowhere: Memctl) -> None:
    assert name in [each for panel in PANELS.values() for each in panel]
    expected = nowhere.process(name, "--help").done().out
    assert nowhere.process(synonym, "--help").done().out == expected
    assert nowhere.process("help", synonym).done().out == expected


def test_help_is_a_command(nowhere: Memctl) -> None:
    assert nowhere.process("help").done().out == nowhere.process("--help").out
    assert nowhere.process("help", "task", "start").out == nowhere.process("task", "start", "--help").out
    assert nowhere("help", "nonsense").code == 2


@pytest.mark.parametrize(
    ("typed", "meant"), [("serach", "query"), ("qeury", "query"), ("remembr", "add"), ("lst", "list")]
)
def test_a_slip_is_understood(typed: str, meant: str, nowhere: Memctl) -> None:
    failed = nowhere(typed, "x")

    assert failed.code == 2
    assert f"did you mean {meant}" in failed.err


def test_tags_in_one_option_are_several(memctl: Memctl) -> None:
    added = memctl.add("x marks the spot", "--tag", "maps, pirates", "--tag", "maps")

    assert memctl.memory(added)["tags"] == ["maps", "pirates"]
    assert memctl.ids("--tag", "maps,pirates") == [added]


def test_tomorrow(memctl: Memctl) -> None:
    added = memctl.add("The dentist is at nine", "--expires-at", "tomorrow")

    assert memctl.memory(added)["expires_at"] == "2026-10-29T00:00:00Z"
    assert added in memctl.ids("--since", "yesterday", "--until", "tomorrow")
