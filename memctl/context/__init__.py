"""Building contexts: memories, messages and documents for a prompt."""
