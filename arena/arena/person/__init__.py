"""Matches of a person against a bot: the person's moves arrive as commands in the store."""
