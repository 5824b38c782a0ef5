"""Grades stored matches with the exact solver, or with a bot that runs like any other bot."""
