"""Facts with a key and a value: one value is active at a time; the rest is superseded, or waits as a candidate."""
