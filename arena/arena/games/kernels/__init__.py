"""Compiled rules of k-in-a-row games: much faster than the plain states; tests check that they agree."""
