"""Tournaments: configuration, plan, coordinator; pairings -> matches -> store, with events."""
