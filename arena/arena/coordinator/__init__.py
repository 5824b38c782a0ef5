"""Runs tournaments: configures and plans them, dispatches their matches, stores results, publishes events."""
