"""History: past states of the memories, the differences since, undo and redo."""
