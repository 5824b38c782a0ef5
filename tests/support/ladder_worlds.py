"""Simulated ladders of bots with known strengths."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.rating.fit import fit
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.sums import MatchArrays, encounters
from arena.schedules.ladder import LadderSchedule, rated_matches
from rating_worlds import World, chances
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from arena.rating.sums import FloatArray
    from arena_db.records import PlannedMatch

WORLD = World(draws=0.3)


class MeasuredLadder(NamedTuple):
    """What the ratings of one ladder are worth."""

    ratings: float
    """Share of ratings whose interval holds the truth."""
    adjacent: float
    """The same of gaps between neighbours in the true ranking."""
    ends: float
    """Whether the interval of the gap between best and worst holds the truth, 1 or 0."""
    bias: float
    """This gap less the true one, Elo."""
    square: float
    """Mean squared error of ratings, Elo squared."""
    tau: float
    """Kendall's, between true and found ranking."""
    best: float
    """Whether the best bot is first, 1 or 0."""


def measure_ladder(num_bots: int, pairs_each: int, seed: int) -> MeasuredLadder:
    """Play a ladder of bots with a standard deviation of 250 Elo, and compare its ratings with the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 250, num_bots)
    truth -= truth.mean()

    def result(match: PlannedMatch) -> float:
        gap = np.array([truth[match.first] - truth[match.second]]) * LOGITS_PER_ELO
        law = chances(gap, np.array([WORLD.advantage * LOGITS_PER_ELO]), WORLD)[0][0]
        points = float(rng.choice(3, p=law)) / 2
        return points if match.first < match.second else 1 - points

    event = SimulatedEvent(LadderSchedule(seed=seed, openings=[(place,) for place in range(500)]), num_bots)
    play_all(event, 256, result, limit=num_bots * pairs_each)
    ratings = fit(encounters(MatchArrays(rated_matches(event.view()))), num_bots)
    order = np.argsort(-truth).tolist()
    gaps = ratings.gaps([*pairwise(order), (order[0], order[-1])])
    true = [*(truth[order[:-1]] - truth[order[1:]]).tolist(), float(truth[order[0]] - truth[order[-1]])]
    held = [gap.low <= value <= gap.high for gap, value in zip(gaps, true, strict=True)]
    away: FloatArray = ratings.strength - truth
    error: FloatArray = np.array(ratings.error, dtype=np.float64)
    i, j = np.triu_indices(num_bots, 1)
    signs = np.sign(truth[i] - truth[j]) * np.sign(ratings.strength[i] - ratings.strength[j])
    return MeasuredLadder(
        ratings=float(np.mean(np.abs(away) <= error)),
        adjacent=float(np.mean(held[:-1])),
        ends=float(held[-1]),
        bias=gaps[-1].elo - true[-1],
        square=float(np.mean(away**2)),
        tau=float(signs.mean()),
        best=float(np.argmax(ratings.strength) == order[0]),
    )
