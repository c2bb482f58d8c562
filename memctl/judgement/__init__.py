"""What sentences say to each other, judged by words alone: the same, or what excludes it. Lists of words in `data/`."""
