"""Puts the groups of commands together."""

from __future__ import annotations

from typing import Any

import typer

from memctl.cli import options

HELP = """A local, file-based memory for AI agents.

Memories live in plain files you can read, edit and keep in git; asking them takes milliseconds and no network.

Example: memctl add "Alice prefers tea" --category preference; memctl query "what does Alice drink?"
"""


def command() -> Any:
    """The whole command line."""
    from memctl.cli import care, everyday, life, looking, settings, users

    options.reset()
    app = options.group(HELP, add_completion=True)
    app.callback()(_root)
    for module in (everyday, life, looking, care):
        module.register(app)
    users.register(app)
    settings.register(app)
    return typer.main.get_command(app)


def _root(
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    """`--version` is answered before any of this is imported; here it stands for the help."""
