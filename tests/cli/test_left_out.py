"""A folder or a file in which one text looks like a secret: the rest comes in, and what is left out is named."""

from __future__ import annotations

import json

from .conftest import Memctl

SECRET = 'db_password = "Dragon!4711"'


def test_an_import_keeps_the_rest(empty: Memctl) -> None:
    lines = [{"text": "Clara keeps bees"}, {"text": SECRET}, {"text": "Ben runs on Sundays"}]
    given = "\n".join(json.dumps(line) for line in lines)

    for number, command in enumerate((("import", "-"), ("add", "--jsonl", "-")), 1):
        done = empty(*command, stdin=given.replace("Sundays", f"day {number}").replace("bees", f"{number} bees")).done()
        assert done.lines[0].startswith("2 added")
        assert "left out: <stdin>:2: the text holds what looks like a password" in done.err
    found = empty("import", "-", "--json", stdin=given).done().json
    assert found["counts"]["added"] == 2
    assert found["left_out"] == ["<stdin>:2: the text holds what looks like a password"]
    assert SECRET not in empty.memory_file.read_text()


def test_nothing_is_left_of_an_import(empty: Memctl) -> None:
    refused = empty("import", "-", stdin=json.dumps({"text": SECRET}))

    assert refused.code == 7
    assert "nothing was imported" in refused.err


def test_a_folder_of_documents_keeps_the_rest(empty: Memctl) -> None:
    folder = empty.root / "guides"
    folder.mkdir()
    (folder / "example.md").write_text(f"# Settings\n\n    {SECRET}\n")
    (folder / "good.md").write_text("# Bees\n\nClara keeps bees.\n")
    (folder / "install.rst").write_text("Installing\n==========\n\nUnpack the moon lander first.\n")

    planned = empty("knowledge", "add", str(folder), "--dry-run", "--json").done().json
    added = empty("knowledge", "add", str(folder)).done()
    assert [each["path"] for each in planned["documents"]] == [
        "knowledge/guides/good.md",
        "knowledge/guides/install.rst",
    ]
    assert "left out example.md: line 3 holds what looks like a password" in added.lines
    assert not (empty.folder / "knowledge" / "guides" / "example.md").exists()
    assert "guides/install.rst:1  Installing" in empty("query", "moon lander").done().out
    alone = empty("knowledge", "add", str(folder / "example.md"))
    assert (alone.code, "example.md:3" in alone.err) == (7, True)
    assert empty("knowledge", "add", str(folder), "--allow-secret", "--json").done().json["skipped"] == []
