"""The estimator compared with other computations of the same, and invariances of its result."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]  # scipy has no stubs

from arena.errors import ArenaError, ConfigError
from arena.rating import newton
from arena.rating.fit import fit, head_to_head
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.pairs import expected_score
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from rated import pairs, rate, repeated

if TYPE_CHECKING:
    from arena.rating.ratings import Ratings
    from arena.rating.sums import FloatArray

POINTS = (0.0, 0.5, 1.0)
solver: Any = optimize


def _field(
    num_bots: int, num_pairs: int, seed: int, *, spread: float = 0.8, openings: int | None = None
) -> list[RatedMatch]:
    """Return a round robin with draws."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, spread, num_bots)
    found: list[RatedMatch] = []
    for i, j in combinations(range(num_bots), 2):
        mean = 1 / (1 + math.exp(strength[j] - strength[i]))
        law = [0.8 * (1 - mean), 0.2, 0.8 * mean]
        results = rng.choice(POINTS, size=(num_pairs, 2), p=law).tolist()
        found += pairs(i, j, results, openings=openings)
    return found


def _log_score(point: FloatArray, ratings: Ratings) -> FloatArray:
    """Return the log-likelihood of every encounter of complete pairs, `[encounters]`."""
    sums = ratings.encounters.cluster_sums()
    gap = point[ratings.encounters.low] - point[ratings.encounters.high]
    return sums.s * -np.logaddexp(0, -gap) + (sums.m - sums.s) * -np.logaddexp(0, gap)


@pytest.mark.parametrize(
    "results",
    [[(1, 1)] * 20, [(1, 0), (0.5, 0.5), (1, 0.5)] * 5, [(0, 0), (0.5, 0)], [(1, 1)] * 30 + [(0, 1)]],
    ids=["sweep", "close", "short", "nearly a sweep"],
)
def test_two_bots_maximise_the_likelihood_times_jeffreys_prior(results: list[tuple[float, float]]) -> None:
    ratings = rate(pairs(0, 1, results), 2)
    (phi,) = ratings.solution.phi.tolist()
    points, matches = sum(map(sum, results)), 2 * len(results)

    def penalised(gap: float) -> float:
        mean = 1 / (1 + math.exp(-gap))
        information = matches * mean * (1 - mean)
        return -(
            points * math.log(mean)
            + (matches - points) * math.log(1 - mean)
            + phi / 2 * math.log(information)
        )

    best = solver.minimize_scalar(penalised, bounds=(-15, 15), method="bounded", options={"xatol": 1e-10}).x
    assert ratings.gap(0, 1).elo * LOGITS_PER_ELO == pytest.approx(best, abs=1e-6)


def test_a_field_maximises_the_likelihood_with_phi_times_leverage_virtual_matches() -> None:
    ratings = rate(_field(6, 5, 1), 6)
    low, high = ratings.encounters.low, ratings.encounters.high
    solution = ratings.solution
    strength = solution.strength[0]
    contrast = np.eye(6)[low] - np.eye(6)[high]
    mean = 1 / (1 + np.exp(-(contrast @ strength)))
    information = ratings.encounters.cluster_sums().m * mean * (1 - mean)
    pinv: Any = np.linalg.pinv
    inverse: FloatArray = pinv(contrast.T @ (information[:, None] * contrast))
    leverage = information * np.einsum("ei,ij,ej->e", contrast, inverse, contrast)
    assert leverage.sum() == pytest.approx(5), "bots - 1: nothing pulls to an origin"
    virtual = solution.phi * leverage

    def penalised(free: FloatArray) -> float:
        point = np.append(free, -free.sum())
        gap = contrast @ point
        prior = virtual / 2 * (-np.logaddexp(0, -gap) - np.logaddexp(0, gap))
        return -float((_log_score(point, ratings) + prior).sum())

    found = solver.minimize(penalised, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
    assert np.append(found, -found.sum()) == pytest.approx(strength, abs=1e-6)
    meat = contrast.T @ ((solution.phi * information)[:, None] * contrast)
    assert solution.covariance[0] == pytest.approx(inverse @ meat @ inverse, abs=1e-9)


def _without_prior(ratings: Ratings) -> FloatArray:
    """Return expected scores after one least-squares step without the virtual matches, `[encounters]`."""
    solution = ratings.solution
    contrast = (
        np.eye(len(ratings.names))[ratings.encounters.low]
        - np.eye(len(ratings.names))[ratings.encounters.high]
    )
    mean = 1 / (1 + np.exp(-(contrast @ solution.strength[0])))
    information = ratings.encounters.cluster_sums().m * mean * (1 - mean)
    root = np.sqrt(information)
    lstsq: Any = np.linalg.lstsq
    step = lstsq(root[:, None] * contrast, -solution.virtual * (0.5 - mean) / root, rcond=None)[0]
    return np.clip(mean + mean * (1 - mean) * (contrast @ step), 0, 1)


@pytest.mark.parametrize(("points", "gap"), [((1.0, 1.0), 280), ((1.0, 0.5), 120)])
@pytest.mark.parametrize("num", [3, 10, 40])
def test_a_chain_as_long_as_you_like_leaves_its_links_as_they_are(
    num: int, points: tuple[float, float], gap: int
) -> None:
    # One pair between neighbours: every encounter fits exactly, and shows nothing about the variation.
    matches = [
        match
        for one in range(num - 1)
        for match in (
            RatedMatch(one, one + 1, points[0], one, one, (one, 1)),
            RatedMatch(one + 1, one, 1 - points[1], one, one, (one, 2)),
        )
    ]
    ratings = rate(matches, num)
    gaps = [ratings.gap(one, one + 1).elo for one in range(num - 1)]
    assert gaps == pytest.approx([gaps[0]] * (num - 1), abs=1e-6)
    assert round(gaps[0]) == gap


@pytest.mark.parametrize("openings", [None, 3, 9], ids=["own openings", "few openings", "shared openings"])
def test_the_design_effect_is_that_of_the_clusters(openings: int | None) -> None:
    matches = _field(4, 18, 2, openings=openings)
    ratings = rate(matches, 4)
    solution = ratings.solution
    strength, inverse = solution.strength[0], solution.inverse[0]
    free = _without_prior(ratings)
    sums: dict[str, list[tuple[float, float]]] = {"pairs": [], "clusters": []}
    for encounter, (i, j) in enumerate(combinations(range(4), 2)):
        own = [match for match in matches if {match.first, match.second} == {i, j}]
        mean = 1 / (1 + math.exp(strength[j] - strength[i]))
        leverage = len(own) * mean * (1 - mean) * (inverse[i, i] + inverse[j, j] - 2 * inverse[i, j])
        for name, key in (("pairs", "pair"), ("clusters", "opening" if openings == 9 else "pair")):
            by_key: dict[object, list[float]] = {}
            for match in own:
                points = match.points if match.first == i else 1 - match.points
                by_key.setdefault(getattr(match, key), []).append(points - free[encounter])
            squares = sum(sum(cluster) ** 2 for cluster in by_key.values()) / (len(own) * mean * (1 - mean))
            informative = len(by_key) * 4 * mean * (1 - mean)
            sums[name].append((informative * squares, informative * (1 - leverage / len(by_key))))
    of_pairs = (sum(one for one, _ in sums["pairs"]) + 4) / (sum(other for _, other in sums["pairs"]) + 4)
    total = [sum(values) for values in zip(*sums["clusters"], strict=True)]
    of_field = (total[0] + 4 * of_pairs) / (total[1] + 4)
    expected = [(one + 8 * of_field) / (other + 8) for one, other in sums["clusters"]]
    assert solution.phi == pytest.approx(expected, abs=1e-9)


def test_many_encounters_alone_are_each_a_field_of_two() -> None:
    matches = _field(5, 4, 3) + pairs(0, 5, [(1, 1)] * 3) + [RatedMatch(1, 5, 0.5, "single", 0, 0)]
    found = encounters(MatchArrays(matches))
    for gap, i, j in zip(head_to_head(found), found.low.tolist(), found.high.tolist(), strict=True):
        own = [match for match in matches if {match.first, match.second} == {i, j}]
        seats: list[RatedMatch] = [
            match._replace(first=int(match.first == j), second=int(match.second == j)) for match in own
        ]
        alone = rate(seats, 2).gap(0, 1)
        for name in ("elo", "error", "low", "high", "los"):
            assert getattr(gap, name) == pytest.approx(getattr(alone, name), rel=1e-9), name


def _equal(one: Ratings, two: Ratings, tolerance: float = 1e-9) -> None:
    for name in ("elo", "error"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=tolerance), name
    bots = range(len(one.names))
    for gap, other in zip(one.gaps([(0, i) for i in bots]), two.gaps([(0, i) for i in bots]), strict=True):
        assert (gap.los, gap.elo) == pytest.approx((other.los, other.elo), rel=tolerance, abs=1e-7)


def test_neither_order_nor_tournaments_nor_seats_matter() -> None:
    matches = _field(5, 12, 4, openings=6)
    expected = rate(matches, 5)
    rng = np.random.default_rng(5)
    order: list[int] = rng.permutation(len(matches)).tolist()
    _equal(rate([matches[place] for place in order], 5), expected)
    split = [match._replace(pair=(index // 30, match.pair)) for index, match in enumerate(matches)]
    _equal(rate(split, 5), expected)
    seats = np.array([3, 0, 4, 1, 2])
    moved = [
        match._replace(first=int(seats[match.first]), second=int(seats[match.second])) for match in matches
    ]
    found = rate(moved, 5)
    assert np.array(found.elo)[seats] == pytest.approx(expected.elo, rel=1e-9)
    assert np.array(found.error)[seats] == pytest.approx(expected.error, rel=1e-9)


@pytest.mark.parametrize("times", [2, 4, 10])
@pytest.mark.parametrize("num", [6, 25])
def test_a_repeated_tournament_of_deterministic_bots_counts_once(times: int, num: int) -> None:
    rng = np.random.default_rng(6)
    results: dict[tuple[int, int], list[tuple[float, float]]] = {
        met: rng.choice(POINTS, size=(num, 2)).tolist() for met in combinations(range(3), 2)
    }

    def stored(times: int) -> Ratings:
        played = [
            repeated(*met, rows, event=event) for event in range(times) for met, rows in results.items()
        ]
        return rate([match for one in played for match in one], 3)

    once, again = stored(1), stored(times)
    _equal(once, again, 1e-6)
    gap, same = once.gap(0, 1), again.gap(0, 1)
    assert (same.low, same.high, same.error) == pytest.approx((gap.low, gap.high, gap.error), rel=1e-6)
    assert sum(again.num_counted) == 2 * 3 * num


def test_stochastic_bots_whose_short_games_are_often_equal_are_not_copies() -> None:
    rng = np.random.default_rng(7)
    results = rng.choice(POINTS, size=(400, 2), p=(0.3, 0.3, 0.4)).tolist()
    matches = [match._replace(moves=match.points) for match in pairs(0, 1, results, openings=25)]
    ratings = rate(matches, 2)
    assert ratings.num_counted == (400, 400)
    assert ratings.gap(0, 1).error < 30


@pytest.mark.parametrize("draws", [0.05, 0.2, 0.4, 0.6])
def test_a_gap_of_400_is_a_score_of_ten_elevenths_at_any_draw_rate(draws: float) -> None:
    num = 22_000
    share = 10 / 11
    drawn = round(num * draws * (1 - share) * 2)
    lost = round(num * (1 - share) - drawn / 2)
    results = [0.5] * drawn + [0.0] * lost + [1.0] * (num - drawn - lost)
    gap = rate(pairs(0, 1, zip(results[::2], results[1::2], strict=True)), 2).gap(0, 1)
    assert gap.elo == pytest.approx(400, abs=0.3)
    assert gap.score[0] == pytest.approx(0.909, abs=0.0005)
    assert expected_score(-math.inf) == 0.0


@given(
    st.lists(st.tuples(st.sampled_from(POINTS), st.sampled_from(POINTS)), min_size=1, max_size=12),
    st.lists(st.tuples(st.sampled_from(POINTS), st.sampled_from(POINTS)), max_size=6),
)
def test_los_is_above_the_quantile_exactly_when_0_lies_outside(
    one: list[tuple[float, float]], other: list[tuple[float, float]]
) -> None:
    for ratings in (rate(pairs(0, 1, one), 2), rate(pairs(0, 1, one) + pairs(1, 2, [*other, (0.5, 1)]), 3)):
        gap = ratings.gap(0, 1)
        assert (gap.los > 0.975) == (gap.low > 0)
        assert (gap.los < 0.025) == (gap.high < 0)
        assert gap.low < gap.elo < gap.high
        back = ratings.gap(1, 0)
        assert (back.low, back.high) == pytest.approx((-gap.high, -gap.low), abs=1e-3)
        assert back.los == pytest.approx(1 - gap.los, abs=1e-6)


def test_an_unbeaten_bot_has_no_upper_end() -> None:
    ratings = rate(pairs(0, 1, [(1, 1)] * 20) + pairs(1, 2, [(1, 0)] * 10), 3)
    gap = ratings.gap(0, 2)
    assert gap.high == math.inf
    assert 200 < gap.low < gap.elo < 2000
    assert not gap.is_bounded
    assert gap.is_separated
    assert ratings.rests_on_prior == (True, False, False)
    assert ratings.open_sides == ((False, True), (False, False), (False, False))
    assert ratings.gap(1, 2).is_bounded
    swept = rate(pairs(0, 1, [(1, 1)] * 20), 2)
    assert swept.open_sides == ((False, True), (True, False))
    assert swept.gap(1, 0).low == -math.inf


def test_the_ends_of_a_gap_are_those_of_the_refitted_field() -> None:
    """The rest of the field is refitted at each end by another method."""
    ratings = rate(_field(4, 2, 8, spread=1.5), 4)
    gap = ratings.gap(0, 3)
    contrast = np.array([1.0, 0, 0, -1.0])
    free = np.linalg.svd(contrast[None, :])[2][1:]

    def fall(start: FloatArray, directions: FloatArray) -> float:
        """Return the smallest negative log-likelihood that can be reached from `start` along `directions`."""

        def negative(step: FloatArray) -> float:
            point = start + step @ directions
            gaps = point[ratings.encounters.low] - point[ratings.encounters.high]
            prior = ratings.solution.virtual / 2 * (-np.logaddexp(0, -gaps) - np.logaddexp(0, gaps))
            return -float((_log_score(point, ratings) + prior).sum())

        return float(solver.minimize(negative, np.zeros(len(directions)), method="BFGS").fun)

    robust = float(contrast @ ratings.solution.covariance[0] @ contrast)
    plain = float(contrast @ ratings.solution.inverse[0][:4, :4] @ contrast)
    best = fall(np.zeros(4), np.eye(4))
    starts = [contrast * end * LOGITS_PER_ELO / 2 for end in (gap.low, gap.high)]
    falls = [2 * (fall(start, free) - best) * plain / robust for start in starts]
    quantile = gap.error / math.sqrt(robust) * LOGITS_PER_ELO
    assert falls == pytest.approx([quantile**2] * 2, rel=1e-4)


def test_singles_are_freed_of_the_first_players_advantage() -> None:
    rng = np.random.default_rng(9)
    # Equal bots, and the first player gets 70 %; bot 0 moves first in all single matches.
    results = [
        (float(one), 1 - float(other)) for one, other in rng.choice(2, size=(200, 2), p=(0.3, 0.7)).tolist()
    ]
    singles = [RatedMatch(0, 1, float(rng.random() < 0.7), ("single", n), n, n) for n in range(100)]
    ratings = rate(pairs(0, 1, results) + singles, 2)
    assert ratings.advantage == pytest.approx(147, abs=40)
    gap = ratings.gap(0, 1)
    assert abs(gap.elo) < gap.error
    assert rate(singles, 2).gap(0, 1).error > 2 * gap.error, "without pairs strength and advantage are one"


def test_a_fitted_advantage_stays_within_its_bound() -> None:
    singles = [
        RatedMatch(*seats, 1.0, ("single", n, seats), n, (n, seats))
        for n in range(400)
        for seats in ((0, 1), (1, 0))
    ]
    ratings = rate(singles, 2)
    assert ratings.advantage == pytest.approx(400)
    assert ratings.gap(0, 1).elo == pytest.approx(0, abs=1e-6)


def test_tables_and_their_order() -> None:
    matches = pairs(1, 0, [(1, 0.5)]) + pairs(4, 3, [(1, 0.5)] * 20) + pairs(3, 2, [(0.5, 0.5)] * 20)
    ratings = rate(matches, 6)
    assert ratings.table == (0, 0, 1, 1, 1, 2)
    assert [np.mean([ratings.elo[bot] for bot in bots]) for bots in ratings.ranking()] == pytest.approx(
        [1500] * 3
    )
    assert ratings.ranking()[0][0] == 4
    assert ratings.ranking()[1:] == ((1, 0), (5,))
    with pytest.raises(ConfigError, match="connects 0 and 2"):
        ratings.gap(0, 2)
    assert ratings.gap(1, 1).elo == 0
    assert fit(encounters(MatchArrays()), ["z", "y"]).ranking() == ((0,), (1,))


@pytest.mark.parametrize("bot", [-1, 2])
def test_bots_and_anchors_outside_the_field_are_refused(bot: int) -> None:
    with pytest.raises(ConfigError, match="the anchor is bot"):
        fit(encounters(MatchArrays()), 2, anchors=[(bot, 1200.0)])
    with pytest.raises(ConfigError, match="outside 0 … 1"):
        rate([RatedMatch(0, bot, 1.0, 0, 0, 0)], 2)


@pytest.mark.parametrize("num", [1, 1000, 100_000])
def test_hopeless_gaps_are_finite(num: int) -> None:
    swept = [(1.0, 1.0)] * num
    ratings = rate(pairs(0, 1, swept) + pairs(1, 2, swept) + pairs(0, 3, [(1, 1)]), 4)
    assert np.isfinite(ratings.elo).all()
    assert np.isfinite(ratings.error).all()
    assert ratings.elo[0] > ratings.elo[1] > ratings.elo[2]


def test_the_first_pairs_of_a_ladder_can_be_rated() -> None:
    """In trees of sweeps Newton's method converges slowly: these took 56 steps."""
    sweeps = "2-4 2-12 2-14 2-22 3-17 19-4 21-3 21-4 5-12 6-11 6-15 6-20 6-22 7-15 7-17 7-22 7-23"
    sweeps += " 17-12 20-14 17-16"
    draws = "0-4 0-23 3-19 4-7 4-8 5-16 5-23 7-21 8-12 12-20 13-18"
    matches: list[RatedMatch] = []
    for text, points in ((sweeps, 1.0), (draws, 0.5)):
        for number, pair in enumerate(text.split()):
            one, other = map(int, pair.split("-"))
            key = (text, number)
            matches.append(RatedMatch(one, other, points, key, key, (key, 0)))
            matches.append(RatedMatch(other, one, 1 - points, key, key, (key, 1)))
    ratings = fit(encounters(MatchArrays(matches)), 24)
    assert all(map(math.isfinite, ratings.elo))
    assert ratings.gap(7, 17).elo > 0 > ratings.gap(12, 17).elo


def test_a_fit_that_does_not_end_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "MAX_STEPS", 2)
    with pytest.raises(
        ArenaError, match="do not converge in 2 steps; the widest gap is that of bots 0 and 1"
    ):
        rate(pairs(0, 1, [(1, 1)] * 9), 2)


@pytest.mark.parametrize("num", [20, 40, 100])
def test_a_ring_in_which_everybody_won_once_is_even(num: int) -> None:
    ring = [RatedMatch(i, (i + 1) % num, 1.0, i, 0, i) for i in range(num)]
    assert np.ptp(rate(ring, num).elo) < 1e-6
    chain = rate(ring[:-1], num).elo
    assert list(chain) == sorted(chain, reverse=True)
