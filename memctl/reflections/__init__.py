"""Reflections: written from memories, refreshed when these change, and never over the user's own edits."""
