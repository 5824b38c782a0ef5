"""Computes ratings with intervals from results: numbers only, no store and no files."""
