"""Transcripts in git: only where this machine's user says so."""

from __future__ import annotations

from dataclasses import dataclass

from memctl.git import asking, tracking
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
        tracked: files of theirs that git tracks.
    """

    shared: bool
    private: bool
    files: int
    size: int
    tracked: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """What is not as this machine's user decided; empty where all is."""
        if self.tracked and not self.shared:
            return f"git tracks {len(self.tracked)} of their files, and nobody on this machine put them there"
        if self.shared and self.private:
            return "an ignore file keeps them out, although they were put under git"
        if self.files and not self.shared and not self.private:
            return "nothing keeps them out of git"
        return ""


def state(folder: UserFolder) -> State:
    """How things are."""
    names = transcripts.files(folder)
    size = sum((folder.root / name).lstat().st_size for name in names)
    private = transcripts.is_private_mark(atomic.read(folder.root / transcripts.MARK, folder.root))
    tracked = tuple(tracking.tracked(folder.root, transcripts.FOLDER))
    return State(transcripts.is_shared(folder), private, len(names), size, tracked)


def put(folder: UserFolder, wanted: bool, *, timeout: float = 5.0) -> State:
    """Put the transcripts under git, with the attribute by which they are merged; or out of it again. Nothing is
    committed, and what git tracks already it goes on tracking.

    Raises:
        NotFoundError: the folder is in no repository.
        RefusedError: `.memctl` is a link.
    """
    asking.need(folder.root)
    layout.check_private(folder)
    with transcripts.locked(folder, timeout=timeout):
        if wanted:
            layout.add_lines(folder, ".gitattributes", ATTRIBUTES)
        transcripts.share(folder, wanted)
    return state(folder)
