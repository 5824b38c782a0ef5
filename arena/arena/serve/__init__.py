"""The server: pages, an API and streams for browsers; it only reads the store, and loads no bot."""
