"""The bot `td-lambda`, with a value function learnt by temporal differences, and its trainer."""
