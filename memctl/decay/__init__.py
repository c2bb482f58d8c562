"""Fading: what is not used any more is archived, by policies that forecast it."""
