"""Memories from and to the forms of other tools: parsing and rendering only, the store is never touched."""
