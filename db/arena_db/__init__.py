"""The store: writes and reads the rows of tournaments and matches; it does not know the rules of games."""
