"""Stored matches as training data and as text, and what reads it again."""
