"""A bot for bot-arena."""
