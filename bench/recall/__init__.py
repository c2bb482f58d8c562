"""Retrieval on public data, through memctl's own public API, beside baselines in the same run."""
