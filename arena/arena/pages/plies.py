"""The style sheet by which a match is stepped through: its address says the ply, as `#p17`."""

from __future__ import annotations

from typing import Final

MAX_PLIES: Final = 400
"""Of the longest match that can be stepped through without a script."""


def ply_rules(most: int = MAX_PLIES) -> str:
    """Return rules for the plies 0 to `most`.

    Stones after the ply are hidden, its move and its last stone are marked, and the links behind "back" and
    "on" are those of that ply. An element `p<n>` before board and moves is what an address aims at.
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
