"""The storage that memctl needs, as protocols. A folder implements them; a database can too."""
