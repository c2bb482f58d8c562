"""Feedback on memories and answers: what it changes, its log, and pairs for preference training."""
