"""Matches of a person against a bot: the person's seat is answered by commands in the store."""
