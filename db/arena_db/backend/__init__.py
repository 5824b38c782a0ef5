"""The database of a store: a file of SQLite, or a database on a PostgreSQL server."""
