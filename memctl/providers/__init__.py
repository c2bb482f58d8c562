"""Embedding models behind one protocol, loaded lazily by name. Imports neither files nor index."""
