"""Fixed plans: the encounters with their order, sides and openings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from arena.errors import ConfigError
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind: TypeAlias = Literal["round-robin", "gauntlet", "match"]
PlanVersion: TypeAlias = Literal[1, 2]
"""How encounters are numbered: 1 by their place in a round, 2 by their seats (`stable_encounter`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPlan:
    """A plan that depends only on its parameters.

    It goes round by round, each with `games` matches of every encounter. Match m of an encounter belongs to
    MatchPair m // 2 and starts from opening m // 2 (cyclic). The lower seat moves first in even matches and
    second in odd ones; without `swap` it moves first in all of them, and `reverse` exchanges the sides. More
    rounds only append: the plan for fewer rounds is a prefix. Any part of the plan is computed without the
    matches before it.

    Raises:
        ConfigError: the parameters are not valid.
    """

    kind: Kind
    """round-robin (all meet), gauntlet (the first `seeds` meet all the others) or match (two bots)."""
    num_bots: int
    """Number of bots; they have the seats 0 to `num_bots` - 1."""
    rounds: int
    """Number of rounds, at least one; each contains every encounter."""
    games: int
    """Matches per encounter and round, 1 or 2."""
    openings: Sequence[tuple[int, ...]]
    """Actions before the bots are asked, at least one entry; `()` is the initial state."""
    seeds: int = 1
    """Number of bots that run the gauntlet."""
    swap: bool = True
    """Whether the two matches of a pair are played with sides exchanged."""
    reverse: bool = False
    """Whether the higher seat begins."""
    version: PlanVersion = 1
    """How encounters are numbered."""

    def __post_init__(self) -> None:
        """Refuse impossible parameters."""
        if self.rounds < 1:
            raise ConfigError(f"rounds={self.rounds} is not a positive number")
        if self.games not in {1, 2}:
            raise ConfigError(f"games={self.games} is neither 1 nor 2; use more rounds for more matches")
        if not self.openings:
            raise ConfigError("no opening is given; matches from the initial state need the empty one")
        if self.kind == "gauntlet":
            if not 1 <= self.seeds < self.num_bots:
                raise ConfigError(
                    f"a gauntlet of {self.num_bots} bots has 1 to {self.num_bots - 1} seeds, not {self.seeds}"
                )
        elif self.num_bots < 2:  # noqa: PLR2004 # a tournament has two
            raise ConfigError(f"a {self.kind} needs at least two bots; {self.num_bots} given")
        elif self.kind == "match" and self.num_bots > 2:  # noqa: PLR2004 # a match has two
            raise ConfigError(
                f"a match is between two bots; {self.num_bots} given (a round-robin takes more)"
            )

    @property
    def num_encounters(self) -> int:
        """Number of pairs of bots that meet."""
        if self.kind == "gauntlet":
            return self.seeds * (self.num_bots - self.seeds)
        return self.num_bots * (self.num_bots - 1) // 2

    @property
    def total(self) -> int:
        """Number of matches of the whole plan."""
        return self.num_encounters * self.rounds * self.games

    def matches(self, start: int = 0, stop: int | None = None) -> Iterator[PlannedMatch]:
        """Yield the matches numbered `start` + 1 to `stop`, by default all from `start` on.

        The cost depends only on the number of requested matches, not on their place in the plan.
        """
        stop = self.total if stop is None else min(stop, self.total)
        for place in range(start, stop):
            # Both matches of a pair follow each other, so a tournament that is stopped early has few halves
            # of pairs.
            turn, game = divmod(place, self.games)
            # By division alone, so a plan of a million matches can be entered anywhere.
            round_no, encounter = divmod(turn, self.num_encounters)
            yield self._match(place + 1, encounter, round_no * self.games + game)

    def round_of(self) -> Iterator[tuple[int, int, int]]:
        """Yield the encounters of a round in order: number, lower seat, higher seat."""
        for place in range(self.num_encounters):
            low, high = self._seats(place)
            yield self._number(place, low, high), low, high

    def _number(self, place: int, low: int, high: int) -> int:
        return place if self.version == 1 else stable_encounter(low, high)

    def _match(self, number: int, encounter: int, match_no: int) -> PlannedMatch:
        low, high = self._seats(encounter)
        return self.match_of(number, self._number(encounter, low, high), (low, high), match_no)

    def match_of(self, number: int, encounter: int, seats: tuple[int, int], match_no: int) -> PlannedMatch:
        """Return a match of an encounter, with its side and its opening.

        Args:
            number: number of the match in the plan.
            encounter: its number.
            seats: both seats, the lower one first.
            match_no: place within the encounter, from 0.
        """
        low, high = seats
        # `reverse` alone, or `swap` alone in odd matches, exchanges the sides; both together cancel out.
        is_turned = self.reverse != (self.swap and match_no % 2 == 1)
        return PlannedMatch(
            number=number,
            encounter=encounter,
            match_no=match_no,
            first=high if is_turned else low,
            second=low if is_turned else high,
            # Both matches of a pair have one opening, which is what makes them a pair.
            opening=self.openings[match_no // 2 % len(self.openings)],
        )

    def as_planned(self, match: PlannedMatch) -> PlannedMatch | None:
        """Return a match as this plan has it, keeping its number; None if the plan has no such encounter."""
        seats = min(match.first, match.second), max(match.first, match.second)
        if self.version == 1:
            # Version 1 numbers encounters by their place in a round, which means other bots once their number
            # changes.
            is_known = match.encounter < self.num_encounters and self._seats(match.encounter) == seats
        else:
            is_known = match.encounter == stable_encounter(*seats) and seats[1] < self.num_bots
        return self.match_of(match.number, match.encounter, seats, match.match_no) if is_known else None

    def _seats(self, encounter: int) -> tuple[int, int]:
        """Return the seats of an encounter, lower one first; `encounter` is its place in a round, from 0.

        Seeds of a gauntlet do not meet each other, as in cutechess (in fastchess they do): they are compared
        by their results against the field.
        """
        if self.kind == "gauntlet":
            # Each opponent meets all seeds before the next one does, so all seeds have met the same field.
            other, seed = divmod(encounter, self.seeds)
            return seed, self.seeds + other
        return _circle(self.num_bots, encounter)


def count_pairs(rounds: int, games: int) -> int:
    """Return the number of MatchPairs of an encounter, an incomplete last one included."""
    return (rounds * games + 1) // 2


def stable_encounter(low: int, high: int) -> int:
    """Return the number of an encounter by its seats, `low` < `high`: low + high (high - 1) / 2.

    All encounters of the seats below `high` have lower numbers, so a new seat changes no number.
    """
    return low + high * (high - 1) // 2


def _circle(num_bots: int, encounter: int) -> tuple[int, int]:
    """Return the seats of the `encounter`-th pair by the circle method, lower one first.

    Every bot plays once before any bot plays twice, except for byes. Seat 0 stays, the others move by one
    place from turn to turn, and bots that face each other meet. With an odd number of bots a dummy, whose
    opponent has a bye, rotates with them.
    """
    size = num_bots + num_bots % 2
    turning = size - 1
    turn, place = divmod(encounter, num_bots // 2)
    if num_bots % 2:
        # Two bots face each other at `place` and `turning - place`. With an odd number one of these pairs
        # contains the dummy and is left out, so places from there on move up by one.
        chair = (1 + turn) % turning
        place += place >= min(chair, (turning - chair) % turning)
    seats = [1 + (turn - at) % turning if at else 0 for at in (place, turning - place)]
    return min(seats), max(seats)
