"""Measures how often 95 % intervals of ratings hold the truth in simulated fields; prints JSON."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from arena.rating.bootstrap import bootstrap
from arena.rating.encounter import MatchResult
from arena.rating.fit import fit
from arena.rating.likelihood import FloatArray, probabilities
from arena.rating.model import LOGITS_PER_ELO, PairResult
from arena.rating.outcomes import pair_outcomes
from arena.rating.pairs import expected_elo, statistics

ADVANTAGE = 40.0
LOG_DRAW = -1.0
TIE = 1e-6
"""Elo below which an end of an interval is 0."""


@dataclass(frozen=True)
class Scenario:
    """One kind of field."""

    name: str
    num_bots: int
    matches: int
    """Per ordered pair of bots."""
    spread: float
    """Standard deviation of strength, Elo."""


SCENARIOS = (
    Scenario("8 bots, 20 matches per encounter", 8, 10, 150.0),
    Scenario("8 bots, 200 matches per encounter", 8, 100, 150.0),
    Scenario("8 bots far apart, 20 matches per encounter", 8, 10, 400.0),
    Scenario("2 bots, 40 matches", 2, 20, 100.0),
    Scenario("30 bots, 4 matches per encounter", 30, 2, 200.0),
)


def draw_field(scenario: Scenario, rng: np.random.Generator) -> tuple[FloatArray, list[PairResult]]:
    """Strengths and the results of a round robin."""
    strength = rng.normal(0, scenario.spread, scenario.num_bots)
    seats = list(permutations(range(scenario.num_bots), 2))
    first, second = np.array(seats).T
    chances = probabilities((strength[first] - strength[second] + ADVANTAGE) * LOGITS_PER_ELO, LOG_DRAW)
    drawn = rng.multinomial(scenario.matches, chances).tolist()
    return strength, [PairResult(i, j, *row) for (i, j), row in zip(seats, drawn, strict=True)]


def measure(scenario: Scenario, num_fields: int, seed: int) -> dict[str, object]:
    """Shares of ratings, gaps and advantages inside their intervals, and the error of ratings."""
    rng = np.random.default_rng(seed)
    ratings_in: list[bool] = []
    gaps_in: list[bool] = []
    advantage_in: list[bool] = []
    squares: list[float] = []
    for _ in range(num_fields):
        strength, results = draw_field(scenario, rng)
        ratings = fit(results, scenario.num_bots)
        miss = np.array(ratings.elo) - 1500 - (strength - strength.mean())
        ratings_in += (np.abs(miss) <= ratings.error).tolist()
        squares += (miss**2).tolist()
        for i in range(1, scenario.num_bots):
            gap = ratings.gap(i, i - 1)
            gaps_in.append(abs(gap.elo - (strength[i] - strength[i - 1])) <= gap.error)
        advantage_in.append(abs(ratings.advantage - ADVANTAGE) <= ratings.advantage_error)
    return {
        "scenario": scenario.name,
        "fields": num_fields,
        "rating_coverage": round(float(np.mean(ratings_in)), 4),
        "gap_coverage": round(float(np.mean(gaps_in)), 4),
        "advantage_coverage": round(float(np.mean(advantage_in)), 4),
        "rating_rms_elo": round(float(np.sqrt(np.mean(squares))), 2),
    }


def measure_two_bots(gap: float, num_pairs: int, num_samples: int, seed: int) -> dict[str, object]:
    """Share of printed intervals that hold the logistic Elo of the true expected score."""
    rng = np.random.default_rng(seed)
    chances = probabilities(np.array([gap + ADVANTAGE, -gap + ADVANTAGE]) * LOGITS_PER_ELO, LOG_DRAW)
    as_first, as_second = chances[0][::-1], chances[1]
    cells = np.zeros(5)
    for points, chance in enumerate(as_first.tolist()):
        cells[points : points + 3] += chance * as_second
    truth = expected_elo(float(cells @ np.linspace(0, 1, 5)))
    drawn = rng.multinomial(num_pairs, cells, size=num_samples).tolist()
    found = [statistics(row) for row in drawn]
    inside = [row.elo_low <= truth <= row.elo_high for row in found]
    return {
        "scenario": f"printed interval, gap {gap:g}, {num_pairs} pairs",
        "samples": num_samples,
        "coverage": round(sum(inside) / num_samples, 4),
        "mean_half_width": round(float(np.mean([row.elo_error for row in found])), 1),
    }


def measure_bootstrap(num_fields: int, seed: int) -> dict[str, object]:
    """Shares inside fitted and bootstrap intervals where the opening favours one side for both matches."""
    rng = np.random.default_rng(seed)
    names = ("fit", "bootstrap")
    inside: dict[str, list[bool]] = {name: [] for name in names}
    for field in range(num_fields):
        results = [match for pair in range(50) for match in _biased_pair(pair, rng)]
        outcomes = pair_outcomes(0, 1, results)
        matches = [result for outcome in outcomes for result in outcome.results(outcome.count)]
        fitted = fit(matches, 2)
        low, high = bootstrap(outcomes, 2, num_samples=400, seed=field).gap_interval(0, 1)
        inside["fit"].append(abs(fitted.gap(0, 1).elo) <= fitted.gap(0, 1).error)
        # Ends lie on the even score itself often; rounding must not decide there.
        inside["bootstrap"].append(low <= TIE and high >= -TIE)
    return {
        "scenario": "equal bots, 50 pairs from openings worth 0 ± 400 Elo to the first player",
        "fields": num_fields,
        **{f"{name}_gap_coverage": round(float(np.mean(inside[name])), 4) for name in names},
    }


def _biased_pair(pair: int, rng: np.random.Generator) -> list[MatchResult]:
    """Two matches of equal bots from one opening."""
    chances = probabilities(np.array([rng.normal(0, 400) * LOGITS_PER_ELO]), LOG_DRAW)[0]
    points = rng.choice([1.0, 0.5, 0.0], size=2, p=chances).tolist()
    return [
        MatchResult(pair, is_first=True, score=points[0], match_hash=f"{pair} a"),
        MatchResult(pair, is_first=False, score=1 - points[1], match_hash=f"{pair} b"),
    ]


def measure_speed(seed: int) -> dict[str, object]:
    """Seconds to fit a million matches of 50 bots, and the error."""
    rng = np.random.default_rng(seed)
    strength, results = draw_field(Scenario("", 50, 408, 200.0), rng)
    start = time.process_time()
    ratings = fit(results, 50)
    seconds = time.process_time() - start
    miss = np.array(ratings.elo) - 1500 - (strength - strength.mean())
    return {
        "scenario": "speed: a million matches of 50 bots",
        "cpu_seconds": round(seconds, 3),
        "rating_rms_elo": round(float(np.linalg.norm(miss)) / len(miss) ** 0.5, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fields", type=int, default=1000, help="simulated tournaments per scenario")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lines = [measure(scenario, options.fields, options.seed) for scenario in SCENARIOS]
    for gap, num_pairs in (
        (0.0, 10),
        (0.0, 50),
        (0.0, 500),
        (200.0, 10),
        (200.0, 50),
        (200.0, 500),
        (600.0, 50),
    ):
        lines.append(measure_two_bots(gap, num_pairs, 10 * options.fields, options.seed))
    lines.append(measure_bootstrap(max(1, options.fields // 2), options.seed))
    lines.append(measure_speed(options.seed))
    print(json.dumps({"type": "rating_coverage", "schema": "arena/1", "rows": lines}, indent=2))


if __name__ == "__main__":
    main()
