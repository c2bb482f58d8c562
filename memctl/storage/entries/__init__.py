"""Entries: what can be found of a memory, a text or a message, the same in every storage."""
