"""Names of pools as users write them; the store keeps their limits in columns of their own."""

from __future__ import annotations

from typing import Final, get_args

from arena_db.pools import Process

_PROCESSES: Final = get_args(Process)


def is_pool(text: str) -> bool:
    """Return whether a text is the full name of a pool, such as `5/move hosted`, and not only a limit."""
    return written_limit(text) != text


def written_limit(text: str) -> str:
    """Return the limit without the kind of process: `5/move` for `5/move hosted`."""
    limit, _, process = text.rpartition(" ")
    return limit if process in _PROCESSES else text
