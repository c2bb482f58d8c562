"""The index: one SQLite file, derived from the files and rebuilt from them at any time."""
