"""One user's memories: the public Python API. One short method a use case; truth first, index second."""

from __future__ import annotations

from memctl.usecases.adding import Adding
from memctl.usecases.archiving import Archiving
from memctl.usecases.changing import Changing
from memctl.usecases.conflicts import Conflicts
from memctl.usecases.context import Contexts
from memctl.usecases.extracting import Extracting
from memctl.usecases.history import History
from memctl.usecases.knowledge import Knowledge
from memctl.usecases.learning import Learning
from memctl.usecases.maintaining import Maintaining
from memctl.usecases.reflecting import Reflecting
from memctl.usecases.sessions import Sessions
from memctl.usecases.strategies import Strategies
from memctl.usecases.tasks import Tasks


class MemoryStore(
    Adding, Changing, Learning, Reflecting, Conflicts, Contexts, Maintaining, Tasks, Sessions, Extracting, Strategies,
    Knowledge, History, Archiving,
):  # fmt: skip
    """The memories of one user.

    Made by `memctl.open_store`. Times are UTC; every method that depends on the present takes `now`. Methods that
    change something raise `LockedError`, `StorageError`, `InvalidDataError` (the files cannot be read) or
    `RefusedError`, and have then changed nothing.
    """
