"""The files of a store: the truth."""
