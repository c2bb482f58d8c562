"""Whole dialogues played through an agent's memory, and how much of the evidence its next context holds."""
