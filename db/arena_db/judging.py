"""Counts mistakes in stored analyses, as an SQL function that SQLite calls for each analysis it reads."""

from __future__ import annotations

import json
import zlib
from typing import Any, Final, cast

from arena_db.remark_codec import inflate

NUM_MISTAKES: Final = "num_mistakes"
"""Name of the SQL function."""
MISTAKE: Final = 0.5
"""Minimum loss, on the value scale of [-1, 1], of an action that is a mistake. The exact solver has whole
numbers only; a bot's estimates vary by less from ply to ply without any mistake."""


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
    """Return the number of bots' mistakes; None if the analysis is incomplete or damaged.

    None compares as unknown, so such an analysis fits no condition; `Store.integrity.check` reports damage.

    Args:
        content: the compressed analysis.
        num_opening: number of actions of the opening; bots did not choose those.
    """
    try:
        _, rows = read_rows(content)
        if None in rows:
            return None
        return sum(row[1] is not None and row[1] >= MISTAKE for row in rows[num_opening:])
    except (zlib.error, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
