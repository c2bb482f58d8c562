"""Failing calls and power cuts, below Python and SQLite."""
