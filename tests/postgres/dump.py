"""All that a database holds of memctl's, as text: what `pg_dump` would write, and the readable form of every value."""

from __future__ import annotations

import psycopg

TABLES = """SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname = 'memctl' AND relkind = 'r' ORDER BY 1"""


def dump(admin: str) -> dict[str, list[str]]:
    """The rows of each table, each as one text with all its columns; bytes are decoded."""
    with psycopg.connect(admin) as connection:
        tables = [name for (name,) in connection.execute(TABLES)]
        return {
            name: sorted(map(_text, connection.execute(f"SELECT * FROM memctl.{name}".encode()))) for name in tables
        }


def _text(row: tuple[object, ...]) -> str:
    return "\t".join(each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in row)


_DERIVED = {
    "entries": """SELECT e.path, e.ref, e.part, e.record, e.hash, e.digest, e.line, e.memory_id, e.created, e.size, e.embedded, e.raw
        FROM memctl.entries e WHERE e.user_id = %s""",
    **{
        table: f"""SELECT e.path, e.ref, {columns} FROM memctl.{table} t
        JOIN memctl.entries e ON e.user_id = t.user_id AND e.n = t.n WHERE t.user_id = %s"""
        for table, columns in (
            ("postings", "t.term, t.tf, t.size, t.part"), ("tags", "t.tag"), ("links", "t.target"),
            ("vectors", "t.part, t.norm, t.vector::text"), ("sketches", "t.part, t.sketch::text"),
        )
    },
    "indexes": """SELECT rules, model, memories, messages, documents, size, vectors, messages_to, problems
        FROM memctl.indexes WHERE user_id = %s""",
}  # fmt: skip


def derived(admin: str, user: str) -> dict[str, list[tuple[object, ...]]]:
    """All that is derived of a user, by paths instead of numbers."""
    with psycopg.connect(admin) as connection:
        return {
            name: sorted(connection.execute(sql.encode(), (user,)).fetchall(), key=repr)
            for name, sql in _DERIVED.items()
        }
