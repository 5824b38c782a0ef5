"""A store in a file of SQLite: opening, locking, write-ahead log, copies, moves and restores."""
