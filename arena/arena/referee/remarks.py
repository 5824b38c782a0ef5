"""Passes the remarks of a thinking bot on to viewers: the latest one, at most twice a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_News = TypeVar("_News")

_INTERVAL_S = 0.5
"""Minimum seconds between two remarks of one match: a viewer reads no faster, and each becomes an event in
the store."""


class NewsGate(Generic[_News]):
    """Rate-limits remarks to two per second; a newer remark replaces a pending one."""

    def __init__(
        self, pass_on: Callable[[int, _News], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make a gate without a pending remark.

        Args:
            pass_on: called as `pass_on(ply, remark)`.
            clock: returns the time in seconds.
        """
        self._pass_on = pass_on
        self._clock = clock
        self._opens_at = clock()
        self._pending: tuple[int, Callable[[], _News]] | None = None

    def offer(self, ply: int, make: Callable[[], _News]) -> None:
        """Make a remark the pending one, replacing any other, until the next pulse.

        Args:
            ply: the ply of the position it is about.
            make: makes the remark; called only if it is passed on.
        """
        self._pending = (ply, make)

    def pulse(self) -> None:
        """Pass on the pending remark if the interval is over."""
        if self._pending is not None and (now := self._clock()) >= self._opens_at:
            ply, make = self._pending
            self._pending = None
            self._opens_at = now + _INTERVAL_S
            self._pass_on(ply, make())

    def drop(self) -> None:
        """Discard the pending remark, because the move with its final thoughts has arrived."""
        self._pending = None
