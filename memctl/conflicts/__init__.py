"""Finding memories that contradict one another, and settling which is true."""
