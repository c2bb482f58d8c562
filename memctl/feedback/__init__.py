"""Feedback on memories and answers: its effect, its log, and pairs for preference training."""
