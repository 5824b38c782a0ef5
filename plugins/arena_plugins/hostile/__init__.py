"""Bots that misbehave, one way each, to show what the referee and the isolation do about it."""
