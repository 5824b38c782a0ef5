"""Counts mistakes of judged matches inside a query: SQLite calls this for each analysis it looks at."""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

from arena_db.remark_codec import inflate

NUM_MISTAKES: Final = "num_mistakes"
"""Name of the function in SQL."""


def num_mistakes(content: bytes) -> int | None:
    """Return how many actions lost something, of the packed content of an analysis; None if it is damaged.

    None compares as unknown, so a damaged analysis fits no condition; `Store.check` reports it.
    """
    try:
        rows: list[Any] = json.loads(inflate(content))
        return sum(loss is not None and loss > 0 for _, loss, _ in rows)
    except (zlib.error, ValueError, TypeError, RecursionError):
        return None
