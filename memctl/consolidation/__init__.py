"""Consolidation: near-duplicates, knowledge from episodes, strategies from successes."""
