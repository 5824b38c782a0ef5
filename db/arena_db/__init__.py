"""The store: rows, not rules."""
