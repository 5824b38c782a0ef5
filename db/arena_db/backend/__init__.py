"""What a store lies in: a file of SQLite, or a server of PostgreSQL."""
