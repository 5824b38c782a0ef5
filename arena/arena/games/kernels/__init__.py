"""Compiled rules of k-in-a-row games: the same answers as the plain states, proven by tests, far faster."""
