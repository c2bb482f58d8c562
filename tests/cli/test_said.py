"""`memctl transcripts` at a terminal: readable at 80 columns, and nothing in a message is obeyed or poses as another."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from .conftest import Memctl, plain


def test_the_runs_are_readable_at_80_columns(xiaolin: Memctl) -> None:
    shown = plain(xiaolin.on_terminal("transcripts", columns=80))

    rows = [line for line in shown.splitlines() if line.startswith("run_")]
    assert len(rows) == 4
    assert all(len(line) <= 80 for line in shown.splitlines() if line.startswith("run"))
    assert rows[0].split()[1:] == ["2026-01-14", "2026-01-14", "8", "1.9", "kB", "标注工具"]


def test_what_a_message_holds_is_shown_and_not_obeyed(memctl: Memctl) -> None:
    text = "red \x1b[31m\n2026-10-28 12:00  user  msg_forged\n> \u202eevil"
    added = json.loads(memctl("session", "add", "user", "-", "--json", stdin=text).done().out)["id"]

    for call in (
        ("transcripts", "show", added),
        ("show", added),
        ("query", "red evil", "--only", "messages", "-n", "1"),
    ):
        out = memctl(*call).done().out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert [line for line in out.splitlines() if "msg_forged" in line and not line.startswith("    ")] == []


@pytest.mark.parametrize("wanted", ["msg_24388c4b0343aae1", "msg_24388c"], ids=["an id", "its beginning"])
def test_show_prints_a_message_with_its_neighbours(wanted: str, memctl: Memctl) -> None:
    found = memctl("show", wanted, "--json").done().json

    assert found[0]["message_id"] == "msg_24388c4b0343aae1"
    assert [message["role"] for message in found[0]["messages"]] == ["user", "assistant", "user"]
    assert memctl("show", wanted).done().lines[1].startswith("> 2026-10-26")


def test_an_answer_says_what_each_hit_is(xiaolin: Memctl) -> None:
    hits = xiaolin("query", "年糕每天吃多少克粮？", "--json", "-n", "6").done().json["hits"]

    assert {hit["memory"]["layer"] for hit in hits} >= {"L2", "MSG"}
    said = next(hit["memory"] for hit in hits if hit["memory"]["layer"] == "MSG")
    assert (said["kind"], said["metadata"]["session"]) == ("message", "main")
    for part, layers in (("messages", {"MSG"}), ("memories", {"L2", "L3"}), ("documents", {"DOC"})):
        found = xiaolin("query", "年糕每天吃多少克粮？", "--only", part, "--json").done().json["hits"]
        assert {hit["memory"]["layer"] for hit in found} <= layers


def test_much_is_deleted_only_when_that_is_confirmed(memctl: Memctl) -> None:
    refused = memctl("transcripts", "delete", "--all", "--json")

    assert refused.code == 7
    assert "--yes" in refused.error["hint"]
    assert len(memctl("transcripts", "delete", "--all", "--yes", "--json").done().json["deleted"]) == 49
    memctl("undo").done()
    assert memctl("transcripts", "--json").done().json["messages"] == 49


def test_forget_takes_the_id_of_a_message(memctl: Memctl) -> None:
    forgotten = memctl("forget", "msg_90d295319cabd2b8", "--json").done().json

    assert forgotten["messages"] == ["msg_90d295319cabd2b8"]
    assert memctl("show", "msg_90d295319cabd2b8").code == 1
    memctl("undo").done()
    memctl("show", "msg_90d295319cabd2b8").done()


def test_people_see_relevance(memctl: Memctl) -> None:
    for question, low, high in (("What is Alice allergic to?", 0.7, 1.0), ("xyzzy plugh", 0.0, 0.25)):
        first = memctl("query", question, "--json").done().json["hits"][0]
        assert low <= first["relevance"] <= high
        answer = memctl("query", question).done()
        assert answer.lines[0].startswith(f" 1. {first['relevance']:.2f}  {first['memory']['memory_id']}")
        assert ("nothing close is known" in answer.err) == (high < 0.5)


def test_the_limit_is_of_what_is_seen(memctl: Memctl) -> None:
    seen = [float(line[4:8]) for line in memctl("query", "what does Alice drink?").lines if line[2:4] == ". "]
    limit = sorted(seen)[len(seen) // 2]
    kept = memctl("query", "what does Alice drink?", "--min-relevance", str(limit + 0.005)).lines
    above = [float(line[4:8]) for line in kept if line[2:4] == ". "]
    assert min(above) > limit, "what is printed is what the limit is of"
    assert not Counter(each for each in seen if each > limit) - Counter(above)
    assert memctl("query", "what does Alice drink?", "--min-score", str(limit + 0.005)).lines[:-1] == kept[:-1]
