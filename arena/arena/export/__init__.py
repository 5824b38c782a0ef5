"""Exports stored matches as training data and as text, and reads both again."""
