"""Exact solvers: the outcome under perfect play, and the number of plies to it."""
