from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.pairing.schedule import stable_encounter
from arena.schedules.ladder import LadderSchedule, is_settled, strengths
from arena.schedules.protocol import Closed, Participant, PlannedBatch, View, Wait
from arena.schedules.seat_counts import FoldSums, SeatCounts
from arena_db.records import PlannedMatch
from ladder_worlds import SimulatedLadder, measure_ladder, measure_newcomer
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from arena.schedules.protocol import SeatState

OPENINGS = [(0,), (1,), (2,)]


def _stronger_wins(match: PlannedMatch) -> float:
    """Return the result of a match that the lower seat, the stronger bot, wins."""
    return 1.0 if match.number % 5 else 0.5


def _event(num_bots: int, pairs: int, seed: int = 1) -> SimulatedEvent:
    event = SimulatedEvent(LadderSchedule(seed=seed, openings=OPENINGS), num_bots)
    play_all(event, 2, _stronger_wins, limit=2 * pairs)
    return event


def _seats(num: int, **states: SeatState) -> list[Participant]:
    return [Participant(f"bot-{seat}", state=states.get(f"s{seat}", "playing")) for seat in range(num)]


def _next(view: View, wanted: int = 2, seed: int = 1) -> list[PlannedMatch]:
    found = LadderSchedule(seed=seed, openings=OPENINGS).next(view, wanted)
    assert isinstance(found, PlannedBatch)
    assert found.total is None
    return list(found.matches)


def _fold_strengths(view: View, fold: int) -> list[float]:
    known = strengths(SeatCounts.of(view.plan, view.results).fold(fold))
    return [known.get(seat, 0.0) for seat in range(len(view.seats))]


def test_pairs_are_whole_and_everybody_plays_equally_often() -> None:
    event = SimulatedEvent(LadderSchedule(seed=3, openings=OPENINGS), 7)
    play_all(event, 16, _stronger_wins, limit=280)
    seen: Counter[int] = Counter()
    met: Counter[int] = Counter()
    for one, other in zip(event.plan[::2], event.plan[1::2], strict=True):
        low, high = sorted((one.first, one.second))
        assert (one.first, one.second, other.first, other.second) == (low, high, high, low)
        encounter = stable_encounter(low, high)
        assert one.encounter == other.encounter == encounter
        assert (one.match_no, other.match_no) == (2 * met[encounter], 2 * met[encounter] + 1)
        assert one.opening == other.opening == OPENINGS[met[encounter] % 3]
        met[encounter] += 1
        seen.update((low, high))
    assert sum(seen.values()) == 288  # whole batches
    # The bot with the fewest pairs plays next; its opponent may have some more.
    assert max(seen.values()) - min(seen.values()) <= 12


def test_batches_have_a_ranking_of_their_own() -> None:
    assert len(_next(View(seats=_seats(5), plan=[], results={}), 1000)) == 16
    assert len(_next(View(seats=_seats(80), plan=[], results={}), 1000)) == 20
    assert len(_next(View(seats=_seats(5), plan=[], results={}), 7)) == 6


def test_the_same_basis_gives_the_same_batch() -> None:
    event = _event(6, 20)
    results = dict(sorted(event.results.items(), reverse=True))
    again = View(seats=event.seats, plan=tuple(event.plan), results=results)
    assert _next(event.view(), 16) == _next(again, 16)
    assert any(_next(again, 16) != _next(again, 16, seed=seed) for seed in (2, 3))


@pytest.mark.parametrize("pairs", [20, 21])
def test_a_pair_is_drawn_by_the_other_fold_alone(pairs: int) -> None:
    event = _event(8, pairs)
    own = pairs % 2
    usual = _next(event.view())
    changed = {own: 0, 1 - own: 0}
    rng = np.random.default_rng(1)
    for fold in (own, 1 - own):
        for _ in range(12):
            results = dict(event.results)
            for place, match in enumerate(event.plan):
                if place // 2 % 2 == fold:
                    results[match.encounter, match.match_no] = float(rng.integers(0, 3)) / 2
            view = View(seats=event.seats, plan=event.plan, results=results)
            changed[fold] += _next(view) != usual
    assert changed[own] == 0
    assert changed[1 - own] > 0


def _played(seats: list[Participant], pairs: list[tuple[int, int]], errors: tuple[float, ...]) -> View:
    """Return the view of a tournament in which the lower seat won all matches of these pairs."""
    plan: list[PlannedMatch] = []
    results: dict[tuple[int, int], float | None] = {}
    for pair, (low, high) in enumerate(pairs):
        for half in (0, 1):
            match = PlannedMatch(
                number=len(plan) + 1,
                encounter=stable_encounter(low, high),
                match_no=2 * pair + half,
                first=high if half else low,
                second=low if half else high,
                opening=(),
            )
            plan.append(match)
            results[match.encounter, match.match_no] = 1.0
    return View(seats=seats, plan=plan, results=results, errors=lambda: errors)


def test_opponents_fall_off_with_the_distance_in_the_ranking() -> None:
    """Seats 0 to 3 have met; seat 0, the strongest, has the fewest pairs, so it is next."""
    chain = [(0, 1), (1, 2), (2, 3), (1, 2), (2, 3), (1, 3)]
    view = _played(_seats(4), [chain[place] for place in (0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5)], ())
    known = _fold_strengths(view, 0)
    assert known == sorted(known, reverse=True)
    firsts = [_next(view, 2, seed)[0] for seed in range(1100)]
    met = Counter(frozenset({match.first, match.second}) for match in firsts)
    assert met[frozenset({0, 1})] == pytest.approx(600, abs=66)
    assert met[frozenset({0, 2})] == pytest.approx(300, abs=57)
    assert met[frozenset({0, 3})] == pytest.approx(200, abs=49)


def test_void_matches_and_open_ones_say_nothing() -> None:
    event = _event(4, 12)
    last = event.plan[-1]
    key = (last.encounter, last.match_no)
    is_void = View(seats=event.seats, plan=event.plan, results={**event.results, key: None})
    results = {known: points for known, points in event.results.items() if known != key}
    is_open = View(seats=event.seats, plan=event.plan, results=results)
    for fold in (0, 1):
        assert _fold_strengths(is_void, fold) == _fold_strengths(is_open, fold)


def test_who_has_left_is_not_paired() -> None:
    event = _event(5, 20)
    left = View(seats=_seats(5, s1="left", s2="out"), plan=event.plan, results=event.results)
    assert {seat for match in _next(left, 16) for seat in (match.first, match.second)} == {0, 3, 4}


def _joined(event: SimulatedEvent, num: int) -> View:
    """Return the view of a tournament that further bots have joined."""
    seats = [*event.seats, *(Participant(f"new-{seat}", joined=seat + 1) for seat in range(num))]
    return View(seats=seats, plan=event.plan, results=event.results)


def test_newcomers_play_first_the_one_with_the_fewest_pairs_before_the_others() -> None:
    event = _event(12, 120)
    event.seats = tuple(_joined(event, 2).seats)
    before = len(event.plan)
    batches = [len(event.ask(16)) for _ in range(14)]
    # Two pairs per batch until each newcomer has eight, because the first results teach the most.
    assert batches[:4] == [4, 4, 4, 4]
    assert batches[-1] == 16
    own = [{match.first, match.second} & {12, 13} for match in event.plan[before::2]]
    assert own[0] | own[1] == {12, 13}
    first = Counter(seat for seats in own[:16] for seat in seats)
    # Some of the other bots have waited long.
    assert abs(first[12] - first[13]) <= 1
    assert first.total() >= 12


@pytest.mark.parametrize("num", [3, 20])
def test_bots_that_join_at_once_get_their_first_pairs_in_one_batch(num: int) -> None:
    event = _event(12, 120)
    view = _joined(event, num)
    batch = _next(view, 1000, seed=3)
    pairs = [{match.first, match.second} for match in batch[::2]]
    new = set(range(12, 12 + num))
    assert set().union(*pairs) >= new
    # The batch ends with the pair of the last newcomer.
    assert not set().union(*pairs[:-1]) >= new
    # A smaller batch is the beginning of a larger one, so a stored batch is planned again as it was.
    assert list(_next(view, 4, seed=3)) == list(batch[:4])


@pytest.mark.parametrize(
    ("joined", "error", "num_pairs", "is_newcomer"),
    [(1, 60.1, 99, True), (1, 60.0, 99, False), (1, 60.1, 100, False), (0, 60.1, 99, False)],
)
def test_a_newcomer_meets_the_nearest_bot_until_its_rating_is_close(
    joined: int, error: float, num_pairs: int, *, is_newcomer: bool
) -> None:
    seats = [*_seats(4), Participant("new", joined=joined)]
    field = [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)] * 60
    view = _played(seats, [(3, 4)] * num_pairs + field + [(0, 1), (2, 3)], (30.0,) * 4 + (error,))
    batches = [_next(view, 2, seed) for seed in range(60)]
    assert all(batch[0].second == 4 for batch in batches)  # with the fewest pairs
    opponents = {batch[0].first for batch in batches}
    assert opponents == ({3} if is_newcomer else {0, 1, 2, 3})


@pytest.mark.parametrize(
    ("num_pairs", "error", "settled"),
    [(7, 1.0, False), (8, 60.0, True), (8, 60.1, False), (99, 200.0, False), (100, 200.0, True)],
)
def test_a_newcomer_is_settled_by_its_error_or_its_pairs(
    num_pairs: int, error: float, *, settled: bool
) -> None:
    assert is_settled(num_pairs, error) == settled


def test_nobody_waits_longer_than_three_times_the_mean() -> None:
    """Newcomers join one after the other, and their ratings are never precise enough."""
    ladder = SimulatedLadder(np.linspace(-400, 400, 9).tolist(), 5)
    since = dict.fromkeys(range(9), -1)
    for joining in (0, 0, 3, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0):
        begin = len(ladder.plan) // 2
        for _ in range(joining):
            since[ladder.join(0.0)] = begin
        ladder.play(8)
        for pair, match in enumerate(ladder.plan[2 * begin :: 2], begin):
            for seat in (match.first, match.second):
                assert pair - since[seat] <= 3 * len(ladder.seats) / 2
                since[seat] = pair
    assert min(since.values()) >= len(ladder.plan) // 2 - 3 * len(ladder.seats) / 2


def test_a_ladder_is_closed_once_every_rating_is_close_and_opens_for_a_newcomer() -> None:
    event = _event(4, 20)
    schedule = LadderSchedule(seed=1, openings=OPENINGS, until=15.0)

    def ask(errors: list[float], **states: SeatState) -> object:
        seats = _seats(4, **states)
        view = View(seats=seats, plan=event.plan, results=event.results, errors=lambda: errors)
        return schedule.next(view, 16)

    assert ask([15.0, 9.0, 14.0, 15.0]) == Closed("every rating is within 15 Elo")
    assert isinstance(ask([15.0, 9.0, 15.1, 15.0]), PlannedBatch)
    assert isinstance(ask([15.0, 9.0, float("inf"), 15.0], s2="left"), Closed)
    unknown = View(seats=_seats(4), plan=event.plan, results=event.results)
    assert isinstance(schedule.next(unknown, 16), PlannedBatch)


def _by_seats(counts: SeatCounts, fold: int) -> dict[tuple[int, int], tuple[float, float]]:
    low, high, matches, points = (values.tolist() for values in counts.fold(fold))
    return {(i, j): (m, s) for i, j, m, s in zip(low, high, matches, points, strict=True)}


def test_sums_that_grow_equal_those_of_the_whole() -> None:
    event = _event(16, 100)
    growing = SeatCounts()
    results: dict[tuple[int, int], float | None] = {}
    rng = np.random.default_rng(2)
    places: list[int] = rng.permutation(len(event.plan)).tolist()
    for part in range(5):
        for place in places[40 * part : 40 * part + 40]:
            match = event.plan[place]
            key = (match.encounter, match.match_no)
            results[key] = None if place == 7 else event.results[key]
        growing.add(event.plan[growing.num_planned : 40 * part + 40], results)
    assert len(results) == len(event.plan)
    whole = SeatCounts.of(event.plan, results)
    assert growing.num_pairs == whole.num_pairs
    assert growing.last_pair == whole.last_pair
    assert growing.next_match_no == whole.next_match_no
    for fold in (0, 1):
        one, other = _by_seats(growing, fold), _by_seats(whole, fold)
        assert one == other
        by_hand: Counter[tuple[int, int]] = Counter()
        for match in event.plan:
            if (match.number - 1) // 2 % 2 == fold and results[match.encounter, match.match_no] is not None:
                by_hand[min(match.first, match.second), max(match.first, match.second)] += 1
        assert {seats: matches for seats, (matches, _) in one.items()} == by_hand


def test_a_ladder_of_one_waits() -> None:
    schedule = LadderSchedule(seed=1, openings=OPENINGS)
    for seats in ([], _seats(1), _seats(2, s0="left")):
        assert isinstance(schedule.next(View(seats=seats, plan=[], results={}), 16), Wait)


def test_pairing_does_not_bias_the_ratings() -> None:
    """When bots were paired with neighbours by all results, the ends were 260 Elo too far apart."""
    found = np.array([measure_ladder(24, 16, seed) for seed in range(6)]).mean(axis=0)
    ratings, adjacent, _, bias, square, tau, _ = found.tolist()
    assert ratings >= 0.9
    assert adjacent >= 0.9
    assert abs(bias) <= 100
    assert square**0.5 <= 85
    assert tau >= 0.79


def test_a_newcomer_finds_its_place_soon() -> None:
    """Against random opponents a newcomer would need 137 pairs on average."""
    found = [measure_newcomer(300.0, seed, pairs_each=100) for seed in range(2)]
    assert np.mean([each.pairs for each in found]) <= 105
    assert all(abs(each.away) <= 90 for each in found)


def test_sums_that_grow_plan_as_the_whole_does() -> None:
    ladder = SimulatedLadder([100.0, 50.0, 0.0, -50.0], 3)
    ladder.play(40)
    view = ladder.view()
    assert view.counts is not None
    plain = View(seats=view.seats, plan=view.plan, results=view.results)
    assert _next(view, 16) == _next(plain, 16)


def _sums(rows: list[tuple[int, int, float, float]]) -> FoldSums:
    low, high, matches, points = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return FoldSums(low.astype(np.int64), high.astype(np.int64), matches, points)


def _log_posterior(elo: list[float], rows: list[tuple[int, int, float, float]]) -> float:
    """Return the log posterior by the textbook's formula, match by match."""
    value = -sum(each**2 for each in elo) / (2 * 400**2)
    for low, high, matches, points in rows:
        chance = 1 / (1 + 10 ** ((elo[high] - elo[low]) / 400))
        value += points * math.log(chance) + (matches - points) * math.log(1 - chance)
    return value


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(5, 7)),
        st.integers(1, 6).flatmap(lambda num: st.tuples(st.just(num), st.integers(0, 2 * num))),
        max_size=9,
    )
)
def test_strengths_are_the_mode_of_the_posterior(results: dict[tuple[int, int], tuple[int, int]]) -> None:
    rows = [(low, high, float(num), half / 2) for (low, high), (num, half) in results.items()]
    known = strengths(_sums(rows))
    found = [known.get(seat, 0.0) for seat in range(8)]
    best = _log_posterior(found, rows)
    # The posterior is concave, so a point that no step along a seat improves is its mode.
    for seat in range(8):
        for step in (-0.05, 0.05):
            moved = [elo + step * (place == seat) for place, elo in enumerate(found)]
            assert _log_posterior(moved, rows) < best


def test_wins_without_end_have_an_end() -> None:
    found = strengths(_sums([(0, 1, 1e6, 1e6), (1, 2, 1e6, 1e6), (2, 3, 1.0, 0.0)]))
    assert found[0] > found[1] > found[2]
    assert found[3] > found[2]
    assert max(map(abs, found.values())) < 4000


def test_seats_without_results_have_none() -> None:
    assert strengths(_sums([])) == {}
