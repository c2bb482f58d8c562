"""A storage made of a folder: its files, and the index derived from them."""
