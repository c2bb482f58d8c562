"""A server that is starting is waited for. (The real one starts too quickly to be caught: this one speaks just enough of
the protocol to refuse a connection.)"""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.errors import DatabaseError
from memctl.storage.postgres import connecting
from memctl.storage.postgres.address import parse

STARTING = "the database system is starting up"
RECOVERING = "the database system is not yet accepting connections"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="memctl-") as made:
        yield Path(made)


def answering(folder: Path, *refusals: str) -> None:
    """A server that refuses one connection after another with these words, and then is gone."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / ".s.PGSQL.5432"))
    server.listen()

    def serve() -> None:
        with server:
            for words in refusals:
                with server.accept()[0] as client:
                    client.recv(4096)
                    client.sendall(refusal(words))

    threading.Thread(target=serve, daemon=True).start()


def refusal(words: str) -> bytes:
    """An ErrorResponse of the protocol, version 3."""
    fields = b"".join(kind + text.encode() + b"\0" for kind, text in ((b"S", "FATAL"), (b"C", "57P03"), (b"M", words)))
    return b"E" + (len(fields) + 5).to_bytes(4, "big") + fields + b"\0"


def test_a_server_that_is_starting_is_waited_for(folder: Path) -> None:
    answering(folder, STARTING, RECOVERING, 'database "memories" does not exist')
    with pytest.raises(DatabaseError, match='"memories" does not exist'):
        connecting.connected(parse(f"postgresql://memctl@/memories?host={folder}"))


def test_no_longer_than_the_address_allows(folder: Path) -> None:
    answering(folder, *[STARTING] * 50)
    with pytest.raises(DatabaseError, match="starting up"):
        connecting.connected(parse(f"postgresql://memctl@/memories?host={folder}&connect_timeout=1"))
