"""Tasks: what an agent is at, from its request to what it taught."""
