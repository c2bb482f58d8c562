"""How a record, a reflection and a document are written: bytes and values, no disk."""
