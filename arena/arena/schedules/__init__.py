"""Schedules: the next matches of a tournament, as pure functions of the results so far."""
