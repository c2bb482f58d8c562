"""Putting memories into a prompt."""
