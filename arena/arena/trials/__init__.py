"""Trials of the arena itself: matches against bots that misbehave, and what is left of them."""
