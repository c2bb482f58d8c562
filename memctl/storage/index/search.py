"""Searching the index: full text, vectors, and the filters on both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import apsw

from memctl.core.formats import codec
from memctl.core.models import ACTIVE, DOCUMENTS, MEMORIES, MESSAGES, SUPERSEDED, Filters
from memctl.core.text import terms
from memctl.storage.entries import vectors
from memctl.storage.entries.decoding import part_of
from memctl.storage.entries.rows import Row
from memctl.storage.entries.scoring import EXACT_SCAN_LIMIT, FEW_TIMES, OVERFETCH, sketches_for
from memctl.storage.index import database as db
from memctl.storage.ports.search import Neighbours, Origin, Scored, Vector

COLUMNS = "rowid, path, ref, raw, line, memory_id, layer, category, problem, hash"


_PATHS = {
    DOCUMENTS: ("knowledge/", "knowledge0"),
    MEMORIES: ("memory.json", "transcripts/"),  # and reflections between them
    MESSAGES: ("transcripts/", "transcripts0"),
}
"""The range of paths of each part of an answer: from the first, up to the second exclusively."""


def within(part: str, table: str = "e") -> str:
    """The condition that a row's path belongs to this part."""
    low, high = _PATHS[part]
    return f"({table}.path >= '{low}' AND {table}.path < '{high}')"


@dataclass(frozen=True)
class Where:
    """A condition on `entries e` with its arguments; `by_path`: whether its rows are quickly listed by path."""

    condition: str
    arguments: tuple[Any, ...]
    selective: bool = True
    by_path: bool = False


_BELIEVED = """(e.path = 'memory.json' OR e.layer = 'MSG') AND e.problem = '' AND e.status != 'candidate'
    AND e.begins <= ?
    AND (e.expires IS NULL OR e.expires > ?)
    AND coalesce((SELECT s.begins FROM entries s WHERE e.status = 'superseded' AND s.path = 'memory.json'
                  AND s.ref = e.superseded_by), e.ends, 1e12) > ?"""
"""When a memory ceased to be believed: its successor says it, because `valid_to` is about the world, not about what was
known."""

_VALID = """e.path = 'memory.json' AND e.problem = '' AND e.valid_from <= ?
    AND CASE WHEN coalesce((SELECT CASE WHEN s.begins <= ? THEN min(coalesce(e.valid_to, 1e12), s.valid_from)
                            ELSE coalesce(e.expires, 1e12) END FROM entries s
                            WHERE e.status = 'superseded' AND s.path = 'memory.json' AND s.ref = e.superseded_by),
                           e.valid_to, 1e12) > ?
    THEN NOT EXISTS (WITH RECURSIVE later (ref) AS (
                         SELECT e.superseded_by WHERE e.status = 'superseded'
                         UNION SELECT n.superseded_by FROM later CROSS JOIN entries n INDEXED BY entries_path
                         WHERE n.path = 'memory.json' AND n.ref = later.ref AND n.status = 'superseded')
                     SELECT 1 FROM later CROSS JOIN entries s INDEXED BY entries_path
                     WHERE s.path = 'memory.json' AND s.ref = later.ref AND s.begins <= ? AND s.valid_from <= ?)
    END"""
"""Whether something was so at a time. Takes the time, when it was known, and both again. A superseded value ends where
its successor begins, or the successor of that, if it was known; without a start date, the date of the event counts,
else that of writing. Later successors are followed only if the rest of the condition is true, because that is slow."""

_KNOWN = "e.status != 'candidate' AND e.begins <= ? AND (e.status != 'archived' OR e.ends > ?)"
"""What was known at a time, even if it was no longer true then."""

_ALWAYS = 1e12


def _in_time(filters: Filters, now: datetime) -> tuple[list[str], list[Any]]:
    """The conditions on time and readability."""
    known = filters.as_of.timestamp() if filters.as_of else _ALWAYS
    if filters.valid_at:
        valid = filters.valid_at.timestamp()
        conditions = [_VALID, _KNOWN] if filters.as_of else [_VALID]
        return conditions, [valid, known] * 2 + [valid] + ([known] * 2 if filters.as_of else [])
    if filters.as_of:
        return [_BELIEVED], [known] * 3
    if filters.expired:
        return ["e.problem = ''"], []
    return ["(e.expires IS NULL OR e.expires > ?)", "e.problem = ''"], [now.timestamp()]


def _statuses(filters: Filters) -> Sequence[str]:
    """The statuses to search: all for `as_of`, and superseded ones too for `valid_at`, they held then."""
    if filters.as_of:
        return ()
    return (ACTIVE, SUPERSEDED) if filters.valid_at and filters.statuses == (ACTIVE,) else filters.statuses


def where(filters: Filters, now: datetime, *, few: bool = False) -> Where:
    """Filters as SQL. Expired memories are never included.

    Args:
        few: the filters name a small part of the answer, whose rows are quickly listed.
    """
    if filters in (Filters(only=DOCUMENTS), Filters(only=MESSAGES)) and few:
        # Active and without expiry: an index answers this without reading the rows.
        return Where(within(filters.only), (), by_path=True)
    parts, arguments = _in_time(filters, now)
    for column, wanted in (
        ("category", filters.categories),
        ("kind", filters.kinds),
        ("status", _statuses(filters)),
        ("source", filters.sources),
        ("session", filters.sessions),
    ):
        if wanted:
            parts.append(f"e.{column} IN ({_marks(wanted)})")
            arguments += wanted
    if filters.only:
        parts.append(within(filters.only))
    for tag in filters.tags:
        parts.append("EXISTS (SELECT 1 FROM tags t WHERE t.tag = ? AND t.entry = e.rowid)")
        arguments.append(tag)
    for condition, moment in (("e.happened >= ?", filters.since), ("e.happened < ?", filters.until)):
        if moment:
            parts.append(condition)
            arguments.append(moment.timestamp())
    for column, flag in (("pinned", filters.pinned), ("needs_revision", filters.needs_revision)):
        if flag is not None:
            parts.append(f"e.{column} = ?")
            arguments.append(int(flag))
    plain = filters == Filters(only=filters.only) and not few
    return Where(" AND ".join(parts), tuple(arguments), selective=not plain, by_path=few)


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


def full_text(
    connection: apsw.Connection, words: Sequence[str], condition: Where, limit: int, selection: str = ""
) -> list[Scored]:
    """Entries with any of the terms, best bm25 first.

    Args:
        selection: an expression for the entries to score, if they suffice; empty for all.
    """
    match = terms.match_expression(list(words))
    if not match:
        return []
    if not condition.selective:
        if selection and _more_than(connection, selection, limit - 1):
            passing_ones = _first_passing(connection, _best_of(connection, match, selection), condition, limit)
            if len(passing_ones) >= limit:
                return passing_ones
        for depth in (FEW_TIMES * limit, OVERFETCH):
            passing_ones = _first_passing(connection, _best(connection, match, depth), condition, limit)
            if len(passing_ones) >= limit or not _more_than(connection, match, depth):
                return passing_ones
    sql = f"""SELECT e.rowid, -f.rank FROM full_text f JOIN entries e ON e.rowid = f.rowid
    WHERE full_text MATCH ? AND {condition.condition} ORDER BY f.rank, e.rowid LIMIT ?"""
    if condition.by_path:  # looking up a few rows in a set is faster than reading the row of each match
        if not _any(connection, condition):
            return []
        sql = f"""SELECT f.rowid, -f.rank FROM full_text f WHERE full_text MATCH ? AND +f.rowid IN
        (SELECT e.rowid FROM entries e WHERE {condition.condition}) ORDER BY f.rank, f.rowid LIMIT ?"""
    return _scored(db.rows(connection, sql, (match, *condition.arguments, limit)))


def _any(connection: apsw.Connection, condition: Where) -> bool:
    sql = f"SELECT 1 FROM entries e WHERE {condition.condition} LIMIT 1"
    return db.row(connection, sql, condition.arguments) is not None


def _best(connection: apsw.Connection, match: str, depth: int) -> list[tuple[int, float]]:
    """The best entries by bm25, without filters."""
    sql = "SELECT rowid, -rank FROM full_text WHERE full_text MATCH ? ORDER BY rank LIMIT ?"
    return _in_order(db.rows(connection, sql, (match, depth)))


def _best_of(connection: apsw.Connection, match: str, selection: str) -> list[tuple[int, float]]:
    """Like `_best`, among the selected entries: scoring one takes ten times as long as finding it."""
    sql = """SELECT rowid, -score FROM (SELECT m.rowid, m.rank AS score FROM full_text m WHERE full_text MATCH ?
    AND +m.rowid IN (SELECT rowid FROM full_text WHERE full_text MATCH ?)) ORDER BY score, rowid LIMIT ?"""
    return _in_order(db.rows(connection, sql, (match, selection, OVERFETCH)))


def _in_order(scored: Iterable[tuple[Any, ...]]) -> list[tuple[int, float]]:
    """Rows with their scores, best first, ties by row."""
    return sorted([(row, score) for row, score in scored], key=lambda one: (-one[1], one[0]))


def _first_passing(
    connection: apsw.Connection, best: Sequence[tuple[int, float]], condition: Where, limit: int
) -> list[Scored]:
    """The first entries that pass the filter. Since nearly all pass, only as many as needed are checked."""
    scored: list[tuple[int, float]] = []
    for start in range(0, len(best), limit):
        part = best[start : start + limit]
        allowed = passing(connection, [row for row, _ in part], condition)
        scored += [one for one in part if one[0] in allowed]
        if len(scored) >= limit:
            break
    return _scored(scored[:limit])


def _scored(pairs: Iterable[tuple[Any, ...]]) -> list[Scored]:
    return [Scored(rowid, score) for rowid, score in pairs]


def _more_than(connection: apsw.Connection, match: str, limit: int) -> bool:
    sql = "SELECT 1 FROM full_text WHERE full_text MATCH ? LIMIT 1 OFFSET ?"
    return db.row(connection, sql, (match, limit)) is not None


def nearest(
    connection: apsw.Connection,
    vector: Vector,
    condition: Where,
    limit: int,
    scanned: Callable[[bytes, int], Sequence[int] | None] = lambda sketch, wanted: None,
) -> list[Scored]:
    """Entries by their cosine to the vector, nearest first.

    Args:
        scanned: returns the result of `nearest_sketches` if it is known already.
    """
    packed = vectors.packed_question(tuple(vector))
    if not packed.vector:
        return []
    if db.row(connection, "SELECT 1 FROM vectors LIMIT 1 OFFSET ?", (EXACT_SCAN_LIMIT,)):
        wanted = sketches_for(limit)
        if not condition.selective:
            rows = scanned(packed.sketch, wanted)
            near = nearest_sketches(connection, packed.sketch, wanted) if rows is None else rows
            scores = _cosines(connection, packed.vector, near)
            passing_ones = _first_passing(connection, _in_order(scores.items()), condition, limit)
            if len(passing_ones) >= limit:
                return passing_ones
        scores = _cosines(connection, packed.vector, _by_sketch(connection, packed.sketch, condition, wanted))
        return _scored(_in_order(scores.items())[:limit])
    return exactly_nearest(connection, packed.vector, condition, limit)


def exactly_nearest(connection: apsw.Connection, packed: bytes, condition: Where, limit: int) -> list[Scored]:
    """Like `nearest`, comparing every vector with the int8 `packed`."""
    sql = f"""SELECT v.entry, 1 - vec_distance_cosine(vec_int8(v.vector), vec_int8(?)) AS score
    FROM vectors v JOIN entries e ON e.rowid = v.entry WHERE length(v.vector) AND {condition.condition}
    ORDER BY score DESC, v.entry LIMIT ?"""
    return _scored(db.rows(connection, sql, (packed, *condition.arguments, limit)))


def nearest_sketches(connection: apsw.Connection, sketch: bytes, limit: int) -> list[int]:
    """The entries with the nearest sketches, without filters."""
    sql = "SELECT entry FROM sketches ORDER BY vec_distance_hamming(vec_bit(sketch), vec_bit(?)) LIMIT ?"
    return [row for (row,) in db.rows(connection, sql, (sketch, limit))]


def _by_sketch(connection: apsw.Connection, sketch: bytes, condition: Where, limit: int) -> list[int]:
    """Among the entries that pass the filter, those with the nearest sketches."""
    if condition.by_path:
        sql = f"""SELECT s.entry FROM sketches s WHERE s.entry IN (SELECT e.rowid FROM entries e
        WHERE {condition.condition}) ORDER BY vec_distance_hamming(vec_bit(s.sketch), vec_bit(?)) LIMIT ?"""
    else:
        sql = f"""SELECT s.entry FROM sketches s JOIN entries e ON e.rowid = s.entry WHERE {condition.condition}
        ORDER BY vec_distance_hamming(vec_bit(s.sketch), vec_bit(?)) LIMIT ?"""
    return [rowid for (rowid,) in db.rows(connection, sql, (*condition.arguments, sketch, limit))]


def cosines(connection: apsw.Connection, vector: Vector, entries: Iterable[int]) -> dict[int, float]:
    """The cosine of the vector to each of the entries that have one."""
    packed = vectors.packed_question(tuple(vector))
    return _cosines(connection, packed.vector, list(entries)) if packed.vector else {}


def _cosines(connection: apsw.Connection, packed: bytes, entries: Sequence[int]) -> dict[int, float]:
    sql = f"""SELECT entry, 1 - vec_distance_cosine(vec_int8(vector), vec_int8(?)) FROM vectors
    WHERE length(vector) AND entry IN {_GIVEN}"""
    return dict(db.rows(connection, sql, (packed, _numbers(entries))))


def passing(connection: apsw.Connection, entries: Iterable[int], condition: Where) -> set[int]:
    """The entries that fulfil the condition."""
    sql = f"SELECT e.rowid FROM entries e WHERE e.rowid IN {_GIVEN} AND {condition.condition}"
    return {row for (row,) in db.rows(connection, sql, (_numbers(entries), *condition.arguments))}


_GIVEN = "(SELECT value FROM json_each(?))"
"""Rows given as `_numbers`: the statement stays the same, so that it is compiled once."""


def _numbers(rows: Iterable[int]) -> str:
    return f"[{','.join(map(str, rows))}]"


def neighbours(connection: apsw.Connection, entries: Sequence[int]) -> list[Neighbours]:
    """The entries right before and after each of these in its session, in the order of writing."""
    beside = """(SELECT n.rowid FROM entries n WHERE n.session_id = e.session_id
        AND (n.created, n.line, n.ref) {sign} (e.created, e.line, e.ref)
        ORDER BY n.created {way}, n.line {way}, n.ref {way} LIMIT 1)"""
    before, after = beside.format(sign="<", way="DESC"), beside.format(sign=">", way="ASC")
    sql = f"""SELECT e.rowid, e.asks, {before}, {after} FROM entries e
    WHERE e.session_id IS NOT NULL AND e.rowid IN {_GIVEN}"""
    result = db.rows(connection, sql, (_numbers(entries),))
    return [Neighbours(row, bool(asks), *others) for row, asks, *others in result]


def following(connection: apsw.Connection, refs: Iterable[str], count: int) -> dict[str, list[int]]:
    """The entries right after each of these messages in its run, at most `count`, in order."""
    sql = f"""SELECT e.ref, n.rowid FROM entries e JOIN entries n ON n.rowid IN (
        SELECT a.rowid FROM entries a WHERE a.session_id = e.session_id
        AND (a.created, a.line, a.ref) > (e.created, e.line, e.ref) ORDER BY a.created, a.line, a.ref LIMIT ?)
    WHERE e.layer = 'MSG' AND e.session_id IS NOT NULL AND e.ref IN {_GIVEN}
    ORDER BY n.created, n.line, n.ref"""
    behind: dict[str, list[int]] = {}
    for ref, row in db.rows(connection, sql, (count, json.dumps([*refs]))):
        behind.setdefault(ref, []).append(row)
    return behind


def origins(connection: apsw.Connection, entries: Iterable[int]) -> dict[int, Origin]:
    """The speaker, session and time of each entry."""
    sql = f"""SELECT rowid, coalesce(session_id, ''), coalesce(speaker, ''), happened, stands, category, path, length
    FROM entries WHERE rowid IN {_GIVEN}"""
    rows = db.rows(connection, sql, (_numbers(entries),))
    return {
        key: Origin(session, speaker, when, stands, *_place(path), category or "", length)
        for key, session, speaker, when, stands, category, path, length in rows
    }


@lru_cache(maxsize=4096)
def _place(path: str) -> tuple[str, str]:
    """The part of an answer that a path belongs to, and the name of its text."""
    part = part_of(path)
    return part, path if part == DOCUMENTS or path.startswith("reflections/") else ""


def entries(connection: db.Connection, condition: str, *arguments: Any, order: str = "rowid") -> list[Row]:
    """The entries that fulfil a condition."""
    sql = f"SELECT {COLUMNS} FROM entries e WHERE {condition} ORDER BY {order}"
    return [entry_of(connection, each) for each in db.rows(connection, sql, arguments)]


def matches(connection: db.Connection, keys: Sequence[int]) -> list[Row]:
    """The entries with these row numbers, in this order."""
    sql = f"SELECT {COLUMNS} FROM entries WHERE rowid IN {_GIVEN}"
    by_row = {each[0]: entry_of(connection, each) for each in db.rows(connection, sql, (_numbers(keys),))}
    return [by_row[rowid] for rowid in keys if rowid in by_row]


def entry_of(connection: db.Connection, row: Sequence[Any]) -> Row:
    """The entry in a row of the columns `COLUMNS`."""
    *columns, digest = row
    check_bytes(connection, columns[3], digest)
    return Row(*columns)


def check_bytes(connection: db.Connection, raw: bytes, digest: str) -> None:
    """Compare the bytes of a large entry with their hash: a lost page reads as zeros, whose checksum is zero.

    Raises:
        DamagedError: they differ. (SQLite itself detects other pages of zeros.)
    """
    if len(raw) > db.MOST_IN_ITS_PAGE and codec.digest(raw) != digest:
        raise connection.found_damaged("bytes of an entry were lost")
