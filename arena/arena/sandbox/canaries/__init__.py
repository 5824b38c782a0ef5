"""Canaries: things like those a bot must not touch, attacked by real bots, then looked at."""
