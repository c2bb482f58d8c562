"""Conversations: messages kept word for word in a user's transcripts, found by queries, and deleted on demand."""
