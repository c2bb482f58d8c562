"""Finding problems in a user's folder, with file and line, and repairing those that are safe to repair."""
