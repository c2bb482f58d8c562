"""What was: the memories of another time, what is different since, and taking changes back."""
