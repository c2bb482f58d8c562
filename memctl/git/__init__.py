"""The user's own git: asking it, setting it up for memory files, and what it calls to merge and to show them."""
