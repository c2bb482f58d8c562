"""The whole command line: which command lives where. A command's module is imported when the command is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from memctl.cli import options

HELP = """A local, file-based memory for AI agents.

Memories live in plain files you can read, edit and keep in git; asking them takes milliseconds and no network.

Example: memctl add "Alice prefers tea" --category preference; memctl query "what does Alice drink?"
"""

PANELS: Mapping[str, Mapping[str, str]] = {
    "Everyday": {
        "init": "everyday:init",
        "add": "everyday:add",
        "query": "asking:query",
        "show": "asking:show",
        "list": "asking:list_memories",
        "edit": "everyday:edit",
        "forget": "everyday:forget",
        "restore": "everyday:restore",
        "undo": "history:undo",
        "redo": "history:redo",
        "feedback": "learning:feedback",
        "context": "context:context",
    },
    "Life of memories": {
        "confirm": "learning:confirm",
        "reject": "learning:reject",
        "reflect": "life:reflect",
        "consolidate": "consolidating:consolidate",
        "decay": "life:decay",
        "maintain": "life:maintain",
        "conflicts": "conflicts:GROUP",
    },
    "Agents": {
        "session": "sessions:GROUP",
        "transcripts": "transcripts:GROUP",
        "task": "tasks:GROUP",
        "strategy": "strategies:GROUP",
        "knowledge": "knowledge:GROUP",
        "mcp": "mcp:GROUP",
    },
    "Looking": {
        "inspect": "looking:inspect",
        "log": "looking:log",
        "diff": "history:diff",
        "eval": "evaluate:evaluate",
    },
    "Care": {
        "sync": "care:sync",
        "doctor": "care:doctor",
        "reindex": "care:reindex",
        "import": "care:import_",
        "export": "care:export",
        "git": "git:GROUP",
        "user": "users:GROUP",
        "config": "settings:CONFIG",
        "state": "state:GROUP",
        "model": "models:MODEL",
    },
}
"""Panel → command → module and name of its function, or of its `options.Commands` where it is a group."""

SYNONYMS: Mapping[str, str] = {
    "search": "query", "recall": "query", "find": "query", "remember": "add", "delete": "forget", "rm": "forget",
    "remove": "forget", "ls": "list",
}  # fmt: skip
"""What people type who know other tools; in no list."""


class Root(options.Group):
    """The group of all commands, each made when it is asked for: building all of them costs a third of a cold start."""

    listing = False
    """Whether what is asked for is only to be listed, for which its name and its summary will do."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for panel in PANELS.values() for name in panel]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for panel, commands in PANELS.items():
            if cmd_name in commands:
                return (_listed if self.listing else _made)(cmd_name, commands[cmd_name], panel)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        args = self._without_help(ctx, args)
        name = SYNONYMS.get(args[0], args[0])
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = dict.fromkeys(SYNONYMS.get(each, each) for each in get_close_matches(name, self._words(ctx), 3))
            ctx.fail(f"no command {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
        return super().resolve_command(ctx, [name, *args[1:]])

    def _without_help(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with `help COMMAND` as `COMMAND --help`; `help` alone is answered here."""
        if args == ["help"]:
            typer.echo(ctx.get_help())
            ctx.exit()
        return [*args[1:], "--help"] if args[0] == "help" else args

    def _words(self, ctx: Any) -> list[str]:
        return [*self.list_commands(ctx), *SYNONYMS]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self.listing = False

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Plain help, by panel, from the docstrings."""
        for panel, commands in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(name, _summary(target)) for name, target in commands.items()])


def _target(target: str) -> Callable[..., Any] | options.Commands:
    module, _, name = target.partition(":")
    found: Callable[..., Any] | options.Commands = getattr(import_module(f"memctl.cli.{module}"), name)
    return found


def _summary(target: str) -> str:
    found = _target(target)
    text = found.help if isinstance(found, options.Commands) else found.__doc__ or ""
    return text.strip().split("\n", 1)[0]


def _listed(name: str, target: str, panel: str) -> TyperCommand:
    """A command as far as a list shows it."""
    return TyperCommand(name, help=options.as_typed(_summary(target)), rich_help_panel=panel)


@cache
def _made(name: str, target: str, panel: str) -> Any:
    found = _target(target)
    if isinstance(found, options.Commands):
        made = options.made_group(name, found)
    else:
        made = options.made_command(name, found)
    made.rich_help_panel = panel
    return made


def command() -> Any:
    """The root of the command line."""
    options.reset()
    app = options.typer_app(HELP, Root, add_completion=True)
    app.callback()(_root)
    return typer.main.get_command(app)


def _root(
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    """`--version` is answered before any of this is imported; here it stands for the help."""
