"""What a competitor consists of: its files, collected, hashed and kept in read-only folders to start from."""
