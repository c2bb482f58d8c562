"""Reflections: written from memories, refreshed when those change, never over what a person wrote."""
