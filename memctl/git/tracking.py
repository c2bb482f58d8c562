"""Whether git tracks what memctl keeps for itself: a branch could then bring another's log, and take one's own away;
and whether it tracks transcripts that nobody on this machine put there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from memctl.errors import MemctlError, RefusedError
from memctl.storage.files import atomic, transcripts, watermark
from memctl.storage.files.layout import PRIVATE, UserFolder


def refuse_tracked(folder: UserFolder) -> None:
    """Go on only if git does not track `.memctl/`. Git is asked once for each state of its index.

    Raises:
        RefusedError: it does, with the command that ends it.
    """
    stamp = _index_stamp(folder.root)
    if not stamp or stamp == watermark.of(folder).untracked:
        return
    if tracked(folder.root, PRIVATE):
        raise RefusedError(
            f"git tracks {PRIVATE} in {folder.root}: a branch would change what memctl keeps for this machine alone",
            hint=f"Take it out of git, it stays on disk: git -C {folder.root} rm -r --cached {PRIVATE} && git commit",
        )
    watermark.note(folder, untracked=stamp)


def tracks_transcripts(folder: UserFolder) -> bool:
    """Whether git tracks transcripts that this machine's user did not put under git, as in a clone: what is added to
    those would leave with the next commit. Git is asked once for each state of its index."""
    stamp = _index_stamp(folder.root)
    if not stamp or stamp == watermark.of(folder).without_transcripts or transcripts.is_shared(folder):
        return False
    if tracked(folder.root, transcripts.FOLDER):
        return True
    watermark.note(folder, without_transcripts=stamp)
    return False


def tracked(root: Path, place: str) -> list[str]:
    """The files below a place that git tracks; none where git cannot say."""
    from memctl.git import asking, process  # only where the index of git has changed

    try:
        return asking.names(process.run(root, "ls-files", "-z", "--", f":(icase){place}").stdout)
    except MemctlError:
        return []  # no git, or a repository that memctl runs none in: what arrives by it is not believed anyway


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
