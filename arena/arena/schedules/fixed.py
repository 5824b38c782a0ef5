"""Types whose plan is known before the first match: match, round robin, gauntlet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from arena.schedules.protocol import Closed, PlannedBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.pairing.schedule import FixedPlan
    from arena.schedules.protocol import Next, Participant, View
    from arena_db.records import Entrant


@dataclass(frozen=True, slots=True)
class FixedSchedule:
    """Returns a fixed plan piece by piece; results do not change it, only bots that join or leave do."""

    fixed: FixedPlan
    """The plan, of the version that the tournament was stored with."""

    def next(self, view: View, wanted: int) -> Next:
        """Return the next `wanted` matches without computing earlier ones.

        After bots have joined or left, the plan continues with the encounters of the present bots: those that
        were played least often come first.
        """
        # Counting the matches of each encounter reads the whole plan. Without changes the next matches depend
        # on their number alone, so only a changed tournament is counted.
        if has_changed(view.seats):
            return self._rest(view, wanted)
        begin = len(view.plan)
        total = self.fixed.total
        if begin >= total:
            return Closed()
        return PlannedBatch(list(self.fixed.matches(begin, begin + wanted)), total)

    def _rest(self, view: View, wanted: int) -> Next:
        """Return the next matches of the bots that take part now."""
        plan = plan_for(self.fixed, len(view.seats))
        planned = Counter(match.encounter for match in view.plan)
        is_here = [who.state == "playing" for who in view.seats]
        still = [each for each in plan.round_of() if is_here[each[1]] and is_here[each[2]]]
        num_left = sum(max(0, plan.rounds * plan.games - planned[each[0]]) for each in still)
        if not num_left:
            return Closed()
        needed = (
            (encounter, (low, high), match_no)
            for round_no in range(plan.rounds)
            for encounter, low, high in still
            # Round by round, without the matches that an encounter has already: those that are behind come
            # first.
            for match_no in range(max(planned[encounter], round_no * plan.games), (round_no + 1) * plan.games)
        )
        found = [
            plan.match_of(number, *match)
            for number, match in enumerate(islice(needed, wanted), len(view.plan) + 1)
        ]
        return PlannedBatch(found, len(view.plan) + num_left)


def plan_for(fixed: FixedPlan, num_seats: int) -> FixedPlan:
    """Return the plan for this number of seats, including those of bots that joined."""
    return fixed if num_seats == fixed.num_bots else replace(fixed, num_bots=num_seats)


def has_changed(seats: Sequence[Participant] | Sequence[Entrant]) -> bool:
    """Return whether bots have joined a tournament or left it."""
    return any(who.joined or who.state != "playing" for who in seats)
