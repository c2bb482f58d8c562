"""Sessions: the window of a conversation, what makes room in it, and what is learned when it ends."""
