"""Measurements anyone can repeat: `make bench`. Speed is shown as ratios to a baseline of the same run."""
