"""How well one's own memories are found, measured with questions whose answers are known."""
