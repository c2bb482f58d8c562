"""Whether git tracks what memctl keeps for itself: a branch could then bring another's log, and take one's own away."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from memctl.errors import MemctlError, RefusedError
from memctl.files import atomic, watermark
from memctl.files.layout import PRIVATE, UserFolder


def refuse_tracked(folder: UserFolder) -> None:
    """Go on only if git does not track `.memctl/`. Git is asked once for each state of its index.

    Raises:
        RefusedError: it does, with the command that ends it.
    """
    stamp = _index_stamp(folder.root)
    if not stamp or stamp == watermark.of(folder).untracked:
        return
    if _tracked(folder.root):
        raise RefusedError(
            f"git tracks {PRIVATE} in {folder.root}: a branch would change what memctl keeps for this machine alone",
            hint=f"Take it out of git, it stays on disk: git -C {folder.root} rm -r --cached {PRIVATE} && git commit",
        )
    watermark.note(folder, untracked=stamp)


def _tracked(root: Path) -> bool:
    from memctl.git import process  # only where the index of git has changed

    try:
        return bool(process.run(root, "ls-files", "-z", "--", f":(icase){PRIVATE}").stdout)
    except MemctlError:
        return False  # no git, or a repository that memctl runs none in: what arrives by it is not believed anyway


def _index_stamp(root: Path) -> str:
    """What tells one state of the index of the repository around a folder from another; empty where there is none."""
    for place in (root, *root.parents):
        git = place / ".git"
        if os.path.lexists(git):
            try:
                found = (_linked(git) / "index").stat()
            except OSError:
                return ""
            if not stat.S_ISREG(found.st_mode):
                return ""  # a pipe, which git would wait for
            return f"{git}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"
    return ""


def _linked(git: Path) -> Path:
    """Git's own folder; in a worktree or a submodule, a file says where it is."""
    if git.is_dir():
        return git
    with open(git, "rb", opener=atomic.regular) as file:
        return git.parent / os.fsdecode(file.read(4096).removeprefix(b"gitdir:").strip())
