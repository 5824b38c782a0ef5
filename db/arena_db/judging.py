"""Counts mistakes of judged matches inside a query: SQLite calls this for each analysis it looks at."""

from __future__ import annotations

import json
import zlib
from typing import Any, Final, cast

from arena_db.remark_codec import inflate

NUM_MISTAKES: Final = "num_mistakes"
"""Name of the function in SQL."""
MISTAKE: Final = 0.5
"""An action that loses at least so much is a mistake. The exact solver knows whole numbers only; what a bot
estimates differs by less from ply to ply although nobody errs."""


def read_rows(content: bytes) -> tuple[str, list[Any]]:
    """Return the identity of the judge, empty for the solver, and a row per action, None if pending.

    Raises:
        zlib.error, ValueError, TypeError, RecursionError: the content is damaged.
    """
    found: object = json.loads(inflate(content))
    if isinstance(found, dict):
        said = cast("dict[str, Any]", found)
        return str(said.get("by", "")), list(said["plies"])
    return "", list(cast("list[Any]", found))


def num_mistakes(content: bytes, num_opening: int) -> int | None:
    """Return how many actions of bots were mistakes; None if the analysis is incomplete or damaged.

    None compares as unknown, so such an analysis fits no condition; `Store.check` reports damage.

    Args:
        content: the analysis, packed.
        num_opening: how many actions were given; what they lose is no mistake of a bot.
    """
    try:
        _, rows = read_rows(content)
        if None in rows:
            return None
        return sum(row[1] is not None and row[1] >= MISTAKE for row in rows[num_opening:])
    except (zlib.error, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
