"""Names of pools, made and read in one place: `5/move hosted` is a limit and how bots were run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.errors import ConfigError
from arena.referee.timecontrol import TimeControl

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: Final[Mapping[bool, str]] = {False: "in-process", True: "hosted"}


def pool_name(limit: TimeControl, *, is_hosted: bool) -> str:
    """Return the name of a pool: only matches under one limit, run in one way, are compared."""
    return f"{limit} {_KINDS[is_hosted]}"


def limit_text(pool: str) -> str:
    """Return the limit that a pool's name begins with, as it is shown: `5/move` of `5/move hosted`.

    A name without a kind of run is the limit itself; stores of other makers may hold such names.
    """
    limit, _, kind = pool.rpartition(" ")
    return limit if kind in _KINDS.values() else pool


def is_pool(text: str) -> bool:
    """Return whether a text is a whole name of a pool, not just a limit."""
    return limit_text(text) != text


def limit_of(pool: str) -> TimeControl | None:
    """Return the limit of a pool; None where its name begins with none."""
    try:
        return TimeControl.from_text(limit_text(pool))
    except ConfigError:
        return None
