"""Memories: adding, changing and querying them, and saving for assistants."""
