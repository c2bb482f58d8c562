"""The index in one SQLite file: full text, vectors, filters, and what the files looked like when they were read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from memctl.core import kinds
from memctl.core.models import ARCHIVED, DOCUMENTS, MESSAGES, SUPERSEDED, Filters, Memory
from memctl.core.text import terms
from memctl.errors import DamagedError, StorageError
from memctl.storage.index import cues, search
from memctl.storage.index import database as db
from memctl.storage.index.frequencies import Frequencies, selection
from memctl.storage.index.rows import Entry, FileState, FileUpdate, Row
from memctl.storage.index.scanning import Scanner
from memctl.storage.index.vectors import Packed, packed_question
from memctl.storage.ports.search import SORTED, Match, Neighbours, Said, Scored, Vector

_FILE_COLUMNS = "path, size, mtime_ns, ctime_ns, inode, hash, seen_ns, problem, readable"
_ENTRY_COLUMNS = (
    "path, ref, hash, raw, line, problem, layer, category, kind, status, memory_id, text_hash, created, happened, "
    "expires, importance, pinned, needs_revision, summary_ref, fact_key, external_id, begins, ends, superseded_by, "
    "confidence, valid_from, valid_to, session_id, speaker, asks, stands"
)


LARGE = 20_000
"""Entries from which on a second thread is worth what it costs."""

MOST_WORDS = 256
"""Words of a text that are counted to find its rarest."""

RECORDS_AT_ONCE = 500

SMALL_PART = 0.2
"""A part of an answer with less than this share of all entries is searched by listing its rows; of a larger one, the
best of all entries are taken, and those of others left out."""


class SqliteIndex:
    """One user's index. Every method is one transaction; nothing in it is not in the files too."""

    def __init__(self, path: Path, owner: str = "") -> None:
        """Open or make the index.

        Args:
            owner: identity of the folder it belongs to; the index of another one (a copied folder) is dropped.

        Raises:
            StorageError: the folder cannot be written, or the system lets nobody read or write the file.
        """
        self.path, self.owner = path, owner
        self._frequencies = Frequencies()
        self._scanner: Scanner | None = None
        self.connection = db.open_database(path)
        try:
            self._claim()
        except db.HINDRANCE as problem:
            self.connection.close()
            raise StorageError(f"cannot use the index {path}: {problem}") from None

    def _claim(self) -> None:
        """Note whose it is; what is somebody else's, or damaged, is dropped."""
        try:
            known = self.meta("owner")
            foreign = known not in ("", self._identity()) or (self.owner and not known and self._holds_anything())
        except db.DAMAGE:
            known, foreign = "", True
        if foreign:
            self.rebuild()
        elif self.owner and not known:
            self._set_meta("owner", self._identity())

    def _holds_anything(self) -> bool:
        return bool(self.files() or db.value(self.connection, "SELECT EXISTS (SELECT 1 FROM entries)"))

    def _identity(self) -> str:
        """Whose index it is, and which file: one put in its place (a backup) may not suit the log beside it."""
        return f"{self.owner}/{self.path.stat().st_ino}" if self.owner and self.on_disk else self.owner

    @property
    def on_disk(self) -> bool:
        return str(self.path) != ":memory:"

    def rebuild(self) -> None:
        """Drop everything and begin with an empty file.

        Raises:
            StorageError: the system refuses; until the index is opened again, one in memory stands in for it.
        """
        self._end_scanning()
        self.connection.close()
        self._begin()

    def _begin(self) -> None:
        """Delete the file, which this connection has left, and open a new one."""
        try:
            db.delete(self.path)
            self.connection = db.open_database(self.path)
            self._set_meta("owner", self._identity())
        except (StorageError, *db.HINDRANCE) as problem:
            self.connection.close()
            self.connection = db.open_database(Path(":memory:"))
            raise StorageError(f"cannot rebuild the index {self.path}: {problem}") from None

    def renew(
        self, paths: Collection[str], gone: Collection[tuple[str, str]], text: Callable[[Row], str], *, header: bool
    ) -> None:
        """Begin a new file with what is known of some files; full text is made anew.

        Args:
            gone: entries of theirs that are left out, by path and ref.
            text: what full text holds of an entry.
            header: whether what stands beside the records is still the same.
        """
        self._end_scanning()
        old = self.connection
        db.leave_log(old)
        try:
            self._begin()
            with db.transaction(self.connection):
                self._take_over(old, paths, gone, header)
                self._fill_full_text(text)
        finally:
            old.close()

    def _take_over(
        self, old: apsw.Connection, paths: Collection[str], gone: Collection[tuple[str, str]], header: bool
    ) -> None:
        every = old.execute("SELECT rowid, path, ref FROM entries")
        left_out = {rowid for rowid, path, ref in every if path not in paths or (path, ref) in gone}
        for table, columns in (
            ("entries", f"rowid, embedded, {_ENTRY_COLUMNS}"),
            ("tags", "entry, tag"),
            ("vectors", "entry, vector"),
            ("sketches", "entry, sketch"),
        ):
            rows = (row for row in old.execute(f"SELECT {columns} FROM {table}") if row[0] not in left_out)
            self._insert(table, columns, rows)
        self._insert(
            "files", _FILE_COLUMNS, (r for r in old.execute(f"SELECT {_FILE_COLUMNS} FROM files") if r[0] in paths)
        )
        names = ("model", "header", "logged") if header else ("model",)
        self._insert("meta", "name, value", (r for r in old.execute("SELECT name, value FROM meta") if r[0] in names))

    def _insert(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        marks = ",".join("?" * len(columns.split(",")))
        self.connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    def _fill_full_text(self, text: Callable[[Row], str]) -> None:
        found = self.connection.execute(f"SELECT {search.FOUND} FROM entries WHERE problem = ''")
        entries = (search.entry_of(self.connection, each) for each in found)
        self._insert("full_text", "rowid, body", ((entry.key, terms.prepared(text(entry))) for entry in entries))

    def copied(self) -> SqliteIndex:
        """An index in memory that holds the same."""
        copy = SqliteIndex(Path(":memory:"))
        with (
            db.telling_damage(self.connection),
            copy.connection.backup("main", self.connection, "main") as backup,
        ):
            backup.step()
        return copy

    def _set_meta(self, name: str, value: str) -> None:
        with db.transaction(self.connection):
            self._note(name, value)

    def _note(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def close(self) -> None:
        self._end_scanning()
        self.connection.close()
        if self.connection.damaged and self.on_disk:
            with suppress(StorageError):  # then the next to open it meets the damage too, and says so
                db.delete(self.path)

    def drop_if_damaged(self) -> None:
        """Rebuild it where damage was met since the last look, or where pages are not checked any more."""
        if self.connection.damaged or not db.is_checked(self.connection):
            self.rebuild()

    # What is known

    def meta(self, name: str) -> str:
        return str(db.value(self.connection, "SELECT value FROM meta WHERE name = ?", (name,)) or "")

    def header(self) -> Mapping[str, Any]:
        """The fields of `memory.json` beside the records."""
        try:
            return dict(json.loads(self.meta("header") or "{}"))
        except ValueError as problem:
            raise self.connection.found_damaged(problem) from None

    def logged(self) -> str:
        """The newest operation of the log that the index is known to hold; empty where none is known."""
        return self.meta("logged")

    def files(self) -> dict[str, FileState]:
        """Each file as it was when it was last read."""
        result = db.rows(self.connection, f"SELECT {_FILE_COLUMNS} FROM files")
        return {each[0]: FileState(*each) for each in result}

    def hashes(self, path: str) -> dict[str, str]:
        """Hash of each entry of a file, by ref."""
        return dict(db.rows(self.connection, "SELECT ref, hash FROM entries WHERE path = ?", (path,)))

    def lines(self, path: str) -> dict[str, int]:
        """In which line of a file each entry begins, by ref."""
        return dict(db.rows(self.connection, "SELECT ref, line FROM entries WHERE path = ?", (path,)))

    def raws(self, path: str, refs: Sequence[str]) -> dict[str, bytes]:
        """The exact bytes of entries of a file, by ref."""
        sql = """SELECT e.ref, e.raw, e.hash FROM json_each(?) wanted
        CROSS JOIN entries e ON e.path = ? AND e.ref = wanted.value ORDER BY wanted.key"""
        result = db.rows(self.connection, sql, (json.dumps(refs), path)) if refs else []
        for _, raw, digest in result:
            search.check_bytes(self.connection, raw, digest)
        return {ref: raw for ref, raw, _ in result}

    def record_before(self, created: float | None, memory_id: str) -> str | None:
        """The id of the last record of `memory.json`, in time order, that stands before the given place."""
        sql = """SELECT ref FROM entries INDEXED BY entries_created
        WHERE path = 'memory.json' AND (created, memory_id) < (?, ?) ORDER BY created DESC, memory_id DESC LIMIT 1"""
        before = db.value(self.connection, sql, (_BEGINNING if created is None else created, memory_id))
        return None if before is None else str(before)

    # Passages of documents

    def has(self, part: str) -> bool:
        """Whether there is anything of a part of an answer (`models.PARTS`)."""
        sql = f"SELECT 1 FROM files f WHERE {search.within(part, 'f')} LIMIT 1"
        return db.row(self.connection, sql) is not None

    def size(self, part: str) -> int:
        """How many entries a part of an answer has."""
        return self._frequencies.size(self.connection, part)

    def documents(self) -> dict[str, int]:
        """How many passages each document has."""
        sql = f"SELECT path, count(*) FROM entries e WHERE {search.within(DOCUMENTS)} GROUP BY path"
        return dict(db.rows(self.connection, sql))

    def document(self, path: str) -> list[Row]:
        """The passages of a document, in its order."""
        return self._entries("path = ?", path, order="line, rowid")

    def passages_with(self, words: Iterable[str]) -> dict[str, int]:
        """In how many passages each term stands."""
        sql = f"""SELECT count(*) FROM full_text f WHERE full_text MATCH ?
        AND +f.rowid IN (SELECT e.rowid FROM entries e WHERE {search.within(DOCUMENTS)})"""
        return {word: int(db.value(self.connection, sql, (terms.match_expression([word]),))) for word in words}

    def total(self) -> int:
        """How many entries there are."""
        return self._frequencies.total(self.connection)

    # Looking up. A `+` before a column keeps SQLite from choosing its index: nearly every entry is in memory.json.

    def _entries(self, condition: str, *arguments: Any, order: str = "rowid") -> list[Row]:
        sql = f"SELECT {search.FOUND} FROM entries e WHERE {condition} ORDER BY {order}"
        return [search.entry_of(self.connection, each) for each in db.rows(self.connection, sql, arguments)]

    def matching(self, filters: Filters, now: datetime) -> list[Row]:
        """Entries that pass the filters, in the order in which they came."""
        condition = search.where(filters, now)
        return self._entries(condition.condition, *condition.arguments)

    def records(self) -> Iterator[Row]:
        """Every record that there is now, in time order; a few at a time, because all take much memory."""
        sql = "SELECT rowid FROM entries e WHERE path = 'memory.json' ORDER BY created, memory_id"
        keys = [key for (key,) in db.rows(self.connection, sql)]
        for start in range(0, len(keys), RECORDS_AT_ONCE):
            yield from self.matches(keys[start : start + RECORDS_AT_ONCE])

    def in_order(self, filters: Filters, now: datetime, sort: str, *, ascending: bool) -> list[int]:
        """The keys of the records that pass the filters, sorted by one of `SORTED`; ties by id."""
        condition, way = search.where(filters, now), "ASC" if ascending else "DESC"
        sql = f"""SELECT rowid FROM entries e WHERE e.path = 'memory.json' AND {condition.condition}
        ORDER BY e.{_SORT_COLUMNS[sort]} {way}, e.memory_id {way}"""
        return [key for (key,) in db.rows(self.connection, sql, condition.arguments)]

    def by_text(self, text_hash: str) -> list[Row]:
        """Records with exactly these words."""
        return self._entries("text_hash = ? AND text_hash != ''", text_hash)

    def by_key(self, category: str, key: str) -> list[Row]:
        """Records of the key/value fact with this identity, oldest first."""
        return self._entries("fact_key = ? AND +path = 'memory.json'", f"{category}\0{key}", order="created, memory_id")

    def by_external(self, external_id: str) -> list[Row]:
        """Records imported under this id."""
        return self._entries("external_id = ?", external_id)

    def expired(self, now: datetime) -> list[Row]:
        """Records whose time is over; pinned ones stay."""
        return self._entries(
            "expires <= ? AND pinned = 0 AND +path = 'memory.json'", now.timestamp(), order="expires, ref"
        )

    def profile(self, least: float, limit: int, now: datetime) -> list[Row]:
        """Active facts and preferences of at least this confidence: preferences first, the new before the old."""
        return self._entries(
            f"""kind NOT IN ({_NO_PROFILE}) AND status = 'active' AND confidence >= ?
            AND problem = '' AND +path = 'memory.json'
            AND (expires IS NULL OR expires > ?) AND (ends IS NULL OR ends > ?)""",
            *(least, now.timestamp(), now.timestamp(), limit),
            order=f"(kind = '{kinds.PREFERENCE}' OR category = 'preference') DESC, happened DESC, ref DESC LIMIT ?",
        )

    def pinned(self, limit: int, now: datetime) -> list[Row]:
        """Active pinned records, the most important first; pinned ones do not expire."""
        return self._entries(
            """pinned = 1 AND status = 'active' AND problem = '' AND +path = 'memory.json'
            AND (ends IS NULL OR ends > ?)""",
            *(now.timestamp(), limit),
            order="importance DESC, ref LIMIT ?",
        )

    def tagged(self, tag: str, limit: int, now: datetime) -> list[Row]:
        """Active records with a tag, the most important first."""
        return self._entries(
            """rowid IN (SELECT entry FROM tags WHERE tag = ?) AND status = 'active' AND problem = ''
            AND +path = 'memory.json' AND (expires IS NULL OR expires > ?) AND (ends IS NULL OR ends > ?)""",
            *(tag, now.timestamp(), now.timestamp(), limit),
            order="pinned DESC, importance DESC, rowid LIMIT ?",
        )

    def referring(self, path: str) -> set[str]:
        """Ids of the records whose `summary_md_ref` is this file."""
        return {row.ref for row in self._entries("summary_ref = ? AND +path = 'memory.json'", path)}

    def orphans(self) -> list[Row]:
        """Reflections that have no record."""
        return self._entries(
            """layer = 'L3' AND path IN (SELECT path FROM files WHERE readable AND path != 'memory.json')
            AND NOT EXISTS (SELECT 1 FROM entries r WHERE r.summary_ref = e.path AND +r.path = 'memory.json')
            AND NOT EXISTS (SELECT 1 FROM entries r WHERE r.path = 'memory.json' AND r.ref = e.memory_id)""",
            order="path",
        )

    def misnamed(self) -> list[Row]:
        """Reflections that name a record which does not refer to them, while another does."""
        return self._entries(
            """path > 'reflections/' AND path < 'reflections0' AND memory_id != ''
            AND EXISTS (SELECT 1 FROM entries r WHERE r.path = 'memory.json' AND r.ref = e.memory_id
                        AND coalesce(r.summary_ref, '') != e.path)
            AND EXISTS (SELECT 1 FROM entries r WHERE r.summary_ref = e.path AND +r.path = 'memory.json')""",
            order="path",
        )

    def unreferred(self) -> list[Row]:
        """Reflections that name a record and that no record refers to."""
        return self._entries(
            """layer = 'L3' AND path IN (SELECT path FROM files WHERE readable AND path != 'memory.json')
            AND EXISTS (SELECT 1 FROM entries r WHERE r.path = 'memory.json' AND r.ref = e.memory_id)
            AND NOT EXISTS (SELECT 1 FROM entries r WHERE r.summary_ref = e.path AND +r.path = 'memory.json')""",
            order="path",
        )

    def record_of(self, reflection: Match) -> Row | None:
        """The record a reflection belongs to: the one it names, else one that refers to it."""
        named = self._entries("path = 'memory.json' AND ref = ?", reflection.memory_id)
        return next(
            iter(named or self._entries("+path = 'memory.json' AND summary_ref = ?", reflection.text_name)), None
        )

    def ids_starting(self, prefix: str, limit: int = 50) -> list[str]:
        """Record ids with this beginning."""
        return self._ids_like(f"{_literal(prefix)}*", limit)

    def ids_ending(self, suffix: str, limit: int = 50) -> list[str]:
        """Record ids with this ending."""
        return self._ids_like(f"*{_literal(suffix)}", limit)

    def newest_ids(self, beginning: str, limit: int, *, end: int = 0) -> list[str]:
        """The last record ids that begin so; with `end` those whose last so many characters do."""
        sql = """SELECT DISTINCT memory_id FROM entries WHERE substr(memory_id, ?, ?) = ? AND memory_id != ''
        ORDER BY memory_id DESC LIMIT ?"""
        arguments = (-end if end else 1, len(beginning), beginning, limit)
        return [memory_id for (memory_id,) in db.rows(self.connection, sql, arguments)]

    def ids_around(self, ids: Iterable[str], length: int) -> list[str]:
        """Record ids that end, or begin, with as many last characters of one of these."""
        ends = json.dumps([name[-length:] for name in ids])
        sql = """WITH ends AS (SELECT value FROM json_each(?))
                 SELECT DISTINCT memory_id FROM entries WHERE memory_id != ''
                 AND (substr(memory_id, ?) IN ends OR substr(memory_id, 1, ?) IN ends)"""
        return [memory_id for (memory_id,) in db.rows(self.connection, sql, (ends, -length, length))]

    def _ids_like(self, pattern: str, limit: int) -> list[str]:
        sql = "SELECT DISTINCT memory_id FROM entries WHERE memory_id GLOB ? AND memory_id != '' ORDER BY 1 LIMIT ?"
        return [memory_id for (memory_id,) in db.rows(self.connection, sql, (pattern, limit))]

    def last_id(self, low: str, high: str) -> str | None:
        """The largest record id from `low` to below `high` that has the length of these."""
        sql = """SELECT max(memory_id) FROM entries
        WHERE memory_id >= ? AND memory_id < ? AND memory_id != '' AND length(memory_id) = ?"""
        last = db.value(self.connection, sql, (low, high, len(low)))
        return None if last is None else str(last)

    def categories(self) -> set[str]:
        return {name for (name,) in db.rows(self.connection, "SELECT DISTINCT category FROM entries") if name}

    def kinds(self) -> set[str]:
        names = {name for (name,) in db.rows(self.connection, "SELECT DISTINCT kind FROM entries")}
        return names - {"", None, kinds.MESSAGE}

    def tag_counts(self) -> dict[str, int]:
        return dict(db.rows(self.connection, "SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY tag"))

    # Messages

    def message(self, message_id: str) -> list[Row]:
        """A message's entries: itself, or its passages in order; none where it is not known."""
        whole = self._entries("layer = 'MSG' AND ref = ?", message_id, order="path, line, rowid")
        passages = (f"{message_id}#", f"{message_id}$")
        return whole or self._entries("layer = 'MSG' AND ref >= ? AND ref < ?", *passages, order="path, line, rowid")

    def usual_message(self, most: int, sample: int = 50) -> int:
        """The mean size in bytes of the texts of some messages, or passages of them (the lowest ids: these are random);
        0 where there are none."""
        sampled = self._entries("layer = 'MSG'", sample, order="ref LIMIT ?")
        texts = [str(json.loads(each.raw)["text"]) for each in sampled]
        return sum(min(most, len(text.encode("utf-8", "replace"))) for text in texts) // max(1, len(texts))

    def refs_of_message(self, path: str, message_id: str) -> list[str]:
        """The refs of a message's entries in a file."""
        sql = "SELECT ref FROM entries WHERE path = ? AND (ref = ? OR (ref >= ? AND ref < ?))"
        arguments = (path, message_id, f"{message_id}#", f"{message_id}$")
        return [ref for (ref,) in db.rows(self.connection, sql, arguments)]

    def messages_starting(self, beginning: str, limit: int = 500) -> list[Row]:
        """Entries of messages whose ids begin so, in the order of the ids."""
        condition = f"{search.within(MESSAGES)} AND substr(ref, 1, ?) = ?"
        return self._entries(condition, len(beginning), beginning, limit, order="ref LIMIT ?")

    def all_messages(self) -> list[Row]:
        """The entries of all messages, in the order in which they were received."""
        return self._entries(search.within(MESSAGES), order="path, line, rowid")

    def run_of(self, run: str, limit: int = -1, *, newest: bool = False) -> list[Row]:
        """The entries of a run of a session, in the order in which they were said; the newest `limit` of them."""
        way = "DESC" if newest else "ASC"
        order = f"created {way}, line {way}, ref {way} LIMIT ?"
        return self._entries(f"session_id = ? AND {search.within(MESSAGES, '+e')}", run, limit, order=order)

    # Searching

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside is of one moment, whatever other processes write."""
        if self.connection.in_transaction:
            yield
            return
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            if self.connection.in_transaction:  # SQLite ends one that met an error of the system by itself
                self.connection.execute("COMMIT")

    def full_text(self, words: Sequence[str], filters: Filters, now: datetime, limit: int) -> list[Scored]:
        condition = self._where(filters, now)
        chosen = "" if condition.selective else selection(self.term_counts(words), self.total())
        return search.full_text(self.connection, words, condition, limit, chosen)

    def sharing_rarest(
        self, words: Sequence[str], filters: Filters, now: datetime, *, rarest: int, limit: int
    ) -> list[Row]:
        """Entries that hold some of the rarest of the words that the index knows, best first."""
        counts = self.term_counts(list(dict.fromkeys(words))[:MOST_WORDS])
        chosen = sorted((word for word, count in counts.items() if count), key=lambda word: (counts[word], word))
        return self.matches([scored.key for scored in self.full_text(chosen[:rarest], filters, now, limit)])

    def nearest(self, vector: Vector, filters: Filters, now: datetime, limit: int) -> list[Scored]:
        scanned = self._scanner.found if self._scanner else lambda sketch, wanted: None
        return search.nearest(self.connection, vector, self._where(filters, now), limit, scanned)

    def expect_nearest(self, vector: Vector, pools: Iterable[Filters], now: datetime, limit: int) -> None:
        """Begin to look for what is nearest to a vector, if the index is large: `nearest` goes on from there."""
        sketch = packed_question(tuple(vector)).sketch
        writing = self.connection.txn_state() == apsw.SQLITE_TXN_WRITE
        if not sketch or writing or not self.on_disk or self.total() < LARGE:
            return
        if not all(self._where(pool, now).selective for pool in pools):
            self._scanner = self._scanner or Scanner(self.path, self.meta("owner"))
            self._scanner.begin(sketch, search.sketches_for(limit))

    def _end_scanning(self) -> None:
        if self._scanner is not None:
            self._scanner.close()
            self._scanner = None

    def _where(self, filters: Filters, now: datetime) -> search.Where:
        few = bool(filters.only) and self.size(filters.only) < SMALL_PART * self.total()
        return search.where(filters, now, few=few)

    def cosines(self, vector: Vector, rows: Iterable[int]) -> dict[int, float]:
        return search.cosines(self.connection, vector, rows)

    def neighbours(self, rows: Sequence[int]) -> list[Neighbours]:
        """What stands right before and after each of the entries that have a session."""
        return search.neighbours(self.connection, rows)

    def following(self, messages: Iterable[str], count: int) -> dict[str, list[int]]:
        """The entries right behind each of these messages in its run, at most `count`, in order."""
        return search.following(self.connection, messages, count)

    def said(self, rows: Iterable[int]) -> dict[int, Said]:
        """By whom, where and when each of the entries was said."""
        return search.said(self.connection, rows)

    def passing(self, rows: Iterable[int], filters: Filters, now: datetime) -> set[int]:
        """Those of the entries that pass the filters."""
        return search.passing(self.connection, rows, search.where(filters, now))

    def term_counts(self, words: Iterable[str]) -> dict[str, int]:
        """In how many entries each term stands."""
        return self._frequencies.of(self.connection, words)

    def matches(self, keys: Sequence[int]) -> list[Row]:
        """The entries with these row numbers, in this order."""
        return search.matches(self.connection, keys)

    # Writing

    def update(self, updates: Sequence[FileUpdate], new_vectors: Mapping[tuple[str, str], Packed]) -> None:
        """Make the index say what the files say.

        Args:
            updates: per file, its state and what changed in it.
            new_vectors: vectors of entries, by (path, ref); entries without one wait in `pending`.
        """
        with db.transaction(self.connection):
            known = self.files()
            for update in updates:
                if known.get(update.path) == update.base:
                    self._update_file(update, new_vectors)
                    if update.header is not None:
                        self._note("header", json.dumps(update.header, ensure_ascii=False))
                    if update.logged:
                        self._note("logged", update.logged)

    def _update_file(self, update: FileUpdate, new_vectors: Mapping[tuple[str, str], Packed]) -> None:
        for ref in update.removed:
            self._remove(update.path, ref)
        for entry in update.entries:
            self._put(entry, new_vectors.get((entry.path, entry.ref)))
        self.connection.executemany(
            "UPDATE entries SET line = ? WHERE path = ? AND ref = ?",
            [(line, update.path, ref) for ref, line in update.lines.items()],
        )
        if update.state is None:
            self.connection.execute("DELETE FROM files WHERE path = ?", (update.path,))
        else:
            s = update.state
            values = (s.path, s.size, s.mtime_ns, s.ctime_ns, s.inode, s.hash, s.seen_ns, s.problem, int(s.readable))
            self.connection.execute(
                f"INSERT OR REPLACE INTO files ({_FILE_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", values
            )

    def _rowid(self, path: str, ref: str) -> int | None:
        rowid = db.value(self.connection, "SELECT rowid FROM entries WHERE path = ? AND ref = ?", (path, ref))
        return None if rowid is None else int(rowid)

    def _remove(self, path: str, ref: str) -> None:
        if (rowid := self._rowid(path, ref)) is not None:
            self._clear(rowid)
            self.connection.execute("DELETE FROM entries WHERE rowid = ?", (rowid,))

    def _clear(self, rowid: int) -> None:
        for table, column in (("full_text", "rowid"), ("tags", "entry"), ("vectors", "entry"), ("sketches", "entry")):
            self.connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (rowid,))

    def _put(self, entry: Entry, vector: Packed | None) -> None:
        rowid = self._rowid(entry.path, entry.ref)
        if rowid is not None:
            self._clear(rowid)
        words = "" if entry.problem else terms.prepared(f"{entry.text}\n{entry.dated}" if entry.dated else entry.text)
        columns = (rowid, int(vector is not None and not entry.problem), *_columns(entry, terms.length(words)))
        marks = ",".join("?" * len(columns))
        sql = f"INSERT OR REPLACE INTO entries (rowid, embedded, {_ENTRY_COLUMNS}) VALUES ({marks}) RETURNING rowid"
        rowid = int(db.value(self.connection, sql, columns))
        if entry.problem:
            return
        self.connection.execute("INSERT INTO full_text (rowid, body) VALUES (?, ?)", (rowid, words))
        tags = entry.memory.tags if entry.memory else ()
        self.connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", [(tag, rowid) for tag in tags])
        if vector is not None:
            self._put_vector(rowid, vector)

    def _put_vector(self, rowid: int, packed: Packed) -> None:
        """An empty vector is kept too."""
        self.connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (rowid, packed.vector))
        if packed.sketch:
            self.connection.execute("INSERT OR REPLACE INTO sketches VALUES (?, ?)", (rowid, packed.sketch))

    def pending_count(self) -> int:
        """How many entries have no vector yet."""
        sql = "SELECT count(*) FROM entries WHERE embedded = 0 AND problem = ''"
        return int(db.value(self.connection, sql))

    def pending(self, limit: int) -> list[Row]:
        """Entries that have no vector yet."""
        return self._entries("embedded = 0 AND problem = ''", limit, order="rowid LIMIT ?")

    def put_vectors(self, rows: Iterable[tuple[Row, Packed]]) -> None:
        """Store vectors made outside of any lock; an entry that changed meanwhile keeps waiting."""
        with db.transaction(self.connection):
            for entry, vector in rows:
                sql = "SELECT 1 FROM entries WHERE rowid = ? AND raw = ?"
                if db.row(self.connection, sql, (entry.key, entry.raw)):
                    self._put_vector(entry.key, vector)
                    self.connection.execute("UPDATE entries SET embedded = 1 WHERE rowid = ?", (entry.key,))

    def forget_vectors(self, identity: str) -> None:
        """Drop all vectors and note whose will come: those of two models never mix."""
        with db.transaction(self.connection):
            self.connection.execute("DELETE FROM vectors")
            self.connection.execute("DELETE FROM sketches")
            self.connection.execute("UPDATE entries SET embedded = 0")
            self._note("model", identity)

    def compact(self) -> int:
        """Merge the segments of full text and give back unused pages; returns the bytes freed."""
        if not self.on_disk:
            return 0
        before = self.path.stat().st_size
        with db.telling_damage(self.connection):
            self.connection.execute("INSERT INTO full_text (full_text) VALUES ('optimize')")
            self.connection.execute("VACUUM")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self.path.stat().st_size)

    def check(self) -> str:
        """What SQLite itself finds wrong with the file; empty when nothing."""
        try:
            problems = [problem for (problem,) in db.rows(self.connection, "PRAGMA integrity_check(3)")]
            self.connection.execute("INSERT INTO full_text (full_text) VALUES ('integrity-check')")
        except (apsw.Error, DamagedError) as problem:
            return str(problem)
        return "" if problems == ["ok"] else "; ".join(map(str, problems))


_SORT_COLUMNS = {name: {"occurred": "happened"}.get(name, name) for name in SORTED}

_NO_PROFILE = ", ".join(f"'{name}'" for name in (*kinds.OUT_OF_PROFILE, kinds.MESSAGE))
"""Kinds that are in no profile, as SQL."""

_BEGINNING = -1e12
"""Where a record without a date is in time order."""


def _literal(text: str) -> str:
    """The text as GLOB takes it for itself."""
    return re.sub(r"[\[*?]", r"[\g<0>]", text)


def _columns(entry: Entry, length: int) -> tuple[Any, ...]:
    """An entry's row; `length`: of its text, in terms."""
    m = entry.memory or Memory("", "")
    return (
        *(entry.path, entry.ref, entry.hash, entry.raw, entry.line, entry.problem),
        *(m.layer, m.category, m.kind, m.status, entry.memory_id, entry.text_hash),
        *(_seconds(m.created_at, _BEGINNING), _seconds(m.when), _seconds(m.expires_at)),
        *(m.importance, int(m.pinned), int(m.needs_revision), m.summary_md_ref or None),
        f"{m.category}\0{m.key}" if m.key else None,
        m.external_id or None,
        *(_begins(m), _seconds(_ended(m)), m.superseded_by or None, m.confidence),
        *(
            _seconds(m.valid_from or m.when, _BEGINNING),
            _seconds(min(filter(None, (m.valid_to, m.expires_at)), default=None)),
        ),
        *(m.session_id or None, cues.speaker(m) or None, cues.asks(m.content, length), cues.stands(m)),
    )


def _begins(memory: Memory) -> float | None:
    """When a memory was believed first: when it was written; what took another's place, not before it did."""
    known = [t for t in (memory.created_at, memory.valid_from if memory.supersedes else None) if t]
    return _seconds(max(known, default=None), _BEGINNING)


def _ended(memory: Memory) -> datetime | None:
    """When a memory ceased to be believed, as far as it says so itself."""
    ends = [t for t in (memory.valid_to, memory.archived_at) if t]
    if not ends and memory.status in (SUPERSEDED, ARCHIVED):
        return memory.updated_at or memory.created_at
    return min(ends, default=None)


def _seconds(moment: datetime | None, missing: float | None = None) -> float | None:
    return moment.timestamp() if moment else missing
