"""The index in one SQLite file: full text, vectors, filters, and the states of the files when they were read."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from memctl.core import kinds
from memctl.core.formats import document
from memctl.core.models import ACTIVE, DOCUMENTS, MESSAGES, Filters
from memctl.core.text import terms
from memctl.errors import DamagedError, StorageError
from memctl.storage.entries import columns
from memctl.storage.entries.decoding import PASSAGE_MARK
from memctl.storage.entries.rows import Entry, Row
from memctl.storage.entries.scoring import MOST_WORDS, SMALL_PART, rarest_words, sketches_for
from memctl.storage.entries.vectors import Packed, packed_question
from memctl.storage.index import database as db
from memctl.storage.index import search
from memctl.storage.index.frequencies import Frequencies, selection
from memctl.storage.index.rows import FileState, FileUpdate
from memctl.storage.index.scanning import Scanner
from memctl.storage.ports.search import SORTED, Match, Neighbours, Origin, Scored, Vector
from memctl.storage.ports.view import Counts

_FILE_COLUMNS = "path, size, mtime_ns, ctime_ns, inode, hash, seen_ns, problem, readable"


LARGE = 20_000
"""The number of entries from which a second thread pays off."""

RECORDS_AT_ONCE = 500


class SqliteIndex:
    """One user's index. Every method is one transaction; all its data is derived from the files."""

    def __init__(self, path: Path, owner: str = "") -> None:
        """Open or create the index.

        Args:
            owner: identifies the folder; the index of another one (a copied folder) is rebuilt.

        Raises:
            StorageError: the folder or file cannot be read and written.
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
        """Store the owner; an index of another owner, or a damaged one, is rebuilt."""
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
        """The owner, and which file it is: a backup that replaced the file may not match the log beside it."""
        return f"{self.owner}/{self.path.stat().st_ino}" if self.owner and self.on_disk else self.owner

    @property
    def on_disk(self) -> bool:
        return str(self.path) != ":memory:"

    def rebuild(self) -> None:
        """Delete everything and begin with an empty file.

        Raises:
            StorageError: that fails; until the index is opened again, it is in memory.
        """
        self._end_scanning()
        self.connection.close()
        self._begin()

    def _begin(self) -> None:
        """Delete the file, which this connection has left, and create a new one."""
        try:
            db.delete(self.path)
            self.connection = db.open_database(self.path)
            self._set_meta("owner", self._identity())
        except (StorageError, *db.HINDRANCE) as problem:
            self.connection.close()
            self.connection = db.open_database(Path(":memory:"))
            raise StorageError(f"cannot rebuild the index {self.path}: {problem}") from None

    def renew(self, paths: Collection[str], gone: Collection[tuple[str, str]], *, header: bool) -> None:
        """Begin a new file with the entries of some files.

        Args:
            gone: entries of these files to omit, by path and ref.
            header: whether the header of `memory.json` is unchanged.
        """
        self._end_scanning()
        old = self.connection
        db.leave_log(old)
        db.rows(old, "PRAGMA cache_size = -2048")  # each page is read once
        try:
            self._begin()
            with db.transaction(self.connection):
                self._take_over(old, paths, gone, header)
        finally:
            old.close()

    def _take_over(
        self, old: apsw.Connection, paths: Collection[str], gone: Collection[tuple[str, str]], header: bool
    ) -> None:
        every = old.execute("SELECT rowid, path, ref FROM entries")
        left_out = {rowid for rowid, path, ref in every if path not in paths or (path, ref) in gone}
        for table, names in (
            ("entries", f"rowid, embedded, {columns.NAMES}"),
            ("tags", "entry, tag"),
            ("links", "entry, target"),
            ("vectors", "entry, vector"),
            ("sketches", "entry, sketch"),
        ):
            rows = (row for row in old.execute(f"SELECT {names} FROM {table}") if row[0] not in left_out)
            self._insert(table, names, rows)
        self._insert(
            "files", _FILE_COLUMNS, (r for r in old.execute(f"SELECT {_FILE_COLUMNS} FROM files") if r[0] in paths)
        )
        self._insert("full_text", "rowid, body", _bodies(old, left_out))
        self.connection.execute(_BODIES_WITHOUT_TERMS)
        kept = ("model", "header", "logged") if header else ("model",)
        self._insert("meta", "name, value", (r for r in old.execute("SELECT name, value FROM meta") if r[0] in kept))

    def _insert(self, table: str, names: str, rows: Iterable[Sequence[Any]]) -> None:
        marks = ",".join("?" * len(names.split(",")))
        self.connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)

    def copied(self) -> SqliteIndex:
        """A copy of the index in memory."""
        copy = SqliteIndex(Path(":memory:"))
        with (
            db.damage_raised(self.connection),
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
            with suppress(StorageError):  # the next process that opens it finds the damage too, and reports it
                db.delete(self.path)

    def drop_if_damaged(self) -> None:
        """Rebuild the index if damage was found since the last call, or if pages are no longer verified."""
        if self.connection.damaged or not db.is_checked(self.connection):
            self.rebuild()

    # States of files, and records

    def meta(self, name: str) -> str:
        return str(db.value(self.connection, "SELECT value FROM meta WHERE name = ?", (name,)) or "")

    def header(self) -> Mapping[str, Any]:
        """The fields of `memory.json` outside the records."""
        try:
            return dict(json.loads(self.meta("header") or "{}"))
        except ValueError as problem:
            raise self.connection.found_damaged(problem) from None

    def logged(self) -> str:
        """The newest operation of the log that the index is known to include; empty if unknown."""
        return self.meta("logged")

    def files(self) -> dict[str, FileState]:
        """Each file as it was when last read."""
        result = db.rows(self.connection, f"SELECT {_FILE_COLUMNS} FROM files")
        return {each[0]: FileState(*each) for each in result}

    def hashes(self, path: str) -> dict[str, str]:
        """The hash of each entry of a file, by ref."""
        return dict(db.rows(self.connection, "SELECT ref, hash FROM entries WHERE path = ?", (path,)))

    def lines(self, path: str) -> dict[str, int]:
        """The first line of each entry of a file, by ref."""
        return dict(db.rows(self.connection, "SELECT ref, line FROM entries WHERE path = ?", (path,)))

    def raws(self, path: str, refs: Sequence[str]) -> dict[str, bytes]:
        """The exact bytes of entries of a file, by ref."""
        sql = """SELECT e.ref, e.raw, e.hash FROM json_each(?) wanted
        CROSS JOIN entries e ON e.path = ? AND e.ref = wanted.value ORDER BY wanted.key"""
        result = db.rows(self.connection, sql, (json.dumps(refs), path)) if refs else []
        for _, raw, digest in result:
            search.check_bytes(self.connection, raw, digest)
        return {ref: raw for ref, raw, _ in result}

    def raw_records(self) -> Iterator[tuple[str, bytes]]:
        """The id and the exact bytes of every present record, in time order; read in batches."""
        sql = "SELECT ref FROM entries WHERE path = 'memory.json' ORDER BY created, memory_id"
        refs = [ref for (ref,) in db.rows(self.connection, sql)]
        for start in range(0, len(refs), RECORDS_AT_ONCE):
            yield from self.raws(document.FILE_NAME, refs[start : start + RECORDS_AT_ONCE]).items()

    def record_before(self, created: float | None, memory_id: str) -> str | None:
        """The id of the last record of `memory.json`, in time order, before the given position."""
        sql = """SELECT ref FROM entries INDEXED BY entries_created
        WHERE path = 'memory.json' AND (created, memory_id) < (?, ?) ORDER BY created DESC, memory_id DESC LIMIT 1"""
        before = db.value(self.connection, sql, (columns.BEGINNING if created is None else created, memory_id))
        return None if before is None else str(before)

    # Passages of documents

    def has(self, part: str) -> bool:
        """Whether a part of an answer (`models.PARTS`) has entries."""
        sql = f"SELECT 1 FROM files f WHERE {search.within(part, 'f')} LIMIT 1"
        return db.row(self.connection, sql) is not None

    def size(self, part: str) -> int:
        """The number of entries in a part of an answer."""
        return self._frequencies.size(self.connection, part)

    def documents(self) -> dict[str, int]:
        """The number of passages of each document."""
        sql = f"SELECT path, count(*) FROM entries e WHERE {search.within(DOCUMENTS)} GROUP BY path"
        return dict(db.rows(self.connection, sql))

    def document(self, path: str) -> list[Row]:
        """The passages of a document, in order."""
        return self._entries("path = ?", path, order="line, rowid")

    def passages_with(self, words: Iterable[str]) -> dict[str, int]:
        """The number of passages with each term."""
        sql = f"""SELECT count(*) FROM full_text f WHERE full_text MATCH ?
        AND +f.rowid IN (SELECT e.rowid FROM entries e WHERE {search.within(DOCUMENTS)})"""
        return {word: int(db.value(self.connection, sql, (terms.match_expression([word]),))) for word in words}

    def total(self) -> int:
        """The number of entries."""
        return self._frequencies.total(self.connection)

    # Looking up. A `+` before a column keeps SQLite from choosing its index: nearly every entry is in memory.json.

    def _entries(self, condition: str, *arguments: Any, order: str = "rowid") -> list[Row]:
        sql = f"SELECT {search.COLUMNS} FROM entries e WHERE {condition} ORDER BY {order}"
        return [search.entry_of(self.connection, each) for each in db.rows(self.connection, sql, arguments)]

    def matching(self, filters: Filters, now: datetime) -> list[Row]:
        """Entries that pass the filters, in the order in which they were added."""
        condition = search.where(filters, now)
        return self._entries(condition.condition, *condition.arguments)

    def records(self) -> Iterator[Row]:
        """Every present record, in time order; read in batches, because all of them take much memory."""
        sql = "SELECT rowid FROM entries e WHERE path = 'memory.json' ORDER BY created, memory_id"
        keys = [key for (key,) in db.rows(self.connection, sql)]
        for start in range(0, len(keys), RECORDS_AT_ONCE):
            yield from self.matches(keys[start : start + RECORDS_AT_ONCE])

    def in_order(
        self, filters: Filters, now: datetime, sort: str, *, ascending: bool, limit: int | None = None, offset: int = 0
    ) -> tuple[list[int], int]:
        """The keys of the records that pass the filters, sorted by one of `SORTED`; ties by id. With them, how many
        pass in all."""
        condition, way = search.where(filters, now), "ASC" if ascending else "DESC"
        # This index has most columns of a filter, so that no row is read.
        passing = f"FROM entries e INDEXED BY entries_created WHERE e.path = 'memory.json' AND {condition.condition}"
        sql = f"""SELECT rowid {passing} ORDER BY e.{_SORT_COLUMNS[sort]} {way}, e.memory_id {way}
        LIMIT {-1 if limit is None else int(limit)} OFFSET {int(offset)}"""
        keys = [key for (key,) in db.rows(self.connection, sql, condition.arguments)]
        if limit is None and not offset:
            return keys, len(keys)
        return keys, int(db.value(self.connection, f"SELECT count(*) {passing}", condition.arguments))

    def by_text(self, text_hash: str) -> list[Row]:
        """Records with exactly this text."""
        return self._entries("text_hash = ? AND text_hash != ''", text_hash)

    def by_key(self, category: str, key: str) -> list[Row]:
        """Records of the fact with this key, oldest first."""
        return self._entries("fact_key = ? AND +path = 'memory.json'", f"{category}\0{key}", order="created, memory_id")

    def by_external(self, external_id: str) -> list[Row]:
        """Records imported under this id."""
        return self._entries("external_id = ?", external_id)

    def expired(self, now: datetime) -> list[Row]:
        """Expired records; pinned ones do not expire."""
        return self._entries(
            "expires <= ? AND pinned = 0 AND +path = 'memory.json'", now.timestamp(), order="expires, ref"
        )

    def profile(self, least: float, limit: int, now: datetime) -> list[Row]:
        """Active facts and preferences of at least this confidence: preferences first, newest first."""
        return self._entries(
            f"""kind NOT IN ({_NO_PROFILE}) AND status = 'active' AND confidence >= ?
            AND problem = '' AND +path = 'memory.json'
            AND (expires IS NULL OR expires > ?) AND (ends IS NULL OR ends > ?)""",
            *(least, now.timestamp(), now.timestamp(), limit),
            order=f"(kind = '{kinds.PREFERENCE}' OR category = 'preference') DESC, happened DESC, ref DESC LIMIT ?",
        )

    def pinned(self, limit: int, now: datetime) -> list[Row]:
        """Active pinned records, most important first; pinned ones do not expire."""
        return self._entries(
            """pinned = 1 AND status = 'active' AND problem = '' AND +path = 'memory.json'
            AND (ends IS NULL OR ends > ?)""",
            *(now.timestamp(), limit),
            order="importance DESC, ref LIMIT ?",
        )

    def tagged(self, tag: str, limit: int, now: datetime) -> list[Row]:
        """Active records with a tag, most important first."""
        return self._entries(
            """rowid IN (SELECT entry FROM tags WHERE tag = ?) AND status = 'active' AND problem = ''
            AND +path = 'memory.json' AND (expires IS NULL OR expires > ?) AND (ends IS NULL OR ends > ?)""",
            *(tag, now.timestamp(), now.timestamp(), limit),
            order="pinned DESC, importance DESC, rowid LIMIT ?",
        )

    def referring(self, path: str) -> set[str]:
        """The ids of records whose `summary_md_ref` is this file."""
        return {row.ref for row in self._entries("summary_ref = ? AND +path = 'memory.json'", path)}

    def orphans(self) -> list[Row]:
        """Reflections without a record."""
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
        """Reflections that name a record, but no record refers to them."""
        return self._entries(
            """layer = 'L3' AND path IN (SELECT path FROM files WHERE readable AND path != 'memory.json')
            AND EXISTS (SELECT 1 FROM entries r WHERE r.path = 'memory.json' AND r.ref = e.memory_id)
            AND NOT EXISTS (SELECT 1 FROM entries r WHERE r.summary_ref = e.path AND +r.path = 'memory.json')""",
            order="path",
        )

    def record_of(self, reflection: Match) -> Row | None:
        """The record that a reflection belongs to: the one it names, else one that refers to it."""
        named = self._entries("path = 'memory.json' AND ref = ?", reflection.memory_id)
        return next(
            iter(named or self._entries("+path = 'memory.json' AND summary_ref = ?", reflection.text_name)), None
        )

    def ids_starting(self, prefix: str, limit: int = 50) -> list[str]:
        """Record ids that start with this text."""
        return self._ids_like(f"{_literal(prefix)}*", limit)

    def ids_ending(self, suffix: str, limit: int = 50) -> list[str]:
        """Record ids that end with this text."""
        return self._ids_like(f"*{_literal(suffix)}", limit)

    def newest_ids(self, beginning: str, limit: int, *, end: int = 0) -> list[str]:
        """The newest record ids that start with a text; with `end`, those whose last `end` characters do."""
        sql = """SELECT DISTINCT memory_id FROM entries WHERE substr(memory_id, ?, ?) = ? AND memory_id != ''
        ORDER BY memory_id DESC LIMIT ?"""
        arguments = (-end if end else 1, len(beginning), beginning, limit)
        return [memory_id for (memory_id,) in db.rows(self.connection, sql, arguments)]

    def ids_around(self, ids: Iterable[str], length: int) -> list[str]:
        """Record ids that start or end with the last `length` characters of one of these."""
        ends = json.dumps([name[-length:] for name in ids])
        sql = """WITH ends AS (SELECT value FROM json_each(?))
                 SELECT DISTINCT memory_id FROM entries WHERE memory_id != ''
                 AND (substr(memory_id, ?) IN ends OR substr(memory_id, 1, ?) IN ends)"""
        return [memory_id for (memory_id,) in db.rows(self.connection, sql, (ends, -length, length))]

    def _ids_like(self, pattern: str, limit: int) -> list[str]:
        sql = "SELECT DISTINCT memory_id FROM entries WHERE memory_id GLOB ? AND memory_id != '' ORDER BY 1 LIMIT ?"
        return [memory_id for (memory_id,) in db.rows(self.connection, sql, (pattern, limit))]

    def last_id(self, low: str, high: str) -> str | None:
        """The largest record id from `low` up to `high` exclusively, of the same length."""
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
        sql = f"""SELECT tag, count(*) FROM tags CROSS JOIN entries e ON e.rowid = tags.entry
        WHERE e.path = 'memory.json' AND e.status = '{ACTIVE}' GROUP BY tag"""
        return dict(db.rows(self.connection, sql))

    def naming(self, ids: Iterable[str]) -> list[Row]:
        """Records that refer to any of these memories or messages, in time order."""
        return self._entries(
            "rowid IN (SELECT l.entry FROM json_each(?) wanted CROSS JOIN links l ON l.target = wanted.value)",
            json.dumps([*ids]),
            order="created, memory_id",
        )

    def counts(self) -> Counts:
        """The number of records by status; and of active ones by category, kind and so on."""
        active = f"status = '{ACTIVE}'"
        by_column = {name: self._counted(column, active) for name, column in columns.COUNTED.items()}
        days = self._counted("CAST(created / 86400 AS INTEGER)", f"{active} AND created > 0")
        return Counts(self._counted("status", "1"), **by_column, months=columns.months(days))

    def _counted(self, what: str, condition: str) -> dict[str, int]:
        """The number of records with each value, most frequent first; records without a value do not count."""
        sql = f"""SELECT {what}, count(*) FROM entries
        WHERE path = 'memory.json' AND problem = '' AND {condition} GROUP BY 1 ORDER BY 2 DESC, 1"""
        return {str(value): number for value, number in db.rows(self.connection, sql) if value}

    # Messages

    def message(self, message_id: str) -> list[Row]:
        """A message's entries: itself, or its passages in order; none if it is unknown."""
        whole = self._entries("layer = 'MSG' AND ref = ?", message_id, order="path, line, rowid")
        passages = (f"{message_id}#", f"{message_id}$")
        return whole or self._entries("layer = 'MSG' AND ref >= ? AND ref < ?", *passages, order="path, line, rowid")

    def mean_message_size(self, most: int, sample: int = 50) -> int:
        """The mean size in bytes of the texts of some messages or their passages (those with the lowest ids, which are
        random); 0 without messages."""
        sampled = self._entries("layer = 'MSG'", sample, order="ref LIMIT ?")
        texts = [str(json.loads(each.raw)["text"]) for each in sampled]
        return sum(min(most, len(text.encode("utf-8", "replace"))) for text in texts) // max(1, len(texts))

    def refs_of_message(self, path: str, message_id: str) -> list[str]:
        """The refs of a message's entries in a file."""
        sql = "SELECT ref FROM entries WHERE path = ? AND (ref = ? OR (ref >= ? AND ref < ?))"
        arguments = (path, message_id, f"{message_id}#", f"{message_id}$")
        return [ref for (ref,) in db.rows(self.connection, sql, arguments)]

    def messages_starting(self, beginning: str, limit: int = 500) -> list[Row]:
        """Entries of messages whose ids start with this text, ordered by id."""
        condition = f"{search.within(MESSAGES)} AND substr(ref, 1, ?) = ?"
        return self._entries(condition, len(beginning), beginning, limit, order="ref LIMIT ?")

    def all_messages(self) -> list[Row]:
        """The entries of all messages, in the order in which they were received."""
        return self._entries(search.within(MESSAGES), order="path, line, rowid")

    def run_of(self, run: str, limit: int = -1, *, newest: bool = False) -> list[Row]:
        """The entries of a run of a session, in the order of the conversation; with `newest`, the last `limit` of
        them."""
        way = "DESC" if newest else "ASC"
        order = f"created {way}, line {way}, ref {way} LIMIT ?"
        return self._entries(f"session_id = ? AND {search.within(MESSAGES, '+e')}", run, limit, order=order)

    def runs(self, session: str = "") -> list[tuple[str, str, float | None, float | None, int, int]]:
        """The runs of a session, or of all, in the order in which they began: id, session, times of the first and last
        message, number of messages, and their size in bytes."""
        message = f"CASE instr(ref, '{PASSAGE_MARK}') WHEN 0 THEN ref ELSE CAST(raw AS TEXT) ->> 'id' END"
        sql = f"""SELECT coalesce(session_id, ''), coalesce(max(session), ''), min(happened), max(happened),
            count(DISTINCT {message}), sum(length(raw))
        FROM entries e WHERE {search.within(MESSAGES)} AND problem = '' AND (? = '' OR session = ?)
        GROUP BY session_id ORDER BY min(path || printf('%020d', line))"""
        return [*db.rows(self.connection, sql, (session, session))]

    # Searching

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Reads inside see one state, whatever other processes write."""
        if self.connection.in_transaction:
            yield
            return
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            if self.connection.in_transaction:  # after a system error, SQLite has ended it by itself
                self.connection.execute("COMMIT")

    def full_text(self, words: Sequence[str], filters: Filters, now: datetime, limit: int) -> list[Scored]:
        condition = self._where(filters, now)
        chosen = "" if condition.selective else selection(self.term_counts(words), self.total())
        return search.full_text(self.connection, words, condition, limit, chosen)

    def sharing_rarest(
        self, words: Sequence[str], filters: Filters, now: datetime, *, rarest: int, limit: int
    ) -> list[Row]:
        """Entries with some of the rarest of the words that the index has, best first."""
        counts = self.term_counts(list(dict.fromkeys(words))[:MOST_WORDS])
        chosen = rarest_words(counts, rarest)
        return self.matches([scored.key for scored in self.full_text(chosen, filters, now, limit)])

    def nearest(self, vector: Vector, filters: Filters, now: datetime, limit: int) -> list[Scored]:
        scanned = self._scanner.nearest if self._scanner else lambda sketch, wanted: None
        return search.nearest(self.connection, vector, self._where(filters, now), limit, scanned)

    def expect_nearest(self, vector: Vector, pools: Iterable[Filters], now: datetime, limit: int) -> None:
        """Start to search for the nearest to a vector, if the index is large; `nearest` uses the result."""
        sketch = packed_question(tuple(vector)).sketch
        writing = self.connection.txn_state() == apsw.SQLITE_TXN_WRITE
        if not sketch or writing or not self.on_disk or self.total() < LARGE:
            return
        if not all(self._where(pool, now).selective for pool in pools):
            self._scanner = self._scanner or Scanner(self.path, self.meta("owner"))
            self._scanner.begin(sketch, sketches_for(limit))

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
        """The entries right before and after each of these, if they have a session."""
        return search.neighbours(self.connection, rows)

    def following(self, messages: Iterable[str], count: int) -> dict[str, list[int]]:
        """The entries right after each of these messages in its run, at most `count`, in order."""
        return search.following(self.connection, messages, count)

    def origins(self, rows: Iterable[int]) -> dict[int, Origin]:
        """The speaker, session and time of each entry."""
        return search.origins(self.connection, rows)

    def passing(self, rows: Iterable[int], filters: Filters, now: datetime) -> set[int]:
        """The entries that pass the filters."""
        return search.passing(self.connection, rows, search.where(filters, now))

    def term_counts(self, words: Iterable[str]) -> dict[str, int]:
        """The number of entries with each term."""
        return self._frequencies.of(self.connection, words)

    def matches(self, keys: Sequence[int]) -> list[Row]:
        """The entries with these row numbers, in this order."""
        return search.matches(self.connection, keys)

    # Writing

    def update(self, updates: Sequence[FileUpdate], new_vectors: Mapping[tuple[str, str], Packed]) -> None:
        """Update the index from the files.

        Args:
            updates: for each file, its state and what changed in it.
            new_vectors: vectors of entries, by (path, ref); entries without one become `pending`.
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
        self.connection.execute("DELETE FROM full_text WHERE rowid = ?", (rowid,))
        for table in ("tags", "links", "vectors", "sketches"):
            self.connection.execute(f"DELETE FROM {table} WHERE entry = ?", (rowid,))

    def _put(self, entry: Entry, vector: Packed | None) -> None:
        rowid = self._rowid(entry.path, entry.ref)
        if rowid is not None:
            self._clear(rowid)
        words = "" if entry.problem else terms.prepared(entry.searched)
        row = (rowid, int(vector is not None and not entry.problem), *columns.values(entry, terms.length(words)))
        marks = ",".join("?" * len(row))
        sql = f"INSERT OR REPLACE INTO entries (rowid, embedded, {columns.NAMES}) VALUES ({marks}) RETURNING rowid"
        rowid = int(db.value(self.connection, sql, row))
        if entry.problem:
            return
        self.connection.execute("INSERT INTO full_text (rowid, body) VALUES (?, ?)", (rowid, words))
        self._put_names(rowid, entry)
        if vector is not None:
            self._put_vector(rowid, vector)

    def _put_names(self, rowid: int, entry: Entry) -> None:
        """Store what a record can be listed by: its tags, and the ids it refers to."""
        tags = entry.memory.tags if entry.memory else ()
        self.connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", [(tag, rowid) for tag in tags])
        named = [(each, rowid) for each in columns.names(entry)]
        self.connection.executemany("INSERT OR IGNORE INTO links VALUES (?, ?)", named)

    def _put_vector(self, rowid: int, packed: Packed) -> None:
        """Store a vector, even an empty one."""
        self.connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (rowid, packed.vector))
        if packed.sketch:
            self.connection.execute("INSERT OR REPLACE INTO sketches VALUES (?, ?)", (rowid, packed.sketch))

    def pending_count(self) -> int:
        """The number of entries without a vector."""
        sql = "SELECT count(*) FROM entries WHERE embedded = 0 AND problem = ''"
        return int(db.value(self.connection, sql))

    def pending(self, limit: int) -> list[Row]:
        """Entries without a vector."""
        return self._entries("embedded = 0 AND problem = ''", limit, order="rowid LIMIT ?")

    def put_vectors(self, rows: Iterable[tuple[Row, Packed]]) -> None:
        """Store vectors that were computed without a lock; an entry that changed meanwhile stays pending."""
        with db.transaction(self.connection):
            for entry, vector in rows:
                sql = "SELECT 1 FROM entries WHERE rowid = ? AND raw = ?"
                if db.row(self.connection, sql, (entry.key, entry.raw)):
                    self._put_vector(entry.key, vector)
                    self.connection.execute("UPDATE entries SET embedded = 1 WHERE rowid = ?", (entry.key,))

    def forget_vectors(self, identity: str) -> None:
        """Delete all vectors and store the identity of the new model: vectors of two models never mix."""
        with db.transaction(self.connection):
            self.connection.execute("DELETE FROM vectors")
            self.connection.execute("DELETE FROM sketches")
            self.connection.execute("UPDATE entries SET embedded = 0")
            self._note("model", identity)

    def compact(self) -> int:
        """Merge the segments of full text and free unused pages; returns the freed bytes."""
        if not self.on_disk:
            return 0
        before = self.path.stat().st_size
        with db.damage_raised(self.connection):
            self.connection.execute("INSERT INTO full_text (full_text) VALUES ('optimize')")
            self.connection.execute("VACUUM")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self.path.stat().st_size)

    def check(self) -> str:
        """What SQLite's own check finds wrong; empty if nothing."""
        try:
            problems = [problem for (problem,) in db.rows(self.connection, "PRAGMA integrity_check(3)")]
            self.connection.execute("INSERT INTO full_text (full_text) VALUES ('integrity-check')")
        except (apsw.Error, DamagedError) as problem:
            return str(problem)
        return "" if problems == ["ok"] else "; ".join(map(str, problems))


_SORT_COLUMNS = {name: {"occurred": "happened"}.get(name, name) for name in SORTED}

_NO_PROFILE = ", ".join(f"'{name}'" for name in (*kinds.OUT_OF_PROFILE, kinds.MESSAGE))
"""Kinds that are not in a profile, as SQL."""


_BODIES_WITHOUT_TERMS = """INSERT INTO full_text (rowid, body) SELECT rowid, '' FROM entries
WHERE problem = '' AND rowid NOT IN (SELECT id FROM full_text_docsize)"""


def _bodies(connection: apsw.Connection, left_out: Collection[int]) -> apsw.Cursor:
    """The prepared text of each entry with terms, reconstructed from full text, which stores only positions."""
    connection.execute("CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, full_text, instance)")
    in_order = """SELECT doc, term FROM temp.places WHERE doc NOT IN (SELECT value FROM json_each(?))
    ORDER BY doc, offset"""
    sql = f"SELECT doc, group_concat(term, ' ') FROM ({in_order}) GROUP BY doc"
    return connection.execute(sql, (json.dumps([*left_out]),))


def _literal(text: str) -> str:
    """The text with GLOB's special characters escaped."""
    return re.sub(r"[\[*?]", r"[\g<0>]", text)
