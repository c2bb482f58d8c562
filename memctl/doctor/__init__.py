"""Finds problems in a user's folder, with file and line, and repairs those that are safe to repair."""
