"""What this machine's user did not write in the folder: showing it, and making it one's own."""

from __future__ import annotations

from memctl import times
from memctl.files import adopting, recovery
from memctl.files.adopting import Adopted
from memctl.usecases.sessions import Sessions


class LocalState(Sessions):
    """Local state that came with the folder."""

    def unverified(self) -> Adopted:
        """What this machine's user did not write, and is not believed: what `adopt` would take, and what it cannot."""
        return adopting.plan(self.folder)

    def adopt(self) -> Adopted:
        """Believe what this machine's user did not write: the log, receipts, the trash, drafts, sessions, queues.

        Operations count as done here, and can be undone; one that was cut off is finished. Only somebody who knows
        where the folder comes from should decide on it.

        Raises:
            LockedError, StorageError: something cannot be written; to adopt again goes on.
        """
        with self.gateway.locked():
            done = adopting.adopt(self.folder, session_timeout=self.settings.lock_timeout)
            recovery.recover(self.folder)
        self.keep_earlier(times.utc_now())
        self.refresh()
        return done
