"""Looking through all sketches beside the search of full text: SQLite lets two threads run at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw

from memctl.errors import MemctlError
from memctl.storage.index import database as db
from memctl.storage.index import search


class Scanner:
    """Scans in a thread and with a connection of its own.

    The rows it finds may be of another moment than what is read beside them: they only choose what is compared exactly,
    on the other connection.
    """

    def __init__(self, path: Path, identity: str) -> None:
        """Nothing is opened yet.

        Args:
            identity: what `meta` says of the owner; an index that was put in this one's place says something else.
        """
        self._path, self._identity = path, identity
        self._connection: db.Connection | None = None
        self._thread: Thread | None = None
        self._asked: tuple[bytes, int] = (b"", 0)
        self._found: Sequence[int] | None = None

    def begin(self, sketch: bytes, limit: int) -> None:
        """Begin to look for the nearest to a sketch."""
        self.finish()
        self._asked, self._found = (sketch, limit), None
        self._thread = Thread(target=self._scan, name="memctl-scan")
        self._thread.start()

    def found(self, sketch: bytes, limit: int) -> Sequence[int] | None:
        """The rows that were found, nearest first; None where this was not looked for, or could not be."""
        self.finish()
        return self._found if self._asked == (sketch, limit) else None

    def close(self) -> None:
        self.finish()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def finish(self) -> None:
        """Wait until what was begun is found."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _scan(self) -> None:
        with suppress(apsw.Error, MemctlError):  # whoever waits for it looks for itself, and says what is wrong
            if self._connection is None:
                self._connection = db.connect(self._path, create=False)
            if db.value(self._connection, "SELECT value FROM meta WHERE name = 'owner'") == self._identity:
                self._found = search.nearest_sketches(self._connection, *self._asked)
