"""The processes bots live in: tiers of isolation, limits, scratch folders."""
