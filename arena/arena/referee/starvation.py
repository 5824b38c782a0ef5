"""Finds for how long a bot waited for a processor that others had: time that it is given back."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from arena.referee.stall import delays_itself, kept_by_others_s, near_s
from arena.sandbox.family import members
from arena.sandbox.waiting import Waiting, idle_s, tick_s

if TYPE_CHECKING:
    from collections.abc import Collection


class _Mark(NamedTuple):
    """What was known at the first look."""

    at: float
    idle_s: dict[int, float]
    used_s: float
    """CPU of the bot and of this process together."""


class Starvation:
    """Adds up the waits of one bot near the deadline of one answer.

    An answer that comes early costs nothing, and one that comes late but in time costs one look.
    """

    def __init__(self, pid: int, cores: Collection[int]) -> None:
        """Watch a bot.

        Args:
            pid: its first process.
            cores: those it may run on.
        """
        self._pid = pid
        self._pids: tuple[int, ...] = ()
        self._cores = cores
        self._waiting: Waiting | None = None
        self._next_at = self._late_from = math.inf
        self._at = self._used_s = self._waited_s = 0.0
        self._mark = _Mark(0.0, {}, 0.0)

    def begin(self, deadline: float, margin_s: float) -> None:
        """Forget the last answer; look when the next one is nearly late.

        Args:
            deadline: of the next one with the margin, by `time.monotonic`.
            margin_s: the margin.
        """
        self._waiting = None
        self._late_from = deadline - margin_s
        self._next_at = deadline - near_s(margin_s)

    def look(self, now: float, used_s: float) -> None:
        """Note what the bot did since the last look, if it is time.

        Args:
            now: by `time.monotonic`.
            used_s: seconds of CPU that the bot has used so far. Read it just before: that brings the kernel's
                counts of running threads up to date.
        """
        if now < self._next_at:
            return
        self._next_at = self._late_from
        if self._waiting is None:
            # Found once: they take longer to find than to look at, and from T2 on no bot starts further ones.
            self._pids = self._pids or tuple(members(self._pid))
            self._waiting = Waiting(self._pids)
            self._waited_s = 0.0
            self._mark = _Mark(now, idle_s(self._cores), used_s + time.process_time())
        progress = self._waiting.look(now)
        wall_s, spent_s = now - self._at, max(used_s - self._used_s, progress.ran_s)
        self._at, self._used_s = now, used_s
        if not delays_itself(used_s=spent_s, wall_s=wall_s, num_cores=len(self._cores)):
            self._waited_s += min(progress.waited_s, max(0.0, wall_s - spent_s))

    def waited_s(self, used_s: float) -> float:
        """Look once more and return for how many seconds others kept the bot from its cores, at the most.

        Args:
            used_s: as for `look`.
        """
        now = time.monotonic()
        self.look(now, used_s)
        mark = self._mark
        if self._waiting is None or self._waited_s == 0:
            return 0.0
        idle = idle_s(self._cores)
        if not idle or idle.keys() != mark.idle_s.keys():
            return 0.0
        return kept_by_others_s(
            waited_s=self._waited_s,
            wall_s=now - mark.at,
            # A time counted in ticks is up to one longer.
            idle_s=[seconds - mark.idle_s[core] + tick_s() for core, seconds in idle.items()],
            # What the referee uses while it looks, or reads what the bot prints, is the bot's doing, too.
            used_s=used_s + time.process_time() - mark.used_s,
        )
