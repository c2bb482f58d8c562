"""A cache of the vectors of slow models, by model and text, so that a rebuilt index embeds nothing twice."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import apsw

from memctl.core.turns import given_up
from memctl.providers.base import Embedder

FILE_NAME = "embeddings.sqlite"


class CachedEmbedder:
    """An embedder that remembers what it embedded. A cache that cannot be used is done without.

    Args:
        inner: the embedder asked for texts that are new.
        path: the cache's file; it holds hashes and vectors, no text.
        secret: goes into the hashes, so that nobody else can make a cache that is believed.
    """

    slow = True

    def __init__(self, inner: Embedder, path: Path, secret: str = "") -> None:
        self.inner, self.path, self.secret = inner, path, secret
        self.name, self.identity = inner.name, inner.identity
        self.lexical_weight, self.vector_weight = inner.lexical_weight, inner.vector_weight

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """As the embedder's `embed`, asking it only for texts that are not in the cache."""
        keys = [self._key(text) for text in texts]
        known = self._look_up(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            with given_up():
                vectors = self.inner.embed(list(new.values()))
            made = dict(zip(new, vectors, strict=True))
            self._keep(made)
            known |= made
        return [known[key] for key in keys]

    def embed_query(self, text: str) -> Sequence[float]:
        """As the embedder's; questions are rarely the same, so they are not kept."""
        with given_up():
            return self.inner.embed_query(text)

    def verify(self) -> None:
        self.inner.verify()

    def _key(self, text: str) -> bytes:
        content = f"{self.identity}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(content, digest_size=16, key=self.secret.encode()).digest()

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(5000)
        connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        return connection

    def _look_up(self, keys: Sequence[bytes]) -> dict[bytes, Sequence[float]]:
        try:
            connection = self._open()
            sql = "SELECT vector FROM vectors WHERE key = ?"
            rows = ((key, connection.execute(sql, (key,)).fetchone()) for key in keys)
            return {key: array("f", row[0]) for key, row in rows if row}
        except (apsw.Error, UnicodeEncodeError):
            return {}

    def _keep(self, made: dict[bytes, Sequence[float]]) -> None:
        try:
            connection = self._open()
            rows = [(key, array("f", vector).tobytes()) for key, vector in made.items()]
            with connection:
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (apsw.Error, UnicodeEncodeError):
            return
