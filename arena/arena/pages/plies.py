"""The style rules for stepping through a match: the fragment of its address is the ply, as in `#p17`."""

from __future__ import annotations

from typing import Final

MAX_PLIES: Final = 400
"""Plies of the longest match that can be stepped through without a script."""


def ply_rules(most: int = MAX_PLIES) -> str:
    """Return the style rules for the plies 0 to `most`.

    Stones after the ply are hidden, its move and its last stone are highlighted, and the links "back" and
    "on" are those of that ply. An element `p<n>` before board and moves is the target of the address.
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
