"""The bundled bots. They are found through entry points like any other bot, and do not import each other."""
