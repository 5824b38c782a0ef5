"""The server: pages, an API and streams for browsers; it reads the store, and loads no bot."""
