"""Bots installed from wheels, each in a folder of its own, where nothing of the arena ever imports from."""
