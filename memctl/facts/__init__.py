"""Facts with a key and a value: one value is active at a time; others are superseded, or wait as candidates."""
