"""Small lists of matches to rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, RatedMatch, encounters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.rating.ratings import Ratings


def pairs(
    i: int, j: int, results: Iterable[tuple[float, float]], *, openings: int | None = None, event: int = 0
) -> list[RatedMatch]:
    """Return pairs of `i` and `j` by the points of `i` moving first and second; no two matches are equal.

    Args:
        i: a bot.
        j: another.
        results: points of `i` in each pair, moving first and second.
        openings: how many there are, used in turn; None: each pair has its own.
        event: tournament.
    """
    found: list[RatedMatch] = []
    for number, (first, second) in enumerate(results):
        opening = number if openings is None else number % openings
        key = (event, min(i, j), max(i, j), number)
        found += [
            RatedMatch(i, j, first, key, opening, (*key, 1)),
            RatedMatch(j, i, 1 - second, key, opening, (*key, 2)),
        ]
    return found


def repeated(i: int, j: int, results: Iterable[tuple[float, float]], *, event: int = 0) -> list[RatedMatch]:
    """Return pairs of two bots that play the same match from an opening each time."""
    return [
        played._replace(moves=(i, j, played.opening, played.first))
        for played in pairs(i, j, results, event=event)
    ]


def rate(matches: Sequence[RatedMatch], num_bots: int, anchor: tuple[int, float] | None = None) -> Ratings:
    """Rate bots by these matches."""
    return fit(encounters(MatchArrays(matches)), num_bots, anchors=() if anchor is None else (anchor,))
