"""`memctl user`: who has memories here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from memctl.cli import options, render
from memctl.cli.options import current
from memctl.core.names import check_user_name


def list_users() -> None:
    """List the users of the store.

    Example: memctl user list
    """
    from memctl.errors import NotFoundError
    from memctl.storage.files import layout

    root = options.store_root()
    names = layout.users(root)
    if not names and not (root / layout.CONFIG_NAME).exists():
        raise NotFoundError(f"there is no memory store in {root}", hint="Make one with `memctl init`.")
    if current.json:
        render.as_json(names)
    render.table(("user",), [(name,) for name in names])


def add(name: Annotated[str, typer.Argument(help="The new user's name.", metavar="NAME")]) -> None:
    """Make a folder for a user.

    Example: memctl user add bob
    """
    from memctl.errors import RefusedError
    from memctl.storage.files import layout

    root = options.store_root()
    if check_user_name(name) in layout.users(root):
        raise RefusedError(f"there is a user {name!r} already in {root}")
    folder = layout.create_user(root, name)
    if current.json:
        render.as_json({"user": folder.name, "folder": str(folder.root)})
    render.say(f"made {folder.root}")


def remove(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The user to remove.",
            autocompletion=options.complete_user,
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a user with all memories, for good.

    Example: memctl user remove bob --yes
    """
    import shutil

    from memctl.errors import RefusedError
    from memctl.storage.files import layout, lock

    folder = layout.find_user(options.store_root(), name)
    if folder.root.is_symlink():
        raise RefusedError(f"{folder.root} is a link to another folder", hint="Remove the link itself with `rm`.")
    if not yes:
        if not sys.stdin.isatty():
            raise RefusedError(f"removing {name!r} cannot be undone, so it must be confirmed", hint="Add --yes.")
        render.must_confirm(f"Remove {folder.root} with everything in it? This cannot be undone.")
    with lock.exclusive(folder.lock, timeout=10):
        shutil.rmtree(folder.root)
    if current.json:
        render.as_json({"removed": name})
    render.say(f"removed {folder.root}")


GROUP = options.Commands(
    "List, add and remove users.\n\nExample: memctl user add bob",
    {"list": list_users, "add": add, "remove": remove},
)
