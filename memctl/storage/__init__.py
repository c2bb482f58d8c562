"""The storage that memctl needs (`ports`), and its implementations."""
