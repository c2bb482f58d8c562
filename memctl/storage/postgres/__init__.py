"""Storage in PostgreSQL tables, with pgvector. Only this package imports psycopg."""
