"""The global options of the command that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Invocation:
    """What `--store`, `--user` and `--json` say. (Not a dataclass: those cost 3 ms at every start.)"""

    store: str | None = None
    user: str | None = None
    json: bool = False


current = Invocation()


def reset() -> None:
    """Forget the options of an earlier command in this process."""
    current.store = current.user = None
    current.json = False


def store_root() -> Path:
    """The store's folder, whether it exists or not."""
    import os
    from pathlib import Path

    from memctl.storage.files import layout

    return layout.find_store(current.store, os.environ, Path.cwd())
