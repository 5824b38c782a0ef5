"""Search figures of each move in three rows: visits, their shares, policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.tui.text import right

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.live.wall import SearchTable
    from arena.tui.glyphs import Glyphs
    from arena.tui.text import Line

_UNITS = ((1000, "k"), (1_000_000, "M"), (1_000_000_000, "G"))
_THREE_DIGITS = 999.5
"""From this count on a unit is needed, since rounding would make it four digits."""
_TWO_DIGITS = 99.5
"""From this number of units on the next unit is used, which keeps a count within 3 characters."""


def search_rows(  # noqa: PLR0913, PLR0917 # what is shown, and where
    table: SearchTable | None, glyphs: Glyphs, order: Sequence[int], width: int, margin: int, inset: int = 0
) -> list[Line]:
    """Return the rows of figures; the first figure ends `width - inset` cells right of the margin.

    Args:
        table: the figures; missing ones are shown as `-`.
        glyphs: glyphs to draw with.
        order: indices of the moves from left to right.
        width: cells for a move.
        margin: cells for the head of a row.
        inset: cells left free between a number and the right end of its column.
    """
    nothing: Sequence[None] = (None,) * (max(order, default=0) + 1)
    player = " " if table is None else glyphs.players[table.player]
    visits = table.visits if table and table.visits else nothing
    shares = table.shares if table and table.shares else nothing
    policy = table.policy if table and table.policy else nothing
    rows = {
        f"N {player}": [short_count(number) for number in visits],
        "N%": [_percent(share) for share in shares],
        "P%": [_percent(share) for share in policy],
    }
    # The longest head uses the blank before the first number.
    return [
        (
            (f" {name:<{margin}}", "dim"),
            (in_columns([texts[index] for index in order], width, inset), "eval"),
        )
        for name, texts in rows.items()
    ]


def in_columns(texts: Iterable[str], width: int, inset: int = 0) -> str:
    """Align texts to the right, each `inset` cells before the end of its column, without the first blank."""
    return "".join(right(text, width) for text in texts)[1 + inset :]


def short_count(number: float | None) -> str:
    """Format a count in at most 3 characters: `7`, `611`, `12k`, `.4M`; `-` for None."""
    if number is None:
        return "-"
    if number < _THREE_DIGITS:
        return f"{number:.0f}"
    for unit, sign in _UNITS:
        if number / unit < _TWO_DIGITS:
            text = f"{number / unit:.0f}{sign}"
            return f"{number / unit:.1f}{sign}"[1:] if text.startswith("0") else text
    return "big"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"
