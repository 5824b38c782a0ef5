"""The bot `keras`, a classifier of positions into loss, draw and win, and its trainer."""
