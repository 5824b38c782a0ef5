"""The bot `alphazero`: a net that says what is promising and how it will end, and a search that it guides."""
