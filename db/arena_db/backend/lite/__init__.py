"""A store in a file of SQLite: how it is opened, locked, kept short, copied, moved and restored."""
