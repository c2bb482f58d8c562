"""Rules for texts in natural language: which language it is, where sentences end, how a text is shortened."""
