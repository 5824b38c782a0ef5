"""Bots installed from wheels, each in its own folder, from which the arena never imports."""
