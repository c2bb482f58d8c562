"""Parses and renders memories in the formats of other tools; never touches the store."""
