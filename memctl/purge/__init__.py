"""Purging memories from a folder: what a purge erases, in which files, and what else mentions it."""
