"""The schedule: who meets whom, in which order, on which side and from which opening."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from arena.errors import ConfigError
from arena_db.records import PlannedMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["round-robin", "gauntlet", "match"]


def make_schedule(  # noqa: PLR0913 - one argument for each option of the command line
    kind: Kind,
    num_bots: int,
    *,
    rounds: int,
    games: int,
    openings: Sequence[tuple[int, ...]],
    seeds: int = 1,
    swap: bool = True,
    reverse: bool = False,
) -> list[PlannedMatch]:
    """Plan all matches of a tournament, round by round, each round with `games` matches of every encounter.

    Match m of an encounter belongs to MatchPair m // 2 and starts from opening m // 2 (cyclic).
    The lower seat moves first in even matches and second in odd ones; without `swap` it moves first in all of
    them, and `reverse` exchanges the sides. More rounds only append: the plan for fewer is its beginning.

    Args:
        kind: round-robin (all meet), gauntlet (the first `seeds` meet all the others) or match (two bots).
        num_bots: how many bots take part; they have the seats 0 to `num_bots` - 1.
        rounds: how often the encounters are gone through, at least once.
        games: matches per encounter and round, 1 or 2.
        openings: actions before the bots are asked, at least one entry; `()` is the initial state.
        seeds: how many bots run the gauntlet.
        swap: whether the two matches of a pair are played with sides exchanged.
        reverse: whether the higher seat begins.

    Raises:
        ConfigError: no tournament can be made of these numbers.
    """
    _check(rounds, games, openings)
    encounters = _encounters(kind, num_bots, seeds)
    planned: list[PlannedMatch] = []
    for start in range(0, rounds * games, games):
        for encounter, seats in enumerate(encounters):
            for match_no in range(start, start + games):
                turned = reverse != (swap and match_no % 2 == 1)
                first, second = reversed(seats) if turned else seats
                planned.append(
                    PlannedMatch(
                        number=len(planned) + 1,
                        encounter=encounter,
                        match_no=match_no,
                        first=first,
                        second=second,
                        opening=openings[match_no // 2 % len(openings)],
                    )
                )
    return planned


def count_pairs(rounds: int, games: int) -> int:
    """Give the number of MatchPairs of an encounter, one that lacks its second match included."""
    return (rounds * games + 1) // 2


def _check(rounds: int, games: int, openings: Sequence[tuple[int, ...]]) -> None:
    if rounds < 1:
        raise ConfigError(f"rounds={rounds} is not a positive number")
    if games not in {1, 2}:
        raise ConfigError(f"games={games} is neither 1 nor 2; play more rounds for more matches")
    if not openings:
        raise ConfigError("no opening is given; matches from the initial state need the empty one")


def _encounters(kind: Kind, num_bots: int, seeds: int) -> list[tuple[int, int]]:
    """Give the pairs of seats that meet, lower seat first, in the order of one round.

    Seeds do not meet each other, as in cutechess (in fastchess they do): the field compares them.
    """
    if kind == "gauntlet":
        if not 1 <= seeds < num_bots:
            raise ConfigError(f"a gauntlet of {num_bots} bots has 1 to {num_bots - 1} seeds, not {seeds}")
        return [(seed, other) for other in range(seeds, num_bots) for seed in range(seeds)]
    encounters = _all_against_all(num_bots)
    if not encounters:
        raise ConfigError(f"a {kind} needs at least two bots; {num_bots} given")
    if kind == "match" and len(encounters) > 1:
        raise ConfigError(f"a match is between two bots; {num_bots} given (a round-robin takes more)")
    return encounters


def _all_against_all(num_bots: int) -> list[tuple[int, int]]:
    """Order all pairs by the circle method: everybody plays once before anybody plays twice, up to a bye."""
    size = num_bots + num_bots % 2
    turning = [1, *range(size - 1, 1, -1)]
    encounters: list[tuple[int, int]] = []
    for _ in range(size - 1):
        circle = [0, *turning[1:], turning[0]]
        for here, there in zip(circle[: size // 2], reversed(circle), strict=False):
            low, high = sorted((here, there))
            if high < num_bots:
                encounters.append((low, high))
        turning = [turning[-1], *turning[:-1]]
    return encounters
