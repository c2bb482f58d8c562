"""Retrieval: from a question to hits: route, retrieve, rank."""
