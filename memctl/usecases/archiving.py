"""The whole folder as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memctl.engine import Engine
from memctl.files import sessions

if TYPE_CHECKING:  # gzip and tarfile cost every command's start, if they are imported here
    from memctl.transfer.archive import Archive


class Archiving(Engine):
    """Archives of one user."""

    def export_archive(self, path: str | Path, *, with_log: bool = False) -> Archive:
        """Write every file of the user's, byte for byte, into one; `memctl.transfer.restoring.restore` brings it back.

        Args:
            with_log: also the operation log (undo, history), which holds what was changed and forgotten.

        Raises:
            LockedError, StorageError, InvalidDataError: no archive was written.
        """
        from memctl.transfer import archive

        timeout = self.settings.lock_timeout
        with self.gateway.locked(), sessions.all_locked(self.folder, timeout=timeout):
            return archive.write(self.folder, Path(path).expanduser(), with_log=with_log)
