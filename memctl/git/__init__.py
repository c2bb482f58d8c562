"""The user's git: queries, the setup for memory files, and the drivers and hooks that git calls."""
