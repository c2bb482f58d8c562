"""What memctl needs of a storage, and the storages there are."""
