"""Events whose plan is known before the first match: match, round robin, gauntlet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.schedules.protocol import Closed, PlannedBatch

if TYPE_CHECKING:
    from arena.pairing.schedule import FixedPlan
    from arena.schedules.protocol import Next, View


@dataclass(frozen=True, slots=True)
class FixedSchedule:
    """Hands out a fixed plan piece by piece; results change nothing."""

    fixed: FixedPlan
    """The plan, of the version the event was stored with."""

    def next(self, view: View, wanted: int) -> Next:
        """Return the next `wanted` matches; none of those before is computed again."""
        begin = len(view.plan)
        total = self.fixed.total
        if begin >= total:
            return Closed()
        return PlannedBatch(list(self.fixed.matches(begin, begin + wanted)), total)
