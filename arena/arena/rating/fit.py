"""Fits the model to counted results by Newton's method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.rating import few, graph
from arena.rating.model import LOGITS_PER_ELO, MEAN_ELO, PairResult, Prior, count
from arena.rating.ratings import Z95, Ratings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.rating.maximum import Maximum
    from arena.rating.model import Row

_FEW = 24
"""Bots up to which plain numbers are quick enough: 10 ms of 24 that all met, 1 ms of 6; arrays 2 and 0.7."""

DEFAULT_PRIOR = Prior()


def fit(
    results: Iterable[PairResult],
    bots: Sequence[str] | int,
    *,
    prior: Prior = DEFAULT_PRIOR,
    anchor: tuple[int, float] | None = None,
) -> Ratings:
    """Rates bots from all their results at once; the order of results does not matter.

    Args:
        results: counts per ordered pair; the same pair may come several times.
        bots: their names, or how many there are.
        prior: what is believed before the first match.
        anchor: index of a bot and the Elo it is given; its table hangs on it.

    Raises:
        ConfigError: results or an anchor that name no bot, or counts that are negative or infinite.
    """
    names = tuple(str(bot) for bot in range(bots)) if isinstance(bots, int) else tuple(bots)
    if anchor is not None and not 0 <= anchor[0] < len(names):
        raise ConfigError(f"the anchor is bot {anchor[0]}, but there are only {len(names)}, counted from 0")
    rows = count(results, len(names))
    return _describe(names, rows, _maximum(rows, len(names), prior), anchor)


def hang(
    strength: Sequence[float], table: Sequence[int], anchor: tuple[int, float] | None
) -> tuple[float, ...]:
    """Elo as shown, `[num_bots]`, of Elo above the origin of the prior, `[num_bots]`.

    Each table hangs on its mean, the anchor's on the anchor, and a bot that met nobody stays where the
    prior has it.

    Args:
        strength: Elo above the origin.
        table: number of each bot's table.
        anchor: index of a bot and the Elo it is given.
    """
    shown = [MEAN_ELO + elo for elo in strength]
    for members in _members(table):
        if anchor is not None and anchor[0] in members:
            base, origin = anchor[1], strength[anchor[0]]
        elif len(members) > 1:
            base, origin = MEAN_ELO, sum(strength[bot] for bot in members) / len(members)
        else:
            continue
        for bot in members:
            shown[bot] = base + (strength[bot] - origin)
    return tuple(shown)


def _maximum(rows: Sequence[Row], num_bots: int, prior: Prior) -> Maximum:
    if num_bots <= _FEW:
        return few.maximum(rows, num_bots, prior)
    # NumPy is slow to load and takes 12 MB: who shows few bots need not have it.
    from arena.rating import dense

    return dense.maximum(rows, num_bots, prior)


def _describe(
    names: tuple[str, ...], rows: Sequence[Row], best: Maximum, anchor: tuple[int, float] | None
) -> Ratings:
    """The maximum in Elo, with the errors that its curvature gives."""
    n = len(names)
    strength = tuple(value / LOGITS_PER_ELO for value in best.point[:n])
    covariance = tuple(tuple(value / LOGITS_PER_ELO**2 for value in row[:n]) for row in best.covariance[:n])
    advantage_se, log_draw_se = (math.sqrt(max(best.covariance[place][place], 0.0)) for place in (n, n + 1))
    num_matches = [0.0] * n
    for row in rows:
        num_matches[row.first] += row.weight
        num_matches[row.second] += row.weight
    table = graph.components(rows, n)
    return Ratings(
        names=names,
        elo=hang(strength, table, anchor),
        error=tuple(Z95 * math.sqrt(max(value, 0.0)) for value in _variances(covariance, table, anchor)),
        num_matches=tuple(num_matches),
        table=table,
        strong=graph.strong_components(rows, n),
        strength=strength,
        covariance=covariance,
        advantage=best.point[n] / LOGITS_PER_ELO,
        advantage_error=Z95 * advantage_se / LOGITS_PER_ELO,
        log_draw=best.point[n + 1],
        log_draw_error=Z95 * log_draw_se,
    )


def _variances(
    covariance: Sequence[Sequence[float]], table: Sequence[int], anchor: tuple[int, float] | None
) -> list[float]:
    """Variance of each shown rating, `[num_bots]`: that of the bot minus what its table hangs on."""
    found = [row[bot] for bot, row in enumerate(covariance)]
    for members in _members(table):
        if anchor is not None and anchor[0] in members:
            origin = (anchor[0],)
        elif len(members) > 1:
            origin = members
        else:
            continue
        shared = {bot: sum(covariance[bot][other] for other in origin) / len(origin) for bot in members}
        own = sum(shared[bot] for bot in origin) / len(origin)
        for bot in members:
            found[bot] += own - 2 * shared[bot]
    return found


def _members(table: Sequence[int]) -> list[tuple[int, ...]]:
    """The bots of each table."""
    return [
        tuple(bot for bot, number in enumerate(table) if number == wanted) for wanted in sorted(set(table))
    ]
