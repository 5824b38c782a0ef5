"""Exact solvers: who wins with best play, and in how many plies."""
