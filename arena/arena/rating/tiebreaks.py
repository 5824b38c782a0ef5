"""Tie-breaks: the order of bots with equal points.

Definitions are those of the FIDE Handbook, C.07 (2024), with two deviations. Points are those of matches, so
an encounter of six matches counts with its points, and each encounter is one opponent. A bye counts as an
opponent with the bot's own points (article 16.4); opponents' scores are not adjusted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Meeting(NamedTuple):
    """The encounter of two bots, or the bye of one bot."""

    one: int
    """Index of a bot."""
    other: int | None
    """Index of its opponent; None for a bye."""
    points: float
    """Points of `one`, over all matches of the encounter."""
    lost: float
    """Points of the other; 0 for a bye."""
    wins: int
    """Number of matches that `one` won; 0 for a bye."""
    losses: int
    """Number of matches that the other won."""

    def reversed(self) -> Meeting:
        """Return the meeting from the view of the other bot."""
        if self.other is None:
            return self
        return Meeting(self.other, self.one, self.lost, self.points, self.losses, self.wins)


@dataclass(frozen=True, slots=True, kw_only=True)
class TieBreaks:
    """A bot's points and its tie-breaks, in the order in which they decide."""

    points: float
    buchholz: float
    """Sum of the points of its opponents, one per meeting."""
    cut_one: float
    """Sum of the points of its opponents without the lowest one."""
    median: float
    """Sum of the points of its opponents without the lowest and the highest one."""
    sonneborn_berger: float
    """Sum over meetings of the points it took, times the total points of the opponent."""
    direct: float | None
    """Points against the bots with equal points; None unless all of these have met one another."""
    wins: int
    """Number of matches won."""

    @property
    def key(self) -> tuple[float, ...]:
        """Sort key of bots; higher is better."""
        # Of bots with equal points all have this figure or none has, so 0 decides nothing.
        direct = 0.0 if self.direct is None else self.direct
        return (
            self.points,
            self.buchholz,
            self.cut_one,
            self.median,
            self.sonneborn_berger,
            direct,
            self.wins,
        )


def tie_breaks(meetings: Sequence[Meeting], num_bots: int) -> list[TieBreaks]:
    """Return the tie-breaks of each bot, `[num_bots]`.

    Args:
        meetings: all of them, each once; two bots may meet more than once.
        num_bots: number of bots; those without meetings have only zeros.
    """
    own: defaultdict[int, list[Meeting]] = defaultdict(list)
    for meeting in meetings:
        own[meeting.one].append(meeting)
        if meeting.other is not None:
            own[meeting.other].append(meeting.reversed())
    points = [sum(meeting.points for meeting in own[bot]) for bot in range(num_bots)]
    # Points are multiples of one half, which floats hold exactly, so they can be keys.
    level: defaultdict[float, set[int]] = defaultdict(set)
    for bot, each in enumerate(points):
        level[each].add(bot)
    met = {bot: {meeting.other for meeting in own[bot]} for bot in range(num_bots)}
    found: list[TieBreaks] = []
    for bot in range(num_bots):
        # A bye counts as an opponent with the bot's own points (article 16.4).
        against = [points[bot if each.other is None else each.other] for each in own[bot]]
        ordered = sorted(against)
        group = level[points[bot]]
        # Otherwise the points against them would be from different numbers of encounters.
        have_met = len(group) > 1 and all(group <= met[each] | {each} for each in group)
        found.append(
            TieBreaks(
                points=points[bot],
                buchholz=sum(ordered),
                cut_one=sum(ordered[1:]),
                median=sum(ordered[1:-1]),
                sonneborn_berger=sum(
                    each.points * theirs for each, theirs in zip(own[bot], against, strict=True)
                ),
                direct=sum(each.points for each in own[bot] if each.other in group) if have_met else None,
                wins=sum(each.wins for each in own[bot]),
            )
        )
    return found


def places(found: Sequence[TieBreaks]) -> list[int]:
    """Return the place of each bot, from 1; bots that no tie-break separates share the best."""
    keys = [each.key for each in found]
    return [1 + sum(other > key for other in keys) for key in keys]
