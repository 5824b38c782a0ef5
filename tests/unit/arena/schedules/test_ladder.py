from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.pairing.schedule import stable_encounter
from arena.schedules.ladder import LadderSchedule, fold_strengths
from arena.schedules.protocol import Participant, PlannedBatch, View, Wait
from arena_db.records import PlannedMatch
from ladder_worlds import measure_ladder
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from arena.schedules.protocol import SeatState

OPENINGS = [(0,), (1,), (2,)]


def _stronger_wins(match: PlannedMatch) -> float:
    """The bot with the lower seat is the stronger one."""
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
    # Whoever has the fewest plays next; its opponent may be ahead by a few.
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


def test_opponents_fall_off_with_the_distance_in_the_ranking() -> None:
    """Seats 0 to 3 have met; seat 0, the strongest, has the fewest pairs, so it is next."""
    plan: list[PlannedMatch] = []
    results: dict[tuple[int, int], float | None] = {}
    chain = [(0, 1), (1, 2), (2, 3), (1, 2), (2, 3), (1, 3)]
    for pair, (low, high) in enumerate(chain[place] for place in (0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5)):
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
    view = View(seats=_seats(4), plan=plan, results=results)
    assert fold_strengths(view, 0) == sorted(fold_strengths(view, 0), reverse=True)
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
        assert fold_strengths(is_void, fold) == fold_strengths(is_open, fold)


def test_a_newcomer_plays_next_and_who_has_left_does_not() -> None:
    event = _event(5, 20)
    joined = View(seats=_seats(6, s1="left", s2="out"), plan=event.plan, results=event.results)
    batch = _next(joined, 16)
    seats = Counter(seat for match in batch for seat in (match.first, match.second))
    assert seats.keys() <= {0, 3, 4, 5}
    assert seats[5] == len(batch)


def test_a_ladder_of_one_waits() -> None:
    schedule = LadderSchedule(seed=1, openings=OPENINGS)
    for seats in ([], _seats(1), _seats(2, s0="left")):
        assert isinstance(schedule.next(View(seats=seats, plan=[], results={}), 16), Wait)


def test_pairing_does_not_bias_the_ratings() -> None:
    """Paired with neighbours in the ranking of all results, the ends were 260 Elo too far apart."""
    found = np.array([measure_ladder(24, 16, seed) for seed in range(6)]).mean(axis=0)
    ratings, adjacent, _, bias, square, tau, _ = found.tolist()
    assert ratings >= 0.9
    assert adjacent >= 0.9
    assert abs(bias) <= 100
    assert square**0.5 <= 85
    assert tau >= 0.79
