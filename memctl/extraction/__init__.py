"""What a conversation states and corrects about its user: rules, what to ask a model, and learning it."""
