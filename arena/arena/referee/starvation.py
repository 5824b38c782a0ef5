"""Measures how long other processes kept a bot from a processor: time that is given back to the bot."""

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
    """The measurements of the first look, which later ones are compared with."""

    at: float
    idle_s: dict[int, float]
    used_s: float
    """CPU seconds of the bot and of this process together."""


class Starvation:
    """Adds up the waits of one bot near the deadline of one answer.

    An early answer costs nothing; a late answer that is still in time costs one look.
    """

    def __init__(self, pid: int, cores: Collection[int]) -> None:
        """Prepare to watch a bot.

        Args:
            pid: the id of its first process.
            cores: the cores it may run on.
        """
        self._pid = pid
        self._pids: tuple[int, ...] = ()
        self._cores = cores
        self._waiting: Waiting | None = None
        self._next_at = self._late_from = math.inf
        self._at = self._used_s = self._waited_s = 0.0
        self._mark = _Mark(0.0, {}, 0.0)

    def begin(self, deadline: float, margin_s: float) -> None:
        """Reset for a new answer; looking starts when it is nearly late.

        Args:
            deadline: deadline of the answer, margin included, by `time.monotonic`.
            margin_s: the margin, in seconds.
        """
        self._waiting = None
        self._late_from = deadline - margin_s
        self._next_at = deadline - near_s(margin_s)

    def look(self, now: float, used_s: float) -> None:
        """Measure the bot if the deadline is near.

        Args:
            now: the time by `time.monotonic`.
            used_s: CPU seconds that the bot has used so far. Read them just before the call, because that
                updates the kernel's counters of running threads.
        """
        if now < self._next_at:
            return
        self._next_at = self._late_from
        if self._waiting is None:
            # Found only once: finding processes takes longer than measuring them, and from T2 on no bot can
            # start further ones.
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
        """Measure once more; return the maximum seconds for which others kept the bot from its cores.

        Args:
            used_s: CPU seconds that the bot has used so far, as for `look`.
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
            # Idle time is counted in ticks, so it may be one tick too short.
            idle_s=[seconds - mark.idle_s[core] + tick_s() for core, seconds in idle.items()],
            # CPU time that the referee spends on watching the bot or reading its output counts as the bot's.
            used_s=used_s + time.process_time() - mark.used_s,
        )
