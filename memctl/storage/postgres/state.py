"""The state of what is derived for a user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any

from memctl.core.models import DOCUMENTS, MEMORIES, MESSAGES
from memctl.storage.postgres.transactions import Database, literal

PARTS = {MEMORIES: 1, MESSAGES: 2, DOCUMENTS: 3}
"""The parts of an answer, as the tables name them."""


@dataclass(frozen=True)
class State:
    """What is noted of a user's derived rows.

    Args:
        version: changes with every change of them; `rules`: by which they were made.
        model: whose vectors there are.
        next_n: the key of the next entry.
        memories, messages, documents: entries of each part; `size`: their terms, all together; `vectors`: how many
            have been embedded.
        messages_to: the last line of a transcript that is in them; `newest`: the last that there is.
        problems: texts that cannot be read, with the reasons, as JSON.
        graph: the bits of the sketches in the user's graph; 0 without one.
    """

    version: int = 0
    rules: int = 0
    model: str = ""
    next_n: int = 1
    memories: int = 0
    messages: int = 0
    documents: int = 0
    size: int = 0
    vectors: int = 0
    messages_to: int = 0
    problems: str = "{}"
    graph: int = 0
    newest: int = 0

    @property
    def total(self) -> int:
        return self.memories + self.messages + self.documents

    def of(self, part: str) -> int:
        """How many entries a part of an answer has."""
        return {MEMORIES: self.memories, MESSAGES: self.messages, DOCUMENTS: self.documents}[part]


_COLUMNS = "version, rules, model, next_n, memories, messages, documents, size, vectors, messages_to, problems, graph"
_READ = f"{_COLUMNS}, coalesce((SELECT max(seq) FROM messages m WHERE m.user_id = i.user_id), 0)"


def opening(user: str, beside: str = "") -> str:
    """The statement that reads the state, and other columns behind it, for `Database.opening`."""
    columns = f"{_READ}, {beside}" if beside else _READ
    return f"SELECT {columns} FROM indexes i WHERE user_id = {literal(user)}"


def locking(user: str, *, derived: bool = True, beside: str = "") -> str:
    """The statements that wait for the lock of a user, and read the state: to the end of the transaction nobody else
    changes memories, nor what is derived (unless that lock is to be taken later).

    Args:
        beside: columns of `indexes i` that are read along, as they are once the lock of the user is held.

    The advisory lock is a queue: whoever came first has it next. The lock of the row alone excludes others for certain
    (on several nodes of Citus, say), but may go to a latecomer.
    """
    queue = f"SELECT pg_advisory_xact_lock(hashtextextended({literal(f'memctl/{user}')}, 0))::text"
    row = f"SELECT FROM users WHERE user_id = {literal(user)} FOR UPDATE"
    return f"{queue}; {row}; {opening(user, beside)}{' FOR UPDATE' if derived else ''}"


def opened(db: Database) -> State:
    """The state as it was when the present transaction began."""
    return State(*db.opened[: len(fields(State))]) if db.opened else State()


def beside(db: Database) -> Sequence[Any]:
    """The columns that were read along with it."""
    return db.opened[len(fields(State)) :] if db.opened else ()


def read(db: Database) -> State:
    """The state now."""
    row = db.row(f"SELECT {_READ} FROM indexes i WHERE user_id = $1", db.user)
    return State(*row) if row else State()


def locked(db: Database) -> State:
    """The state; nobody else changes it to the end of the transaction."""
    row = db.row(f"SELECT {_COLUMNS} FROM indexes WHERE user_id = $1 FOR UPDATE", db.user)
    return State(*row) if row else State()


def write(db: Database, state: State) -> None:
    """Note another state, of which the version grows."""
    db.later(
        """UPDATE indexes SET version = version + 1, rules = $2, model = $3, next_n = $4, memories = $5, messages = $6,
        documents = $7, size = $8, vectors = $9, messages_to = $10, problems = $11 WHERE user_id = $1""",
        *(db.user, state.rules, state.model, state.next_n, state.memories, state.messages),
        *(state.documents, state.size, state.vectors, state.messages_to, state.problems),
    )


_STAMP = """SELECT concat_ws(' ', (SELECT version FROM users WHERE user_id = $1),
    (SELECT version FROM indexes WHERE user_id = $1), (SELECT max(seq) FROM messages WHERE user_id = $1),
    (SELECT max(seq) FROM receipts WHERE user_id = $1),
    (SELECT string_agg(session_id || xmin, ',' ORDER BY session_id) FROM sessions WHERE user_id = $1),
    (SELECT string_agg(queue_id || xmin, ',' ORDER BY queue_id) FROM queue WHERE user_id = $1),
    (SELECT string_agg(name || xmin, ',' ORDER BY name) FROM settings))"""
"""`xmin` is the transaction that wrote a row."""


def stamp(db: Database) -> str:
    """A text that is another one after any change that a reader can see."""
    return blake2b(str(db.value(_STAMP, db.user)).encode("utf-8", "replace"), digest_size=8).hexdigest()
