"""`init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.models import TyperPath

from memctl.cli import render
from memctl.cli.invocation import current, store_root
from memctl.core.names import check_user_name


def init(
    directory: Annotated[
        str | None,  # as typed: a Path would make `./x` and `x` the same
        typer.Argument(
            help="The store's folder; --store and its default otherwise.",
            metavar="[DIR]",
            click_type=TyperPath(path_type=str),
        ),
    ] = None,
    git: Annotated[bool, typer.Option("--git", help="Also prepare it for git, as `memctl git init` does.")] = False,
) -> None:
    """Create a store and a user.

    Example: memctl init ~/memories --user alice --git
    """
    import os
    import shlex

    from memctl import config
    from memctl.git import installation
    from memctl.storage.files import layout

    current.store = directory or current.store
    root = store_root()
    name = current.user or os.environ.get(layout.USER_VARIABLE) or config.load(root).user or _login_name()
    check_user_name(name)
    new = create_settings(root)
    folder = layout.create_user(root, name)
    repository, new_repository, written = installation.initialise_one(folder) if git else (None, False, [])
    render.document({"store": str(root), "user": folder.name, "folder": str(folder.root), "git_files": written})
    render.say(f"{'created' if new else 'found'} the store {root}")
    render.say(f"user {folder.name}: {folder.memory_file}")
    if written:
        render.say(f"for git: {', '.join(written)}")
    if repository:
        render.say(f"{'created' if new_repository else 'found'} the repository {repository}")
    several = f" --user {folder.name}" if len(layout.users(root)) > 1 else ""
    render.say(f'next: memctl --store {shlex.quote(str(root))}{several} add "something to remember"')


_CONFIG = "# Settings of this memctl store. Every one is optional; `memctl config` lists them all.\n"


def create_settings(root: Path) -> bool:
    """Write an empty settings file, unless there is one; whether it was written."""
    from memctl.storage.files import atomic, layout

    return atomic.create(root / layout.CONFIG_NAME, _CONFIG.encode())


def _login_name() -> str:
    import getpass

    from memctl.errors import MemctlError

    try:
        return check_user_name(getpass.getuser())
    except (OSError, KeyError, MemctlError):
        return "me"
