"""The content of a competitor: its files, collected, hashed and kept in read-only folders to start from."""
