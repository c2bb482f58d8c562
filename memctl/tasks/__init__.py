"""Tasks: what an agent works on, from the request to the lessons."""
