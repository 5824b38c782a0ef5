"""The style sheets, the script and the icon of pages, and the style rules for stepping through a match."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final


@cache
def asset_files() -> dict[str, bytes]:
    """Return the files that pages refer to by `Links.asset`, by name.

    A replay has a single style sheet, which includes the rules of its plies: a second one would delay the
    first display by another request.
    """
    found = {file.name: file.read_bytes() for file in (files("arena.pages") / "assets").iterdir()}
    found["replay.css"] = found["style.css"] + ply_rules().encode()
    return found


MAX_PLIES: Final = 400
"""Maximum number of plies of a match that can be stepped through without a script."""


def ply_rules(most: int = MAX_PLIES) -> str:
    """Return the style rules for the plies 0 to `most`.

    The rules of a ply hide later stones, highlight its move and its stone, and show its links to the previous
    and the next ply. An element `p<n>` before board and moves is the target of the address.
    """
    rules: list[str] = []
    for ply in range(most + 1):
        here = f"#p{ply}:target~*"
        rules.append(
            f"{here} .g{ply + 1}{{display:none}}{here} .l{ply}{{visibility:visible}}"
            f"{here} .m{ply}{{background:var(--here)}}{here} .c{ply}{{visibility:visible}}"
            f"{here} .s{ply}{{display:flex}}"
        )
    return "\n".join(rules)
