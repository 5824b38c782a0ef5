"""The style sheets, the script and the icon of pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from arena.pages.plies import ply_rules


@cache
def asset_files() -> dict[str, bytes]:
    """Return the files that pages refer to by `Links.asset`, by name.

    A replay has a single style sheet, which includes the rules of its plies: a second one would delay the
    first display by another request.
    """
    found = {file.name: file.read_bytes() for file in (files("arena.pages") / "assets").iterdir()}
    found["replay.css"] = found["style.css"] + ply_rules().encode()
    return found
