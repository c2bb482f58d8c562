"""The life of memories: pure functions from memories and `now` to changes. Nothing here reads a clock or a disk."""
