"""The games that `alphazero` plays and learns."""

from __future__ import annotations

GAMES = ("connect-four", "gomoku:k=4,size=6", "tic-tac-toe")
"""By their specs."""
