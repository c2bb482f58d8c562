"""What memctl needs of a storage, in protocols. A folder implements them; a database can as well."""
