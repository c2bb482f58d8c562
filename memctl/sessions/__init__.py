"""Sessions: the window of a conversation, compacting it, and learning from its messages."""
