"""A storage made of tables in PostgreSQL, with pgvector. Nothing outside of this package knows psycopg."""
