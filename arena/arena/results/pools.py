"""Names of pools as people write them; the store has their limits in columns."""

from __future__ import annotations

from typing import Final, get_args

from arena_db.pools import Process

_PROCESSES: Final = get_args(Process)


def is_pool(text: str) -> bool:
    """Return whether a text is a whole name of a pool, `5/move hosted`, not just a limit."""
    return written_limit(text) != text


def written_limit(text: str) -> str:
    """Return the limit that somebody wrote without the kind of process: `5/move` of `5/move hosted`."""
    limit, _, process = text.rpartition(" ")
    return limit if process in _PROCESSES else text
