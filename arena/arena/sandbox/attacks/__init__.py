"""Attacks of a hostile bot, run inside a bot's process, where only the standard library is at hand."""
