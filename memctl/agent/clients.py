"""The configuration files of MCP clients: where they are, and how to add memctl to them.

The files belong to the user: only memctl's own entry changes, a backup is kept next to the file, and a file that cannot
be parsed is not touched.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memctl.errors import InvalidDataError, RefusedError
from memctl.storage.files import atomic, opening

NAME = "memctl"
"""The server's name in every client."""


@dataclass(frozen=True)
class Client:
    """An MCP client.

    Args:
        title: its display name.
        key: the field or table that holds the servers.
        typed: whether an entry needs the type `stdio`.
        after: what to do once the entry is written.
    """

    name: str
    title: str
    key: str
    typed: bool
    after: str


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", "mcpServers", True, "Start a new session; `/mcp` shows the server."),
        Client("claude-desktop", "Claude Desktop", "mcpServers", False, "Quit Claude Desktop and start it again."),
        Client("cursor", "Cursor", "mcpServers", False, "Settings → MCP shows the server."),
        Client("codex", "Codex", "mcp_servers", False, "Start a new session; `/mcp` shows the server."),
        Client("vscode", "VS Code", "servers", True, "`MCP: List Servers` in the command palette shows it."),
    )
}


@dataclass(frozen=True)
class Edit:
    """A change of a client's file: its text before (None if there is no file) and after."""

    path: Path
    before: str | None
    after: str

    @property
    def needed(self) -> bool:
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty if there is none."""
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        lines = (line if line.endswith("\n") else f"{line}\n" for line in difflib.unified_diff(old, new, n=2))
        return "".join(list(lines)[2:])


def config_path(client: str, environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The file in which a client keeps the user's servers.

    Args:
        platform: as `sys.platform`; `darwin` has a different folder for applications.
    """
    home = Path(environment.get("HOME") or Path.home())
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    applications = home / "Library" / "Application Support" if platform == "darwin" else config
    places = {
        "claude-code": home / ".claude.json",
        "claude-desktop": applications / "Claude" / "claude_desktop_config.json",
        "cursor": home / ".cursor" / "mcp.json",
        "codex": Path(environment.get("CODEX_HOME") or home / ".codex") / "config.toml",
        "vscode": applications / "Code" / "User" / "mcp.json",
    }
    return places[client]


def entry(client: str, command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """A client's entry for the server."""
    typed = {"type": "stdio"} if CLIENTS[client].typed else {}
    return {**typed, "command": command, "args": list(arguments)}


def snippet(client: str, server: Mapping[str, Any]) -> str:
    """A file that holds only the entry."""
    return _toml(server) if client == "codex" else _json_text({CLIENTS[client].key: {NAME: server}}, "  ")


def edit(client: str, path: Path, server: Mapping[str, Any]) -> Edit:
    """The change that adds the entry to the client's file; no change if the entry is there already.

    Raises:
        InvalidDataError: the file cannot be parsed.
        RefusedError: it keeps the servers in a form that memctl does not edit.
        StorageError: it cannot be read.
    """
    data = opening.read_given(path)
    try:
        before = None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidDataError("is not valid UTF-8", path=str(path), hint=_BY_HAND) from None
    if before is None or not before.strip():
        return Edit(path, before, snippet(client, server))
    changed = _in_toml if client == "codex" else in_json
    return Edit(path, before, changed(before, CLIENTS[client].key, server, path))


def write(change: Edit, now: datetime) -> Path | None:
    """Write a change.

    Returns:
        the backup of the file; None if there was no file.

    Raises:
        RefusedError: the file has changed in the meantime.
        StorageError: it cannot be written; nothing was changed.
    """
    real = change.path.resolve()  # such files are often links
    data = opening.read_given(real)
    if data != (None if change.before is None else change.before.encode()):
        raise RefusedError(f"{change.path} has just been changed by another program", hint="Run the command again.")
    backup = None
    if data is not None:
        backup = real.with_name(f"{real.name}.before-memctl-{now:%Y%m%d%H%M%S}")
        atomic.replace(backup, data)
    atomic.replace(real, change.after.encode())
    return backup


_BY_HAND = "Add the entry by hand: without --write the command prints it."


# JSON


def in_json(before: str, key: str, server: Mapping[str, Any], path: Path) -> str:
    parsed = _parsed(before, path)
    servers = parsed.get(key, {})
    if not isinstance(servers, dict):
        raise RefusedError(f"{key!r} in {path} is not an object", hint=_BY_HAND)
    if servers.get(NAME) == server:
        return before
    # Keep what the user added to the entry (variables, permissions).
    entry = servers.get(NAME)
    merged = {**(entry if isinstance(entry, dict) else {}), **server}
    if merged == entry:
        return before
    indent = re.search(r"^([ \t]+)\S", before, re.MULTILINE)
    text = _json_text({**parsed, key: {**servers, NAME: merged}}, indent[1] if indent else "  ")
    return text if before.endswith("\n") else text.rstrip("\n")


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise InvalidDataError("is nested too deeply", path=str(path), hint=_BY_HAND) from None
    except json.JSONDecodeError as problem:
        place = {"line": problem.lineno, "column": problem.colno}
        hint = f"It may hold comments. {_BY_HAND}"
        raise InvalidDataError(f"is not plain JSON ({problem.msg})", path=str(path), hint=hint, **place) from None
    if not isinstance(value, dict):
        raise InvalidDataError("is not a JSON object", path=str(path), hint=_BY_HAND)
    return value


def _json_text(value: Any, indent: str) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    half = any("\ud800" <= character <= "\udfff" for character in text)  # escaped surrogates stay escaped
    return (json.dumps(value, indent=indent) if half else text) + "\n"


# TOML

_HEADER = re.compile(r"^[ \t]*\[[^\n]*$", re.MULTILINE)


def _in_toml(before: str, key: str, server: Mapping[str, Any], path: Path) -> str:
    """Append the table, or replace its two lines. The result is checked by parsing it."""
    parsed = _parsed_toml(before, path)
    tables = parsed.get(key, {})
    entry = tables.get(NAME) if isinstance(tables, dict) else None
    merged = {**(entry if isinstance(entry, dict) else {}), **server}
    if entry == merged:
        return before
    after = _with_lines(before, server) if entry else f"{before.rstrip()}\n\n{_toml(server)}"
    try:
        good = tomllib.loads(after) == {**parsed, key: {**tables, NAME: merged}}
    except (tomllib.TOMLDecodeError, TypeError):
        good = False
    if not good:
        raise RefusedError(f"{path} keeps its servers in a form that memctl does not edit", hint=_BY_HAND)
    return after


def _parsed_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InvalidDataError(f"is not valid TOML ({problem})", path=str(path), hint=_BY_HAND) from None


def _toml(server: Mapping[str, Any]) -> str:
    # JSON's strings and lists of strings are valid TOML.
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in server.items())
    return f"[mcp_servers.{NAME}]\n{''.join(lines)}"


def _with_lines(before: str, server: Mapping[str, Any]) -> str:
    """The text with the values of the table replaced; other lines and comments are kept."""
    start = re.search(rf"^[ \t]*\[mcp_servers\.{NAME}\][^\n]*\n?", before, re.MULTILINE)
    if start is None:
        return before
    after = _HEADER.search(before, start.end())
    end = after.start() if after else len(before)
    body = before[start.end() : end]
    for name, value in server.items():
        line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        old = re.search(rf"^[ \t]*{name}[ \t]*=[^\n]*$", body, re.MULTILINE)
        body = body[: old.start()] + line + body[old.end() :] if old else f"{line}\n{body}"
    return before[: start.end()] + body + before[end:]
