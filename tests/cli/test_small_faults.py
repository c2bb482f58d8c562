"""Small faults that people met: what is left out and named, what is noted and said, what is not installed in vain."""

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


def test_a_server_that_cannot_start_is_not_installed(memctl: Memctl) -> None:
    broken = memctl.root / "modules" / "mcp"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('the extra is missing')\n")

    where = {"PYTHONPATH": str(broken.parent)}
    failed = memctl.process("mcp", "install", "cursor", "--write", environment=where)
    assert failed.code == 8
    assert "the MCP SDK cannot be loaded" in failed.err
    assert not list(memctl.home.rglob("mcp.json"))
    memctl.process("mcp", "install", "cursor", environment=where).done()
    memctl.process("mcp", "install", "cursor", "--write").done()
    assert list(memctl.home.rglob("mcp.json"))


def test_maintain_says_what_it_notes(memctl: Memctl) -> None:
    memctl("maintain", "--skip", "sessions").done()
    memctl("query", "what does Alice drink?").done()
    step = next(each for each in memctl("maintain", "--json").done().json["steps"] if each["step"] == "decay")
    assert step["done"] == ["memories whose uses were counted: 1"]
    assert memctl("log", "-n", "1").done().lines[0].split("\t")[1] == "decay"
