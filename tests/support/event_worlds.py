"""Simulated Swiss tournaments and knockouts of bots with known strengths."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.pairing.schedule import FixedPlan
from arena.rating.fit import fit
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.sums import MatchArrays, encounters
from arena.rating.tiebreaks import places, tie_breaks
from arena.schedules.fixed import FixedSchedule
from arena.schedules.knockout import KnockoutSchedule
from arena.schedules.simulation import rated_matches, replayed
from arena.schedules.swiss import SwissSchedule
from rating_worlds import World, chances
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.rating.ratings import Gap
    from arena.rating.sums import FloatArray
    from arena.schedules.protocol import Schedule
    from arena_db.records import PlannedMatch

WORLD = World(draws=0.3)
OPENINGS = [(place,) for place in range(200)]


class MeasuredEvent(NamedTuple):
    """Accuracy of the ratings of one tournament."""

    ratings: float
    """Share of ratings whose interval contains the truth."""
    adjacent: float
    """Share of gaps between neighbours in the true ranking whose interval contains the truth."""
    ends: float
    """Whether the interval of the gap between best and worst contains the truth, 1 or 0."""
    bias: float
    """Estimated minus true gap between best and worst, Elo."""
    square: float
    """Mean squared error of ratings, Elo squared."""
    width: float
    """Width of the interval of the gap between best and worst, Elo."""
    adjacent_width: float
    """Mean width of the intervals of gaps between neighbours, Elo."""


def drawn_results(truth: FloatArray, rng: np.random.Generator) -> Callable[[PlannedMatch], float]:
    """Return a function that draws the result of a match: the points of the lower seat."""

    def result(match: PlannedMatch) -> float:
        gap = np.array([truth[match.first] - truth[match.second]]) * LOGITS_PER_ELO
        law = chances(gap, np.array([WORLD.advantage * LOGITS_PER_ELO]), WORLD)[0][0]
        points = float(rng.choice(3, p=law)) / 2
        return points if match.first < match.second else 1 - points

    return result


def measure_event(
    schedule: Schedule, num_bots: int, seed: int, deviation: float = 250.0
) -> tuple[MeasuredEvent, MeasuredEvent]:
    """Play a tournament; measure plain and replayed ratings. `deviation` is that of the strengths, in Elo."""
    rng = np.random.default_rng(seed)
    truth = deviation * rng.standard_normal(num_bots)
    truth -= truth.mean()
    event = SimulatedEvent(schedule, num_bots)
    play_all(event, 256, drawn_results(truth, rng))
    ratings = fit(encounters(MatchArrays(rated_matches(event.view()))), num_bots)
    order = np.argsort(-truth).tolist()
    asked = [*pairwise(order), (order[0], order[-1])]
    found = replayed(schedule, event.seats, ratings, seed)
    error: FloatArray = np.array(ratings.error, dtype=np.float64)
    return (
        _compare(truth, ratings.strength, error, asked, ratings.gaps(asked)),
        _compare(truth, found.strength, found.error, asked, [found.gap(i, j) for i, j in asked]),
    )


def _compare(
    truth: FloatArray, strength: FloatArray, error: FloatArray, asked: list[tuple[int, int]], gaps: list[Gap]
) -> MeasuredEvent:
    true = [float(truth[i] - truth[j]) for i, j in asked]
    held = [gap.low <= value <= gap.high for gap, value in zip(gaps, true, strict=True)]
    away = strength - truth
    return MeasuredEvent(
        ratings=float(np.mean(np.abs(away) <= error)),
        adjacent=float(np.mean(held[:-1])),
        ends=float(held[-1]),
        bias=gaps[-1].elo - true[-1],
        square=float(np.mean(away**2)),
        width=gaps[-1].high - gaps[-1].low,
        adjacent_width=float(np.mean([gap.high - gap.low for gap in gaps[:-1]])),
    )


def swiss(rounds: int, pairs: int, seed: int) -> SwissSchedule:
    """Return a Swiss tournament."""
    return SwissSchedule(rounds=rounds, pairs=pairs, seed=seed, openings=OPENINGS)


def best_wins_swiss(seed: int, num_bots: int = 16, rounds: int = 5, pairs: int = 3) -> float:
    """Return whether the best bot wins a Swiss tournament, 1 or 0, or its share of the first place."""
    schedule = swiss(rounds, pairs, seed)
    event, best = _play(schedule, num_bots, seed)
    found = places(tie_breaks(schedule.meetings(event.view()), num_bots))
    return float(found[best] == 1) / found.count(1)


def best_wins_knockout(seed: int, num_bots: int = 16, *, pairs: int, is_double: bool = False) -> float:
    """Return whether the best bot wins a knockout, 1 or 0."""
    schedule = KnockoutSchedule(num_bots=num_bots, pairs=pairs, openings=OPENINGS, is_double=is_double)
    event, best = _play(schedule, num_bots, seed)
    return float(schedule.bracket(event.view()).places(num_bots)[best] == 1)


def best_wins_round_robin(seed: int, num_bots: int = 16) -> float:
    """Return whether the best bot has the most points of all in a round robin of one pair each."""
    plan = FixedPlan(kind="round-robin", num_bots=num_bots, rounds=1, games=2, openings=OPENINGS, version=2)
    event, best = _play(FixedSchedule(plan), num_bots, seed)
    points = np.zeros(num_bots)
    for match in event.plan:
        won = event.results[match.encounter, match.match_no] or 0.0
        low, high = sorted((match.first, match.second))
        points[low] += won
        points[high] += 1 - won
    return float(points[best] == points.max()) / float((points == points.max()).sum())


def _play(schedule: Schedule, num_bots: int, seed: int) -> tuple[SimulatedEvent, int]:
    """Play a tournament of randomly seated bots with a standard deviation of 250 Elo; return its best bot."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 250, num_bots)
    event = SimulatedEvent(schedule, num_bots)
    play_all(event, 256, drawn_results(truth, rng))
    return event, int(np.argmax(truth))
