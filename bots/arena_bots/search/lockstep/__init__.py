"""Tree search guided by a net, in many games at once: one call of the net for the leaves of all of them."""
