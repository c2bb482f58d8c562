"""Transcripts in git, which this machine's user must allow."""

from __future__ import annotations

from dataclasses import dataclass

from memctl.git import queries, tracking
from memctl.storage.files import atomic, layout, transcripts
from memctl.storage.files.layout import UserFolder

ATTRIBUTES = """\
transcripts/*.jsonl text eol=lf merge=memctl
transcripts/attachments/* -text
"""


@dataclass(frozen=True)
class State:
    """Whether the transcripts of a user are in git.

    Args:
        shared: whether this machine's user put them there.
        private: whether an ignore file keeps them out.
        files: how many transcripts there are; `size`: their bytes.
        tracked: the files of transcripts that git tracks.
    """

    shared: bool
    private: bool
    files: int
    size: int
    tracked: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """What differs from the decision of this machine's user; empty if nothing does."""
        if self.tracked and not self.shared:
            return f"git tracks {len(self.tracked)} files of transcripts that were not put under git on this machine"
        if self.shared and self.private:
            return "an ignore file keeps transcripts out of git, although they were put under git"
        if self.files and not self.shared and not self.private:
            return "nothing keeps transcripts out of git"
        return ""


def state(folder: UserFolder) -> State:
    """The present state."""
    names = transcripts.files(folder)
    size = sum((folder.root / name).lstat().st_size for name in names)
    private = transcripts.is_private_mark(atomic.read(folder.root / transcripts.MARK, folder.root))
    tracked = tuple(tracking.tracked(folder.root, transcripts.FOLDER))
    return State(transcripts.is_shared(folder), private, len(names), size, tracked)


def put(folder: UserFolder, wanted: bool, *, timeout: float = 5.0) -> State:
    """Put the transcripts under git, with the attribute for merging them; or take them out again. This commits nothing,
    and git keeps tracking what it already tracks.

    Raises:
        NotFoundError: the folder is in no repository.
        RefusedError: `.memctl` is a link.
    """
    queries.need(folder.root)
    layout.check_private(folder)
    with transcripts.locked(folder, timeout=timeout):
        if wanted:
            layout.add_lines(folder, ".gitattributes", ATTRIBUTES)
        transcripts.share(folder, wanted)
    return state(folder)
