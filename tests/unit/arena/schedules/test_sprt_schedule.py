from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.rating.sprt import bounds, log_likelihood_ratio
from arena.schedules.protocol import Closed, PlannedBatch, View, Wait
from arena.schedules.sprt_schedule import SprtSchedule, SprtTest, looks
from schedules import SimulatedEvent, play_all, play_in_flight
from sprt_worlds import TabulatedTest

if TYPE_CHECKING:
    from arena_db.records import PlannedMatch

LOOSE = SprtTest(elo1=150.0, alpha=0.2, beta=0.2)
"""A test that is decided after few pairs."""


def _openings(num: int) -> list[tuple[int, ...]]:
    return [(place,) for place in range(num)]


def _results(points: list[float], num_void: tuple[int, ...] = ()) -> dict[tuple[int, int], float | None]:
    return {(0, place): None if place in num_void else each for place, each in enumerate(points)}


def _results_of(half_points: list[int]) -> dict[tuple[int, int], float | None]:
    return _results([points for half in half_points for points in (half // 2 / 2, (half + 1) // 2 / 2)])


def test_looks_are_fixed_beforehand() -> None:
    found = list(looks(972))
    assert found[:50] == list(range(4, 201, 4))
    assert found[-1] == 972
    for before, after in pairwise(found[49:-1]):
        assert after == math.ceil(round(1.02 * before, 6))
    assert found[50:53] == [204, 209, 214]
    assert list(looks(4)) == [4]
    assert list(looks(6)) == [4, 6]
    assert list(looks(1)) == [1]


def _decide_by_hand(half_points: list[int], num_openings: int, test: SprtTest) -> tuple[str | None, int]:
    low, high = bounds(test.alpha, test.beta)
    for num in range(1, len(half_points) + 1):
        if num in set(looks(num_openings)):
            cells = [half_points[:num].count(half) for half in range(5)]
            ratio = log_likelihood_ratio(cells, test.elo0, test.elo1, model=test.model)
            if not low < ratio < high:
                return ("H1" if ratio > 0 else "H0"), num
    return ("undecided" if len(half_points) == num_openings else None), len(half_points)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 4), min_size=0, max_size=24), st.integers(0, 3))
def test_the_first_look_that_decides_ends_the_test(half_points: list[int], left: int) -> None:
    num_openings = max(1, len(half_points) + left)
    schedule = SprtSchedule(test=LOOSE, openings=_openings(num_openings))
    state = schedule.state(_results_of(half_points))
    decision, num = _decide_by_hand(half_points, num_openings, LOOSE)
    assert (state.decision, state.num_pairs) == (decision, num)
    assert list(state.cells) == [half_points[:num].count(half) for half in range(5)]
    if num:
        assert state.ratio == log_likelihood_ratio(state.cells, 0, 150, model="normalized")


def test_pairs_count_in_the_order_of_the_plan_up_to_the_first_open_one() -> None:
    results = _results_of([4, 4, 4, 4, 4, 4, 4, 4])
    schedule = SprtSchedule(test=LOOSE, openings=_openings(8))
    assert schedule.state(results).decision == "H1"
    del results[0, 3]
    state = schedule.state(results)
    assert (state.decision, state.num_pairs, state.cells) == (None, 1, (0, 0, 0, 0, 1))
    del results[0, 0]
    assert schedule.state(results).num_pairs == 0


def test_a_pair_with_a_void_match_is_left_out() -> None:
    half_points = [0, 4, 4, 4, 4]
    schedule = SprtSchedule(test=LOOSE, openings=_openings(5))
    kept = schedule.state(_results_of(half_points))
    results = _results_of(half_points) | {(0, 1): None}
    assert schedule.state(results).cells == (0, 0, 0, 0, 4)
    assert schedule.state(results).decision == "H1"
    assert kept.decision == "undecided"
    # If all matches are void, nothing is left to evaluate.
    assert schedule.state(dict.fromkeys(results)).decision == "undecided"
    assert schedule.state({}).decision is None


def test_a_forfeit_is_a_loss_and_seat_0_is_tested() -> None:
    schedule = SprtSchedule(test=LOOSE, openings=_openings(12))
    assert schedule.state(_results([0.0] * 24)).decision == "H0"
    assert schedule.state(_results([1.0] * 24)).decision == "H1"


def test_the_plan_is_that_of_a_match() -> None:
    schedule = SprtSchedule(test=SprtTest(), openings=_openings(5))
    event = SimulatedEvent(schedule, 2)
    assert [match.number for match in event.ask(7)] == [1, 2, 3, 4, 5, 6]
    assert event.total == 10
    event.ask(100)
    assert [(match.first, match.second) for match in event.plan] == [(0, 1), (1, 0)] * 5
    assert [match.opening for match in event.plan] == [(k,) for k in range(5) for _ in range(2)]
    assert [(match.encounter, match.match_no) for match in event.plan] == [(0, k) for k in range(10)]
    assert isinstance(schedule.next(event.view(), 100), Wait)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=40, max_size=40), st.data())
def test_the_plan_is_the_same_from_every_prefix_of_batches(points: list[float], data: st.DataObject) -> None:
    schedule = SprtSchedule(test=LOOSE, openings=_openings(20))
    plan: list[PlannedMatch] = []
    results: dict[tuple[int, int], float | None] = {}
    while True:
        found = schedule.next(View(seats=(), plan=plan, results=results), data.draw(st.integers(2, 9)))
        if isinstance(found, Closed):
            break
        if isinstance(found, PlannedBatch):
            assert found.total == 40
            plan += found.matches
        open_keys = [key for m in plan if (key := (m.encounter, m.match_no)) not in results]
        for key in (
            data.draw(st.lists(st.sampled_from(open_keys), unique=True, min_size=1)) if open_keys else ()
        ):
            results[key] = points[key[1]]
    whole = schedule.state(_results(points))
    assert found == Closed(str(whole))
    assert plan == list(_whole_plan(schedule))[: len(plan)]


def _whole_plan(schedule: SprtSchedule) -> list[PlannedMatch]:
    event = SimulatedEvent(schedule, 2)
    event.ask(10**6)
    return event.plan


@pytest.mark.parametrize("elo", [0.0, 20.0])
def test_decisions_do_not_depend_on_the_number_of_pairs_in_flight(elo: float) -> None:
    rng = np.random.default_rng(round(elo))
    schedule = SprtSchedule(test=SprtTest(elo1=60.0), openings=_openings(300))
    for _ in range(2):
        law = (0.35, 0.3, 0.35) if elo == 0 else (0.3, 0.3, 0.4)
        points = rng.choice(3, size=600, p=law) / 2
        # A win is quick: in the order of arrival, wins would count before losses.
        seconds = np.where(points == 1, 1.0, 3.0) * rng.uniform(0.9, 1.1, 600)
        by_key = {(0, place): float(each) for place, each in enumerate(points)}
        lasts = {(0, place): float(each) for place, each in enumerate(seconds)}
        found: list[tuple[object, ...]] = []
        for in_flight in (1, 8, 256):
            event = SimulatedEvent(schedule, 2)
            begun = play_in_flight(event, in_flight, by_key, lasts)
            state = schedule.state(event.results)
            assert event.decision == str(state)
            assert begun >= 2 * state.num_pairs
            found.append(state)
        assert found[0] == found[1] == found[2] == schedule.state(dict(by_key))


def test_a_tabulated_test_is_the_same_test() -> None:
    """Simulations compute all ratios of a run at once."""
    half_points = np.random.default_rng(3).choice(5, size=300, p=(0.1, 0.2, 0.3, 0.25, 0.15))
    test, tabulated = SprtTest(elo1=60.0), TabulatedTest(elo1=60.0)
    tabulated.tabulate(half_points)
    for num in (0, 1, 4, 7, 40, 150, 299, 300):
        pairs = half_points[:num].tolist()
        one, other = tabulated.judge(pairs, num_openings=300), test.judge(pairs, num_openings=300)
        assert one._replace(ratio=0.0) == other._replace(ratio=0.0)
        # Not equal to the last digit: sums over several samples are rounded in another order.
        assert one.ratio == pytest.approx(other.ratio, abs=1e-9)


def test_two_bots_that_always_draw_are_not_told_apart() -> None:
    event = SimulatedEvent(SprtSchedule(test=SprtTest(), openings=_openings(400)), 2)
    play_all(event, 64, lambda _match: 0.5)
    assert event.decision is not None
    assert event.decision.split()[0] in {"H0", "undecided"}


def test_impossible_tests_are_refused() -> None:
    for elo1 in (0.0, -1.0, math.nan):
        with pytest.raises(ConfigError, match="must be below"):
            SprtTest(elo1=elo1)
    with pytest.raises(ConfigError, match="alpha"):
        SprtTest(alpha=0.0)
    for openings in ([], [(1,), (1,)]):
        with pytest.raises(ConfigError, match="distinct openings"):
            SprtSchedule(test=SprtTest(), openings=openings)
