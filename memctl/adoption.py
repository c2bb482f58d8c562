"""Local state that this user did not write on this machine: listing and adopting it."""

from __future__ import annotations

from memctl.core import times
from memctl.engine import Engine
from memctl.sessions.service import Sessions
from memctl.storage.files import adopting, replay
from memctl.storage.files.adopting import Adopted


class LocalState:
    """Local state that came with the folder: `store.local_state`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def unverified(self) -> Adopted:
        """The local state that is ignored: what `adopt` would sign, and what it cannot."""
        return adopting.plan(self._engine.files.folder)

    def adopt(self) -> Adopted:
        """Sign the log, receipts, trash, drafts, sessions and queues, so that they are used.

        Adopted operations can be undone; an interrupted one is completed. Only for a folder whose origin the user
        knows.

        Raises:
            LockedError, StorageError: a file cannot be written; calling it again continues.
        """
        with self._engine.storage.locked():
            done = adopting.adopt(self._engine.files.folder, session_timeout=self._engine.settings.lock_timeout)
            replay.replay(self._engine.files.folder)
        Sessions(self._engine).keep_earlier(times.utc_now())
        self._engine.refresh()
        return done
