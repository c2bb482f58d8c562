"""What this machine's user did not write in the folder: showing it, and making it one's own."""

from __future__ import annotations

from memctl.core import times
from memctl.engine import Engine
from memctl.sessions.service import Sessions
from memctl.storage.files import adopting, recovery
from memctl.storage.files.adopting import Adopted


class LocalState:
    """Local state that came with the folder, as `store.local_state`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def unverified(self) -> Adopted:
        """What this machine's user did not write, and is not believed: what `adopt` would take, and what it cannot."""
        return adopting.plan(self._engine.files.folder)

    def adopt(self) -> Adopted:
        """Believe what this machine's user did not write: the log, receipts, the trash, drafts, sessions, queues.

        Operations count as done here, and can be undone; one that was cut off is finished. Only somebody who knows
        where the folder comes from should decide on it.

        Raises:
            LockedError, StorageError: something cannot be written; to adopt again goes on.
        """
        with self._engine.storage.locked():
            done = adopting.adopt(self._engine.files.folder, session_timeout=self._engine.settings.lock_timeout)
            recovery.recover(self._engine.files.folder)
        Sessions(self._engine).keep_earlier(times.utc_now())
        self._engine.refresh()
        return done
