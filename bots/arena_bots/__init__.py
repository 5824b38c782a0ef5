"""The bundled bots, found through entry points like anybody's; they do not know each other."""
