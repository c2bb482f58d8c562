"""Working memory (L1): the window of a conversation and the task at hand. Pure rules over frozen values."""
