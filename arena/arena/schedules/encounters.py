"""Helpers of schedules that pair by results: points with walkovers, and the matches of an encounter."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING

from arena.pairing.schedule import stable_encounter
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.schedules.protocol import View


def is_playing(view: View, seat: int) -> bool:
    """Return whether a seat still takes part."""
    return view.seats[seat].state == "playing"


def points_of(view: View, match: PlannedMatch) -> tuple[float, float] | None:
    """Return the points of the lower and of the higher seat; None while the match must be played.

    A stored result counts. An open or void match gives the point to the seat that still takes part if the
    other has left or is out (a walkover); a void match of two present seats gives no points. A bot that
    returns does not play the matches that were open when it left: the point of such a match stays with the
    other seat.
    """
    key = (match.encounter, match.match_no)
    # A match that was played counts, whatever happened to its bots afterwards.
    points = view.results.get(key)
    if points is not None:
        return points, 1 - points
    low, high = sorted((match.first, match.second))
    is_void = key in view.results
    if not is_void and (found := walkover(view, low, high, match.number)) is not None:
        return found
    is_here = is_playing(view, low), is_playing(view, high)
    if all(is_here):
        return (0.0, 0.0) if is_void else None
    return float(is_here[0]), float(is_here[1])


def walkover(view: View, low: int, high: int, number: int) -> tuple[float, float] | None:
    """Return the points of a match without a result that a seat missed before it returned.

    Args:
        view: contains the absences.
        low: one seat.
        high: the other one.
        number: number of the match in the plan.

    Returns:
        The point goes to the seat that stayed longer; None if neither has returned since the match was
            planned.
    """
    if not any(each.gone >= number for seat in (low, high) for each in view.seats[seat].absences):
        return None
    # Ids of changes grow, so the lower one is the bot that left first.
    left = _departure(view, low, number), _departure(view, high, number)
    return float(left[1] < left[0]), float(left[0] < left[1])


def _departure(view: View, seat: int, number: int) -> float:
    """Return the id of the change by which a seat first left after a match was planned; infinite if none."""
    who = view.seats[seat]
    # Ids rather than times: clocks of two machines may disagree on who left first, the store does not.
    found = [each.change for each in who.absences if each.gone >= number]
    return min(found, default=inf if who.state == "playing" else who.left)


def plan_encounters(
    plan: Sequence[PlannedMatch],
    wanted: Iterable[tuple[int, int, int]],
    openings: Sequence[tuple[int, ...]],
    limit: int,
) -> list[PlannedMatch]:
    """Return the next matches of encounters, whole pairs.

    Numbers continue the plan and match numbers continue each encounter, so bots that meet again get the next
    openings. The lower seat moves first in the first match of a pair.

    Args:
        plan: all matches planned so far.
        wanted: lower seat, higher seat and number of further matches, an even number.
        openings: pair k of an encounter starts from opening k, modulo their number.
        limit: maximum number of matches, at least 2.
    """
    played = Counter(match.encounter for match in plan)
    found: list[PlannedMatch] = []
    for low, high, num_matches in wanted:
        encounter = stable_encounter(low, high)
        for _ in range(num_matches // 2):
            # Rather one match less than half a pair.
            if len(found) + 2 > limit:
                return found
            # Both matches of a pair have one opening, so a lopsided opening favours each bot once.
            for first, second in ((low, high), (high, low)):
                match_no = played[encounter]
                played[encounter] += 1
                found.append(
                    PlannedMatch(
                        number=len(plan) + len(found) + 1,
                        encounter=encounter,
                        match_no=match_no,
                        first=first,
                        second=second,
                        opening=openings[match_no // 2 % len(openings)],
                    )
                )
    return found
