"""The bot `alphazero`: a search guided by a network that estimates policy and value."""
