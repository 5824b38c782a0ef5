"""The processes in which bots run: isolation tiers, resource limits, scratch folders."""
