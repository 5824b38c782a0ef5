"""Who meets whom, on which side, from which opening: pure functions, no store."""
