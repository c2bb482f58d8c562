"""Opening the SQLite file: extension, pragmas, version, and dropping what cannot be used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

from memctl.errors import LockedError, StorageError
from memctl.index import schema

BUSY_MILLISECONDS = 10_000

DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError)
"""What SQLite says of a damaged file; the index is then made anew."""

HINDRANCE = (
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    apsw.BusyError,
)
"""What it says when the system will not let it work; the index itself may be whole."""


def sqlite_vec_library() -> str:
    """Path of the sqlite-vec extension, found without importing its package (which imports numpy: 82 ms)."""
    spec = find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        raise StorageError("the package sqlite-vec is not installed", hint="pip install sqlite-vec")
    return os.path.join(spec.submodule_search_locations[0], "vec0")


def open_database(path: Path) -> apsw.Connection:
    """Open the index, making it anew where it is missing, damaged or of another version."""
    try:
        connection = _connect(path)
        if _version(connection) == schema.VERSION:
            return connection
        connection.close()
    except DAMAGE:
        pass
    except HINDRANCE as problem:
        raise StorageError(f"cannot open the index {path}: {problem}") from None
    try:
        return _create(path)
    except HINDRANCE as problem:
        raise StorageError(f"cannot make the index {path}: {problem}") from None


def _connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec_library())
    connection.enable_load_extension(False)
    for pragma in ("journal_mode = wal", "synchronous = normal", "mmap_size = 268435456", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def rows(connection: apsw.Connection, sql: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query, its statement finished (an open one would keep a read transaction)."""
    try:
        return connection.execute(sql, arguments).fetchall()
    except UnicodeEncodeError:
        # Half a character is in no memory; what replaces it is in none either.
        legal = [a.encode("utf-8", "replace").decode() if isinstance(a, str) else a for a in arguments]
        return connection.execute(sql, legal).fetchall()


def row(connection: apsw.Connection, sql: str, arguments: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """The first row, None where there is none."""
    found = rows(connection, sql, arguments)
    return found[0] if found else None


def value(connection: apsw.Connection, sql: str, arguments: Sequence[Any] = ()) -> Any:
    """The first column of the first row, None where there is none."""
    found = row(connection, sql, arguments)
    return found[0] if found else None


def _version(connection: apsw.Connection) -> int:
    return int(value(connection, "PRAGMA user_version"))


def _create(path: Path) -> apsw.Connection:
    """A fresh, empty index. Two processes may arrive here at once: the second finds the first one's."""
    try:
        return _create_in(path)
    except DAMAGE:
        delete(path)
        return _create_in(path)


def _create_in(path: Path) -> apsw.Connection:
    connection = _connect(path)
    with transaction(connection):
        if _version(connection) != schema.VERSION:
            _drop_everything(connection)
            connection.execute(schema.TABLES)
            connection.execute(f"PRAGMA user_version = {schema.VERSION}")
    if path.exists():
        os.chmod(path, 0o600)
    return connection


def _drop_everything(connection: apsw.Connection) -> None:
    names = """SELECT type, name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
    ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC"""
    for _, name in rows(connection, names):
        connection.execute('DROP TABLE IF EXISTS "{}"'.format(name.replace('"', '""')))


def delete(path: Path) -> None:
    """Remove the index with everything SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """A write transaction, waited for up to `BUSY_MILLISECONDS`.

    Raises:
        LockedError: another process held the index for longer.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        hint = "Another memctl is rebuilding it; try again in a moment."
        raise LockedError("the index is busy", hint=hint) from None
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
