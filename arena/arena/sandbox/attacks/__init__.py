"""Attacks of a hostile bot. They run inside a bot's process, where only the standard library is available."""
