"""The columns of a list of stored matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from arena.live.plain import duration_text, moment_text
from arena.live.table_views import MatchRow


class MatchColumn(msgspec.Struct, frozen=True):
    """A column of the list."""

    key: str
    head: str
    width: int
    """Minimum width in cells; addresses get the width they need, names the remaining room."""
    write: Callable[[MatchRow], str]
    is_right: bool = False


def _took(milliseconds: int) -> str:
    """Format the duration of a match in at most seven cells: `340 ms`, `7.2 s`, `12 min`, `5.2 h`."""
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds} ms"
    if seconds < _LONG_S:
        return f"{seconds:.1f} s"
    return duration_text(seconds) if seconds < _HOURS_S else f"{seconds / 3600:.1f} h"


COLUMNS: Sequence[MatchColumn] = (
    MatchColumn("number", "match", 8, lambda row: row.address),
    MatchColumn("first", "first", 16, lambda row: row.names[0]),
    MatchColumn("result", "result", 6, lambda row: row.result),
    MatchColumn("second", "second", 16, lambda row: row.names[1]),
    MatchColumn("termination", "by", 12, lambda row: row.end),
    MatchColumn("plies", "ply", 4, lambda row: str(row.plies), is_right=True),
    MatchColumn("date", "began", 16, lambda row: moment_text(row.t)),
    MatchColumn("duration", "took", 7, lambda row: _took(row.duration_ms), is_right=True),
    MatchColumn(
        "mistakes", "err", 3, lambda row: "-" if row.mistakes is None else str(row.mistakes), is_right=True
    ),
    MatchColumn("opening", "opening", 24, lambda row: row.opening or "empty board"),
    MatchColumn("game", "game", 20, lambda row: row.game),
)
"""The columns in order; the last ones are left out first if there is no room."""
_LONG_S = 90
"""Seconds from which tenths are not shown."""
_HOURS_S = 89.5 * 60
"""Seconds from which `duration_text` writes hours and minutes, which do not fit into the column."""
ALWAYS = 4
"""Number of columns that are shown at any width."""
SORTS = ("number", "date", "plies", "duration")
"""The columns that `s` cycles through; the store has an index for each."""
