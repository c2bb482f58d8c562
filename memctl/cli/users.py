"""`memctl user`: the users of a store."""

from __future__ import annotations

from typing import Annotated

import typer

from memctl.cli import choices, commands, options, render
from memctl.cli.invocation import store_root
from memctl.core.names import check_user_name


def list_users() -> None:
    """List the users of the store.

    Example: memctl user list
    """
    from memctl.errors import NotFoundError
    from memctl.storage.files import layout

    root = store_root()
    names = layout.users(root)
    if not names and not (root / layout.CONFIG_NAME).exists():
        raise NotFoundError(f"there is no memory store in {root}", hint="Create one with `memctl init`.")
    render.document(names)
    render.table(("user",), [(name,) for name in names])


def add(name: Annotated[str, typer.Argument(help="The new user's name.", metavar="NAME")]) -> None:
    """Create the folder of a user.

    Example: memctl user add bob
    """
    from memctl.errors import RefusedError
    from memctl.storage.files import layout

    root = store_root()
    if check_user_name(name) in layout.users(root):
        raise RefusedError(f"{root} already has a user {name!r}")
    folder = layout.create_user(root, name)
    render.document({"user": folder.name, "folder": str(folder.root)})
    render.say(f"created {folder.root}")


def remove(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The user to remove.", autocompletion=choices.user),
    ],
    yes: options.Yes = False,
) -> None:
    """Remove a user with all memories, for good.

    Example: memctl user remove bob --yes
    """
    import shutil

    from memctl.errors import RefusedError
    from memctl.storage.files import layout, lock

    folder = layout.find_user(store_root(), name)
    if folder.root.is_symlink():
        raise RefusedError(f"{folder.root} is a link to another folder", hint="Remove the link itself with `rm`.")
    question = f"Remove {folder.root} with everything in it? This cannot be undone."
    render.confirm(question, f"removing {name!r} cannot be undone", yes=yes)
    with lock.exclusive(folder.lock, timeout=10):
        shutil.rmtree(folder.root)
    render.document({"removed": name})
    render.say(f"removed {folder.root}")


GROUP = commands.Commands(
    "List, add and remove users.\n\nExample: memctl user add bob",
    {"list": list_users, "add": add, "remove": remove},
)
