"""The share of one opening's matches in the sums of their encounter: arithmetic only, no table.

The sums are those of `arena.rating.sums.Encounters`. All are whole numbers, so they do not depend on the
order of matches, and subtracting a share leaves no rounding error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

SCALE_BITS: Final = 36
"""Sums of mean scores are kept in units of 2^-36 of a point: the error is at most 1e-11 per opening, and 30
million openings of an encounter fit into 64 bits."""
SCALE: Final = 1 << SCALE_BITS

_SIDES: Final = ("first", "second")
"""The side of the lower of two bots: it moved first, or second."""
RESULTS: Final = tuple(f"{side}_{result}" for side in _SIDES for result in ("losses", "draws", "wins"))
PAIRS: Final = tuple(f"pairs_{half}" for half in range(5))
"""Names of the numbers of complete pairs, by half points of the lower bot."""
SINGLES: Final = tuple(f"single_{name}" for name in RESULTS)
"""Names of the numbers of matches without a counterpart, by result."""
SHARES: Final = (
    "num_openings",
    # Openings with complete pairs: their number, matches m, half points s, and sums of the products.
    *(f"paired_{name}" for name in ("num", "m", "s", "mm", "ms", "ss")),
    # Openings played from both sides, each as a pair with its mean score: number, points, squares.
    *("both_num", "both_s", "both_ss"),
    # Openings played from one side only, each as a match with its mean score.
    *(f"only_{side}_{name}" for side in _SIDES for name in ("num", "s", "ss")),
    *("num_different", "replays", "alike"),
)
"""Names of the sums over clusters."""
SUMS: Final = (*RESULTS, *PAIRS, *SINGLES, *SHARES)
"""Names of the sums of an encounter in column order."""
NO_SUMS: Final = (0,) * len(SUMS)
"""The sums of an encounter without a match that counts; whether it has a row makes no difference."""
FIRST_PAIR: Final = len(RESULTS)
FIRST_SINGLE: Final = FIRST_PAIR + len(PAIRS)
FIRST_SHARE: Final = FIRST_SINGLE + len(SINGLES)
_NOTHING: Final = (0, 0, 0)


class EncounterSums(NamedTuple):
    """The stored sums of two bots in a pool, or of two seats in a tournament."""

    game: str
    pool: str
    """Name of the pool."""
    low: int | str
    """Identity of one bot, or its seat in a tournament."""
    high: int | str
    sums: tuple[int, ...]
    """Values in the order of `SUMS`, from the view of `low`."""


class Moment(NamedTuple):
    """The sums of a tournament's rated matches at one moment."""

    num_matches: int
    last_match: int
    """Id of the last of the `num_matches` matches."""
    sums: list[EncounterSums]


@dataclass(slots=True)
class SideSums:
    """The matches of a cluster in which the lower bot had one side."""

    matches: int = 0
    half_points: int = 0
    """Half points of the lower bot."""
    moves_hash: int = 0
    """Hash of the moves of the first stored match."""
    same: int = 0
    """Number of matches with the moves of `moves_hash`."""
    most: int = 0
    """Number of matches with the most frequent move sequence."""


@dataclass(slots=True)
class Cluster:
    """All matches of an encounter from one opening."""

    sides: tuple[SideSums, SideSums] = field(default_factory=lambda: (SideSums(), SideSums()))
    num_different: int = 0
    """Number of matches that differ in side or moves."""
    num_pairs: int = 0
    """Number of complete pairs."""
    pair_half_points: int = 0
    """Half points of the lower bot in complete pairs."""

    def share(self) -> tuple[int, ...]:
        """Return the cluster's share in the sums of its encounter: see `share_of`."""
        one, other = self.sides
        return share_of(
            *(one.matches, one.half_points, one.most, other.matches, other.half_points, other.most),
            *(self.num_different, self.num_pairs, self.pair_half_points),
        )


# Cached: most clusters are one pair or one match, with few distinct values.
@lru_cache(maxsize=4096)
def share_of(  # noqa: PLR0913, PLR0917 - the key of the cache: no object is made for a call
    one: int,
    half_one: int,
    most_one: int,
    other: int,
    half_other: int,
    most_other: int,
    different: int,
    pairs: int,
    half: int,
) -> tuple[int, ...]:
    """Return the share of a cluster, in the order of `SHARES`.

    Args:
        one: matches in which the lower bot moved first.
        half_one: its half points in them.
        most_one: how many of them have the most frequent move sequence.
        other: matches in which it moved second.
        half_other: like `half_one`.
        most_other: like `most_one`.
        different: matches that differ in side or moves.
        pairs: complete pairs.
        half: half points of the lower bot in them.
    """
    # Squares and products make a cluster's share not linear in its matches: a new match cannot be added to
    # it.
    paired = (1, 2 * pairs, half, 4 * pairs * pairs, 2 * pairs * half, half * half) if pairs else (0,) * 6
    both = only_first = only_second = _NOTHING
    if one and other:
        both = _with_square(_mean(one, half_one) + _mean(other, half_other))
    elif one:
        only_first = _with_square(_mean(one, half_one))
    elif other:
        only_second = _with_square(_mean(other, half_other))
    replays = max(one - 1, 0) + max(other - 1, 0)
    alike = max(most_one - 1, 0) + max(most_other - 1, 0)
    is_played = int(one + other > 0)
    return (is_played, *paired, *both, *only_first, *only_second, different, replays, alike)


def _mean(num: int, half_points: int) -> int:
    """Return the points per match, in units of 1 / SCALE, rounded to the nearest."""
    # `num` is half of the divisor, so the division rounds to the nearest.
    return (half_points * SCALE + num) // (2 * num)


def _with_square(points: int) -> tuple[int, int, int]:
    # A product has the scale twice; the shift removes it once, after rounding.
    return 1, points, (points * points + SCALE // 2) >> SCALE_BITS
