"""Web pages as HTML, made of view-models alone: a static site and a server show the same."""
