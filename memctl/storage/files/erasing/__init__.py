"""Erasing memories from every file of a user's, so that no word of them is left."""
