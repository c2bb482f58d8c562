"""`memctl postgres`: what only a database has."""

from __future__ import annotations

from typing import Annotated

import typer

from memctl.cli import commands, render
from memctl.cli.invocation import the_database


def distribute(yes: Annotated[bool, typer.Option("--yes", help="Carry the statements out.")] = False) -> None:
    """Distribute the tables among the nodes of Citus, by user.

    Prints the statements; --yes carries them out in one transaction. Needs the owner of the tables, and the extension
    `citus`.

    Example: memctl postgres distribute --store postgresql://owner@db.example.org/agents
    """
    store = the_database("this is about databases", "Name a database: `--store postgresql://OWNER@HOST/DATABASE`.")
    statements = store.distribution()
    if yes:
        store.distribute()
    render.document({"store": store.name, "statements": statements, "done": yes})
    for statement in statements:
        render.say(f"{statement};")
    render.say("done" if yes else "nothing was changed; --yes carries this out, in one transaction")


GROUP = commands.Commands(
    "Distribute a database among many servers.\n\nExample: memctl postgres distribute", {"distribute": distribute}
)
