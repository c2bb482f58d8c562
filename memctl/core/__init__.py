"""Shared vocabulary: values that every part of the program passes around."""
