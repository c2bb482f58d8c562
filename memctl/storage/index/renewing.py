"""Copying entries into a new index file, so that no page of the old one is left."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import apsw

from memctl.storage.entries import columns
from memctl.storage.index.rows import FILE_COLUMNS

_BODIES_WITHOUT_TERMS = """INSERT INTO full_text (rowid, body) SELECT rowid, '' FROM entries
WHERE rowid NOT IN (SELECT id FROM full_text_docsize)"""


def copy(
    old: apsw.Connection, new: apsw.Connection, paths: Collection[str], gone: Collection[tuple[str, str]], header: bool
) -> None:
    """Copy the entries of some files, with their vectors, into a new index.

    Args:
        gone: entries of these files to omit, by path and ref.
        header: whether to copy what is known of the rest of `memory.json`.
    """
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
        _insert(new, table, names, rows)
    _insert(new, "files", FILE_COLUMNS, (r for r in old.execute(f"SELECT {FILE_COLUMNS} FROM files") if r[0] in paths))
    _insert(new, "full_text", "rowid, body", _bodies(old, left_out))
    new.execute(_BODIES_WITHOUT_TERMS)
    kept = ("model", "header", "logged") if header else ("model",)
    _insert(new, "meta", "name, value", (r for r in old.execute("SELECT name, value FROM meta") if r[0] in kept))


def _insert(connection: apsw.Connection, table: str, names: str, rows: Iterable[Sequence[Any]]) -> None:
    marks = ",".join("?" * len(names.split(",")))
    connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)


def _bodies(connection: apsw.Connection, left_out: Collection[int]) -> apsw.Cursor:
    """The prepared text of each entry with terms, reconstructed from full text, which stores only positions."""
    connection.execute("CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, full_text, instance)")
    in_order = """SELECT doc, term FROM temp.places WHERE doc NOT IN (SELECT value FROM json_each(?))
    ORDER BY doc, offset"""
    sql = f"SELECT doc, group_concat(term, ' ') FROM ({in_order}) GROUP BY doc"
    return connection.execute(sql, (json.dumps([*left_out]),))
