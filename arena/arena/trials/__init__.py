"""Trials of the arena itself: matches against misbehaving bots, with a check of what they leave behind."""
