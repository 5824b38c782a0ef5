"""Pairings, sides and openings of matches: pure functions, no store."""
