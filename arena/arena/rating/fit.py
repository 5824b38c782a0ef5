"""Rates the bots of a field, or two bots by their own matches alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.errors import ConfigError
from arena.rating import graph
from arena.rating.beta import student_quantile
from arena.rating.model import LEVEL, LOGITS_PER_ELO, MEAN_ELO
from arena.rating.newton import solve
from arena.rating.profile import Gaps
from arena.rating.ratings import SPARE_DEGREES, Ratings, gaps_of, took
from arena.rating.sums import sum_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Gap
    from arena.rating.sums import Encounters, FloatArray


def fit(
    encounters: Encounters,
    bots: Sequence[str] | int,
    *,
    anchors: Sequence[tuple[int, float]] = (),
    weighted: Encounters | None = None,
) -> Ratings:
    """Rate bots by all their matches at once.

    Args:
        encounters: sums of their matches.
        bots: their names, or their number.
        anchors: indices of bots and their fixed Elo. A table is shifted to its first anchor; further anchors
            in the table change nothing, because they need not agree with its matches.
        weighted: the same encounters weighted, if some count for less than all of their matches; the counts
            in the ratings are always those of all matches.

    Raises:
        ConfigError: matches or an anchor refer to an unknown bot.
        ArenaError: the ratings do not converge.
    """
    names = tuple(str(bot) for bot in range(bots)) if isinstance(bots, int) else tuple(bots)
    num = len(names)
    for bot, _ in anchors:
        if not 0 <= bot < num:
            raise ConfigError(f"the anchor is bot {bot}, but there are only {num}, counted from 0")
    if len(encounters) and not (encounters.low.min() >= 0 and encounters.high.max() < num):
        raise ConfigError(f"a match names a bot outside 0 … {num - 1}")
    table = graph.components(zip(encounters.low.tolist(), encounters.high.tolist(), strict=True), num)
    # One field: all encounters are in group 0.
    group = np.zeros(len(encounters), dtype=np.int64)
    solution = solve(encounters if weighted is None else weighted, group, (1, num), _parts(table))
    matches = encounters.num_matches
    own = sum_by(encounters.low, matches, num) + sum_by(encounters.high, matches, num)
    ratings = Ratings(
        names=names,
        elo=hang((solution.strength[0] / LOGITS_PER_ELO).tolist(), table, anchors),
        error=(),
        num_matches=tuple(own.tolist()),
        table=table,
        strong=graph.strong_components(took(encounters), num),
        encounters=encounters,
        solution=solution,
    )
    # The errors need covariance and degrees of the finished object, which is frozen.
    object.__setattr__(ratings, "error", tuple(_errors(ratings, anchors)))
    return ratings


def head_to_head(encounters: Encounters, level: float = LEVEL) -> list[Gap]:
    """Return the gap of the lower bot of each encounter above the other, by their own matches alone.

    Equals `fit` of each encounter by itself, computed for many at once. The gap of an encounter is the same
    to the last digit whichever others are computed with it.
    """
    num = len(encounters)
    if num == 1:
        # NumPy adds up the terms of a single field in another order than those of several.
        return head_to_head(encounters.take(np.array([0, 0])), level)[:1]
    # Each encounter is a field of its own with bots 0 and 1; all are solved in one call.
    each = np.arange(num)
    alone = encounters.alone()
    solution = solve(alone, each, (max(num, 1), 2), np.full((2, 2), 0.5))
    gaps = Gaps(each, alone.low, alone.high)
    points = encounters.results.sum(axis=1)
    # Without a point of the lower bot nothing bounds the gap from below, without one of the other from above.
    open_sides = [(wins + draws == 0, losses + draws == 0) for losses, draws, wins in points.tolist()]
    return gaps_of(solution, gaps, solution.informative + SPARE_DEGREES, open_sides, level)


def hang(
    strength: Sequence[float], table: Sequence[int], anchors: Sequence[tuple[int, float]]
) -> tuple[float, ...]:
    """Return Elo as shown, `[num_bots]`: each table is shifted to its first anchor, otherwise to its mean.

    Args:
        strength: Elo above the mean of the table, `[num_bots]`.
        table: number of each bot's table, `[num_bots]`.
        anchors: indices of bots and their fixed Elo.
    """
    shown = [MEAN_ELO + elo for elo in strength]
    for bot, elo in _first_anchors(table, anchors):
        for other, number in enumerate(table):
            if number == table[bot]:
                shown[other] = elo + strength[other] - strength[bot]
    return tuple(shown)


def _first_anchors(table: Sequence[int], anchors: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the first anchor of each table that has one."""
    found: dict[int, tuple[int, float]] = {}
    for bot, elo in anchors:
        found.setdefault(table[bot], (bot, elo))
    return list(found.values())


def _errors(ratings: Ratings, anchors: Sequence[tuple[int, float]]) -> list[float]:
    """Return half intervals of the shown ratings, `[num_bots]`, relative to the table's anchor or mean."""
    covariance: FloatArray = ratings.covariance
    variance = covariance.diagonal().copy()
    for bot, _ in _first_anchors(ratings.table, anchors):
        is_here = np.array(ratings.table) == ratings.table[bot]
        own = covariance.diagonal()
        # Relative to an anchor the variance is that of a difference.
        away = own + own[bot] - 2 * covariance[bot]
        variance = np.where(is_here, away, variance)
    quantile = np.array([student_quantile(each, 1 - LEVEL / 2) for each in ratings.degrees.tolist()])
    error = quantile * np.sqrt(np.maximum(variance, 0.0))
    # A bot without matches is the mean of its own table, with variance 0, which would read as an exact
    # rating.
    return np.where(np.array(ratings.num_matches) > 0, error, np.inf).tolist()


def _parts(table: Sequence[int]) -> FloatArray:
    """Return 1 / size if two bots are in one table, otherwise 0, `[num_bots, num_bots]`."""
    label = np.array(table, dtype=np.int64)
    is_same = label[:, None] == label[None, :]
    return is_same / np.maximum(is_same.sum(axis=1, keepdims=True), 1)
