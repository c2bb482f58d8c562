"""From a question to hits: route, retrieve, rank."""
