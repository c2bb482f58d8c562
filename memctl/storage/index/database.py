"""Opening the SQLite file: extensions, pragmas, version, and dropping what cannot be used.

Each page of the file carries a checksum, which SQLite's own `cksumvfs` makes when the page is written and looks at when
it is read: a bit that is not as it was written is found before it is believed.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import apsw

from memctl import distribution
from memctl.errors import DamagedError, LockedError, StorageError
from memctl.storage.index import schema

BUSY_MILLISECONDS = 10_000

_SUFFIXES = ("", "-wal", "-shm", "-journal")

CHECKING = "cksmvfs"
_CHECKSUM_BYTES = 8

MOST_IN_ITS_PAGE = 4000
"""A value of so many bytes is in the page of its row; the rest of a larger one is in pages of its own."""


DAMAGE = (DamagedError, apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError)
"""What is said of a damaged file; the index is then rebuilt."""

HINDRANCE = (
    apsw.FullError,
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    apsw.BusyError,
    apsw.ProtocolError,
)
"""What it says when the system will not let it work; the index itself may be whole."""


def sqlite_vec_library() -> str:
    """Path of the sqlite-vec extension, found without importing its package (which imports numpy: 82 ms)."""
    spec = find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        raise StorageError("the package sqlite-vec is not installed", hint=distribution.REINSTALL)
    return os.path.join(spec.submodule_search_locations[0], "vec0")


class Connection(apsw.Connection):
    """A connection that remembers having met damage."""

    damaged = False

    def found_damaged(self, why: object) -> DamagedError:
        """The error to raise for damage; the index is not used again."""
        self.damaged = True
        return DamagedError(why)


def open_database(path: Path) -> Connection:
    """Open the index, rebuilding it where it is missing, damaged or of another version."""
    _check_kind(path)
    try:
        connection = connect(path)
        if _version(connection) == schema.VERSION and is_checked(connection):
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


def _check_kind(path: Path) -> None:
    """Links may lead to somebody's database, and pipes never end.

    Raises:
        StorageError: what lies there, or beside it, is no file.
    """
    for name in (f"{path}{suffix}" for suffix in _SUFFIXES):
        try:
            mode = os.lstat(name).st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            raise StorageError(f"{name} is not a regular file", hint="Delete it: the index is rebuilt.")


def _make_private(path: Path) -> None:
    """Make a file that is not there, for its owner alone: SQLite gives the log beside it the same mode.

    One that is there is not opened: to close it would take off the locks that this process has on it.
    """
    with suppress(OSError):  # SQLite says what is wrong
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def connect(path: Path, *, create: bool = True) -> Connection:
    """A connection with everything the index needs.

    Args:
        create: whether the file is made where there is none.
    """
    if create and str(path) != ":memory:":
        _make_private(path)
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = Connection(str(path), flags=flags, vfs=CHECKING if checks_pages() else None)
    connection.reserve_bytes(reserve=_CHECKSUM_BYTES)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec_library())
    connection.enable_load_extension(False)
    for pragma in ("journal_mode = wal", "synchronous = normal", "trusted_schema = off", "cache_size = -65536"):
        rows(connection, f"PRAGMA {pragma}")
    return connection


@cache
def checks_pages() -> bool:
    """Whether this installation of APSW can check pages (those of PyPI can, those of some systems cannot)."""
    library = str(Path(apsw.__file__).with_name("sqlite_extra_binaries") / "cksumvfs")
    default = apsw.vfs_names()[0]
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    try:
        connection.load_extension(library)
    except apsw.Error:
        return False
    finally:
        connection.close()
    apsw.set_default_vfs(default)  # it makes itself the default, also for what others open with APSW
    return True


def is_checked(connection: apsw.Connection) -> bool:
    """Whether the pages of an index on disk are checked; not where a byte of its first page says that it has none."""
    if not connection.filename or not checks_pages():
        return True
    return str(value(connection, "PRAGMA checksum_verification")) == "1"


def _named(connection: apsw.Connection, problem: apsw.Error) -> Exception:
    """The error to raise for one of SQLite's: damage is told from what the system refuses."""
    unlike = getattr(problem, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA
    if not isinstance(connection, Connection) or not (unlike or isinstance(problem, DAMAGE)):
        return problem
    return connection.found_damaged("a page is not what was written" if unlike else problem)


@contextmanager
def telling_damage(connection: apsw.Connection) -> Iterator[None]:
    """Damage that is met inside is told as such."""
    try:
        yield
    except apsw.Error as problem:
        raise _named(connection, problem) from None


def rows(connection: apsw.Connection, sql: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query, its statement finished (an open one would keep a read transaction)."""
    try:
        return connection.execute(sql, arguments).fetchall()
    except UnicodeEncodeError:
        # Half a character is in no memory; what replaces it is in none either.
        legal = [a.encode("utf-8", "replace").decode() if isinstance(a, str) else a for a in arguments]
        return rows(connection, sql, legal)
    except apsw.Error as problem:
        raise _named(connection, problem) from None
    except UnicodeDecodeError as problem:
        raise DamagedError(problem) from None


def row(connection: apsw.Connection, sql: str, arguments: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """The first row, None where there is none."""
    result = rows(connection, sql, arguments)
    return result[0] if result else None


def value(connection: apsw.Connection, sql: str, arguments: Sequence[Any] = ()) -> Any:
    """The first column of the first row, None where there is none."""
    first = row(connection, sql, arguments)
    return first[0] if first else None


def leave_log(connection: apsw.Connection) -> None:
    """Closing the connection deletes no log: the one that has its name by then may be another file's."""
    yes = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(yes))


def _version(connection: apsw.Connection) -> int:
    return int(value(connection, "PRAGMA user_version"))


def _create(path: Path) -> Connection:
    """A fresh, empty index. Two processes may arrive here at once: the second finds the first one's."""
    try:
        return _create_in(path)
    except DAMAGE:
        delete(path)
        return _create_in(path)


def _create_in(path: Path) -> Connection:
    connection = connect(path)
    with transaction(connection):
        if _version(connection) != schema.VERSION:
            _drop_everything(connection)
            connection.execute(schema.TABLES)
            connection.execute(f"PRAGMA user_version = {schema.VERSION}")
    if not is_checked(connection):  # made without checksums: by a version that had none, or by something else
        connection.close()
        raise DamagedError("it has no checksums")
    try:
        if path.exists():
            os.chmod(path, 0o600)
    except OSError as problem:
        connection.close()
        raise StorageError(f"cannot make the index {path} private: {problem.strerror}") from None
    return connection


def _drop_everything(connection: apsw.Connection) -> None:
    names = """SELECT type, name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
    ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC"""
    for _, name in rows(connection, names):
        connection.execute('DROP TABLE IF EXISTS "{}"'.format(name.replace('"', '""')))


def delete(path: Path) -> None:
    """Remove the index with everything SQLite keeps beside it.

    Raises:
        StorageError: the system refuses.
    """
    try:
        for suffix in _SUFFIXES:
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    except OSError as problem:
        raise StorageError(f"cannot delete the index {path}: {problem.strerror}") from None


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """A write transaction, waited for up to `BUSY_MILLISECONDS`.

    Raises:
        LockedError: another process held the index for longer.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        hint = "Another memctl is rebuilding it; try again in a moment."
        raise LockedError("the index is busy", hint=hint) from None
    except apsw.Error as problem:
        raise _named(connection, problem) from None
    try:
        yield
        connection.execute("COMMIT")
    except BaseException as problem:
        if connection.in_transaction:  # SQLite takes back what met an error of the system by itself
            with suppress(apsw.Error):  # the first error tells more
                connection.execute("ROLLBACK")
        if isinstance(problem, apsw.Error):
            raise _named(connection, problem) from None
        raise
