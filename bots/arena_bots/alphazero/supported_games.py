"""The games that `alphazero` can play and learn."""

from __future__ import annotations

GAMES = ("connect-four", "gomoku:k=4,size=6", "tic-tac-toe")
"""The games' specs."""
