"""The configuration of MCP clients: put in without touching anything else, once, with the file of before kept."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.agent import clients
from memctl.errors import InvalidDataError, MemctlError, RefusedError

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
ARGUMENTS = ("--store", "/home/小林/my memories", "--user", "小林", "mcp")
JSON_CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode")

every = pytest.mark.parametrize("client", clients.CLIENTS)


def server(client: str) -> dict[str, Any]:
    return clients.entry(client, "/opt/memctl", ARGUMENTS)


def read(client: str, text: str) -> Any:
    return tomllib.loads(text) if client == "codex" else json.loads(text)


@every
@pytest.mark.parametrize(("platform", "home"), [("linux", ".config"), ("darwin", "Library/Application Support")])
def test_where_a_client_keeps_its_servers(client: str, platform: str, home: str):
    path = str(clients.config_path(client, {"HOME": "/home/alice"}, platform))
    assert (
        path
        == {
            "claude-code": "/home/alice/.claude.json",
            "claude-desktop": f"/home/alice/{home}/Claude/claude_desktop_config.json",
            "cursor": "/home/alice/.cursor/mcp.json",
            "codex": "/home/alice/.codex/config.toml",
            "vscode": f"/home/alice/{home}/Code/User/mcp.json",
        }[client]
    )


def test_places_named_by_the_environment():
    environment = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "CODEX_HOME": "/x"}
    assert str(clients.config_path("vscode", environment, "linux")) == "/c/Code/User/mcp.json"
    assert str(clients.config_path("codex", environment, "linux")) == "/x/config.toml"


@every
def test_a_new_file(client: str, tmp_path: Path):
    path = tmp_path / "deep" / "file"
    change = clients.edit(client, path, server(client))
    assert clients.write(change, NOW) is None
    held = read(client, path.read_text("utf-8"))
    assert held == {clients.CLIENTS[client].key: {"memctl": server(client)}}
    assert not clients.edit(client, path, server(client)).needed
    assert [found.name for found in path.parent.iterdir()] == ["file"]


@every
def test_an_existing_file_keeps_everything_else(client: str, tmp_path: Path):
    path = tmp_path / "file"
    key = clients.CLIENTS[client].key
    before = (
        f'# mine\nmodel = "o"  # the best\n\n[{key}.other]\ncommand = "x"\n\n[profiles.a]\nn = 1.50\n'
        if client == "codex"
        else json.dumps({"a": "é", key: {"other": {"command": "x"}}, "z": [1, 2]}, indent="\t", ensure_ascii=False)
    )
    path.write_text(before, "utf-8")
    path.chmod(0o640)
    backup = clients.write(clients.edit(client, path, server(client)), NOW)
    assert backup
    assert backup.read_text("utf-8") == before
    after = path.read_text("utf-8")
    wanted = read(client, before)
    wanted[key]["memctl"] = server(client)
    assert read(client, after) == wanted
    assert path.stat().st_mode & 0o777 == 0o640
    if client == "codex":
        assert after.startswith(before)
    else:
        assert "\n\t" in after
        assert list(json.loads(after)) == ["a", key, "z"]
    assert not clients.edit(client, path, server(client)).needed


@every
def test_a_changed_entry_is_brought_up_to_date_and_keeps_what_a_person_added(client: str, tmp_path: Path):
    path = tmp_path / "file"
    old = clients.entry(client, "/old/memctl", ("mcp",))
    clients.write(clients.edit(client, path, old), NOW)
    text = path.read_text("utf-8")
    if client == "codex":
        text = (
            f"{text}startup_timeout_sec = 20  # slow disk\n\n[mcp_servers.memctl.env]\nA = '1'\n\n[x]\ncommand = 'y'\n"
        )
    else:
        whole = json.loads(text)
        whole[clients.CLIENTS[client].key]["memctl"]["env"] = {"A": "1"}
        text = json.dumps(whole)
    path.write_text(text, "utf-8")
    change = clients.edit(client, path, server(client))
    clients.write(change, NOW)
    held = read(client, path.read_text("utf-8"))
    assert held[clients.CLIENTS[client].key]["memctl"] == {
        **server(client),
        "env": {"A": "1"},
        **({"startup_timeout_sec": 20} if client == "codex" else {}),
    }
    if client == "codex":
        assert held["x"] == {"command": "y"}
        assert "# slow disk" in path.read_text("utf-8")
    assert not clients.edit(client, path, server(client)).needed
    assert "/old/memctl" in change.diff
    assert "+" in change.diff


BROKEN = ('{"mcpServers": {', '{\n  // a comment\n  "servers": {}\n}', "[]", '"text"', "{'a': 1}")


@pytest.mark.parametrize("client", JSON_CLIENTS)
@pytest.mark.parametrize("text", BROKEN)
def test_what_cannot_be_understood_is_left_alone(client: str, text: str, tmp_path: Path):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InvalidDataError) as told:
        clients.edit(client, path, server(client))
    assert "by hand" in told.value.hint
    assert path.read_text() == text


@pytest.mark.parametrize(
    "text", ["[broken", 'mcp_servers = {other = {command = "x"}}', "mcp_servers = 5", "[[mcp_servers]]\na = 1"]
)
def test_toml_of_another_form_is_left_alone(text: str, tmp_path: Path):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(MemctlError) as told:
        clients.edit("codex", path, server("codex"))
    assert "by hand" in told.value.hint
    assert path.read_text() == text


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_servers_of_another_form_are_left_alone(client: str, tmp_path: Path):
    path = tmp_path / "file"
    path.write_text(json.dumps({clients.CLIENTS[client].key: ["x"]}))
    with pytest.raises(RefusedError):
        clients.edit(client, path, server(client))


def test_half_a_character_stays_an_escape(tmp_path: Path):
    path = tmp_path / "file"
    path.write_text('{"a": "\\ud83d"}')
    clients.write(clients.edit("cursor", path, server("cursor")), NOW)
    assert json.loads(path.read_text("utf-8"))["a"] == "\ud83d"


def test_bytes_that_are_no_text(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(InvalidDataError):
        clients.edit("cursor", path, server("cursor"))


def test_a_file_that_another_program_changed_meanwhile(tmp_path: Path):
    path = tmp_path / "file"
    path.write_text("{}")
    change = clients.edit("cursor", path, server("cursor"))
    path.write_text('{"new": 1}')
    with pytest.raises(RefusedError):
        clients.write(change, NOW)
    assert path.read_text() == '{"new": 1}'


def test_a_linked_file_stays_a_link(tmp_path: Path):
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    backup = clients.write(clients.edit("cursor", link, server("cursor")), NOW)
    assert link.is_symlink()
    assert backup
    assert backup.parent == real.parent
    assert "memctl" in json.loads(real.read_text())["mcpServers"]


names = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=6)
plain = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text()
documents = st.dictionaries(names, st.recursive(plain, lambda v: st.lists(v) | st.dictionaries(names, v), max_leaves=6))


@given(documents, st.dictionaries(names, documents), st.sampled_from(["  ", "\t", "    ", None]))
def test_json_is_changed_in_one_place(whole: dict[str, Any], others: dict[str, Any], indent: str | None):
    document = {**whole, "mcpServers": others}
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    after = clients.in_json(text, "mcpServers", server("cursor"), Path("x"))
    assert json.loads(after) == {**document, "mcpServers": {**others, "memctl": server("cursor")}}
    assert clients.in_json(after, "mcpServers", server("cursor"), Path("x")) == after
