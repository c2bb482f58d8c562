"""What a conversation states, proposed as memories: rules in English and Chinese, and what to ask a model."""
