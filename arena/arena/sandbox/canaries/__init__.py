"""Canaries: stand-ins for what a bot must not touch. Real bots attack them; then they are examined."""
