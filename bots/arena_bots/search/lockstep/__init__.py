"""Tree search guided by a network in many games at once: one call evaluates the leaves of all games."""
