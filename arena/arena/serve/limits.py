"""Limits on requests and streams, per client address and in total."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from arena.serve.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

RATE: Final = 50.0
"""Number of sustained requests per second of one address; a whole school may share an address."""
BURST: Final = 300.0
"""Number of requests that one address may send in a burst."""
STREAMS: Final = 64
"""Number of streams that one address may keep open."""
ALL_STREAMS: Final = 1000
"""Maximum number of streams of all addresses; each takes about 30 kB of memory."""
_MOST_KNOWN: Final = 10_000
"""Number of addresses whose budgets are kept; if there are more, full budgets are dropped."""


class _Budget(msgspec.Struct):
    left: float
    at: float
    streams: int = 0


class RequestLimits:
    """Counts requests and streams by address; only the event loop may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create full budgets.

        Args:
            clock: monotonic seconds.
        """
        self._clock = clock
        self._budgets: dict[str, _Budget] = {}
        self.num_streams = 0
        """Number of open streams."""

    def count(self, address: str) -> None:
        """Count a request.

        Raises:
            ProblemError: 429, the address has sent too many requests.
        """
        budget = self._budget(address)
        if budget.left < 1:
            wait = max(1, round((1 - budget.left) / RATE + 0.5))
            raise ProblemError(
                429, f"Too many requests: at most {RATE:.0f} a second from one address.", retry_after=wait
            )
        budget.left -= 1

    @contextmanager
    def stream(self, address: str) -> Generator[None]:
        """Count an open stream for a `with` block.

        Raises:
            ProblemError: 429, the address has too many streams; 503, the server has too many.
        """
        if self.num_streams >= ALL_STREAMS:
            raise ProblemError(
                503, f"The server shows {ALL_STREAMS:,} live pages, its maximum.", retry_after=30
            )
        budget = self._budget(address)
        if budget.streams >= STREAMS:
            raise ProblemError(
                429, f"Too many live pages from one address: at most {STREAMS}.", retry_after=30
            )
        budget.streams += 1
        self.num_streams += 1
        try:
            yield
        finally:
            budget.streams -= 1
            self.num_streams -= 1

    def _budget(self, address: str) -> _Budget:
        now = self._clock()
        budget = self._budgets.get(address)
        if budget is None:
            if len(self._budgets) >= _MOST_KNOWN:
                self._forget(now)
            budget = self._budgets[address] = _Budget(left=BURST, at=now)
        # A token bucket: its level is computed when it is used, so that no task is needed to fill it.
        budget.left = min(BURST, budget.left + (now - budget.at) * RATE)
        budget.at = now
        return budget

    def _forget(self, now: float) -> None:
        """Drop full budgets, and if that is not enough, those of the addresses seen first."""
        for address, budget in list(self._budgets.items()):
            if not budget.streams and budget.left + (now - budget.at) * RATE >= BURST:
                del self._budgets[address]
        # Down to half, so that not each of the next new addresses causes a scan.
        idle = [address for address, budget in self._budgets.items() if not budget.streams]
        for address in idle[: max(0, len(self._budgets) - _MOST_KNOWN // 2)]:
            del self._budgets[address]
