"""What can be done with one user's memories: a class of methods for each subject; `MemoryStore` is all of them."""
