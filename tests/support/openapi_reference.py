"""Writes docs/reference/openapi.json from the table of routes: run this file to update it."""

from __future__ import annotations

from arena.serve.api.api_rows import describe, written
from arena.serve.server import ROUTES
from source_tree import ROOT

PAGE = ROOT / "docs" / "reference" / "openapi.json"


def render() -> bytes:
    """Return the description of the API."""
    return written(describe(ROUTES))


if __name__ == "__main__":
    PAGE.write_bytes(render())
