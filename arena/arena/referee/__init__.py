"""The referee: asks a bot for its move, times it, checks it, decides; it trusts nobody."""
