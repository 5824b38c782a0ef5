"""Web pages as HTML, rendered from view-models only, for both the static site and the server."""
