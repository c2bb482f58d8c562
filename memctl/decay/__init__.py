"""Decay: memories that are no longer used are archived, by policies that also forecast it."""
