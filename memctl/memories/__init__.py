"""Memories: adding, changing and asking, what an assistant saves, and how they are kept safe."""
