"""Judges stored matches: by the exact solver, or by a bot that runs as any bot does."""
