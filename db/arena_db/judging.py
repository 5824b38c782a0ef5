"""Counts mistakes of judged matches inside a query: SQLite calls this for each analysis it looks at."""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

from arena_db.remark_codec import inflate

NUM_MISTAKES: Final = "num_mistakes"
"""Name of the function in SQL."""


def num_mistakes(content: bytes, num_opening: int) -> int | None:
    """Return how many actions of bots lost something; None if the analysis is damaged.

    None compares as unknown, so a damaged analysis fits no condition; `Store.check` reports it.

    Args:
        content: the analysis, packed.
        num_opening: how many actions were given; what they lose is no mistake of a bot.
    """
    try:
        rows: list[Any] = json.loads(inflate(content))
        return sum(loss is not None and loss > 0 for _, loss, _ in rows[num_opening:])
    except (zlib.error, ValueError, TypeError, RecursionError):
        return None
