"""The bot `td-lambda`: a value learnt by temporal differences, and what trains it."""
