"""DERIVED: a SQLite file that can be deleted at any time. Imports neither files nor providers."""
