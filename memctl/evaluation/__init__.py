"""Measuring search quality on the user's own memories, with questions whose answers are known."""
