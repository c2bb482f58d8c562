"""What was said, word for word: messages in the transcripts of a user, found again, and deleted on demand."""
