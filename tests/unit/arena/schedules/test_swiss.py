from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from arena.errors import ConfigError
from arena.pairing.schedule import stable_encounter
from arena.schedules.protocol import Closed, Participant, PlannedBatch, View, Wait
from arena.schedules.swiss import SwissSchedule
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena_db.records import PlannedMatch

OPENINGS = [(0,), (1,), (2,)]


def _schedule(rounds: int = 4, pairs: int = 1, seed: int = 1) -> SwissSchedule:
    return SwissSchedule(rounds=rounds, pairs=pairs, seed=seed, openings=OPENINGS)


def _by_chance(seed: int) -> Callable[[PlannedMatch], float]:
    rng = random.Random(seed)  # noqa: S311 - no secret
    return lambda _: rng.choice((0.0, 0.5, 1.0))


def _by_key(match: PlannedMatch) -> float:
    """Return the same result for each call with the same match."""
    return random.Random(f"{match.encounter}/{match.match_no}").choice((0.0, 0.5, 1.0))  # noqa: S311 - no secret


def _low_wins(_: PlannedMatch) -> float:
    return 1.0


def _event(num: int, **options: int) -> SimulatedEvent:
    return SimulatedEvent(_schedule(**options), num)


def _pairings(event: SimulatedEvent) -> list[list[tuple[int, int]]]:
    schedule = event.schedule
    assert isinstance(schedule, SwissSchedule)
    return [
        [(each.low, each.high) for each in found.encounters] for found in schedule.rounds_of(event.view())
    ]


def _ways(seats: list[int]) -> Iterator[list[tuple[int, int | None]]]:
    """Yield all ways to pair seats; with an odd number one seat is left over."""
    if not seats:
        yield []
        return
    first, *rest = seats
    if len(seats) % 2:
        for way in _ways(rest):
            yield [(first, None), *way]
    for at, other in enumerate(rest):
        for way in _ways([*rest[:at], *rest[at + 1 :]]):
            yield [(first, other), *way]


def _price(
    way: list[tuple[int, int | None]], points: list[float], met: Counter[frozenset[int]], had: Counter[int]
) -> tuple[float, ...]:
    """Return the cost of a round as documented, computed by plain loops, to compare with the schedule."""
    ranking = sorted(range(len(points)), key=lambda seat: (-points[seat], seat))
    last = ranking[-1]
    byes = meetings = apart = halves = 0.0
    for one, other in way:
        if other is None:
            byes += had[one]
            apart += (2 * (points[one] - points[last])) ** 2
            halves += (len(ranking) - ranking.index(one) - 1) ** 2
            continue
        meetings += met[frozenset({one, other})]
        apart += (2 * (points[one] - points[other])) ** 2
        between = abs(ranking.index(one) - ranking.index(other))
        level = points.count(points[one])
        halves += (between - (level // 2 if points[one] == points[other] else 1)) ** 2
    return byes, meetings, apart, halves


@pytest.mark.parametrize("num", [2, 3, 4, 5, 6, 7])
def test_each_round_is_the_best_of_all_ways(num: int) -> None:
    event = _event(num, rounds=6)
    result = _by_chance(num)
    points = [0.0] * num
    met: Counter[frozenset[int]] = Counter()
    had: Counter[int] = Counter()
    for _ in range(6):
        batch = event.ask(256)
        way: list[tuple[int, int | None]] = [
            (min(m.first, m.second), max(m.first, m.second)) for m in batch[::2]
        ]
        left = set(range(num)) - {seat for edge in way for seat in edge}
        way += [(seat, None) for seat in left]
        best = min(_price(each, points, met, had) for each in _ways(list(range(num))))
        assert _price(way, points, met, had) == best
        for match in batch:
            won = event.results[match.encounter, match.match_no] = result(match)
            low, high = sorted((match.first, match.second))
            points[low] += won
            points[high] += 1 - won
        for one, other in way:
            if other is None:
                had[one] += 1
                points[one] += 2
            else:
                met[frozenset({one, other})] += 1
    assert event.schedule.next(event.view(), 256) == Closed()


def test_the_first_round_is_upper_half_against_lower_half() -> None:
    assert _pairings_of_first(8) == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert _pairings_of_first(5) == [(0, 2), (1, 3)]


def _pairings_of_first(num: int) -> list[tuple[int, int]]:
    event = _event(num)
    event.ask(256)
    return _pairings(event)[0]


def test_who_wins_meets_who_wins() -> None:
    event = _event(8, rounds=3)
    play_all(event, 256, _low_wins)
    first, second, third = _pairings(event)
    assert first == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert second == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert (third[0], third[-1]) == ((0, 1), (6, 7))


@pytest.mark.parametrize(("num", "rounds"), [(6, 5), (7, 7), (4, 7), (3, 9), (2, 3)])
def test_nobody_meets_again_or_rests_again_before_it_must(num: int, rounds: int) -> None:
    event = _event(num, rounds=rounds)
    play_all(event, 256, _by_chance(3))
    pairings = _pairings(event)
    assert len(pairings) == rounds
    cycle = num - 1 + num % 2
    if num == 4:
        # With four bots, the first three rounds contain every pair exactly once.
        counts = Counter(edge for edges in pairings[:cycle] for edge in edges)
        assert set(counts.values()) == {1}
    byes: Counter[int] = Counter()
    for edges in pairings:
        byes.update(set(range(num)) - {seat for edge in edges for seat in edge})
    assert sum(byes.values()) == rounds * (num % 2)
    assert max(byes.values(), default=0) <= -(-rounds // num)


def test_matches_are_whole_pairs_and_go_on_when_bots_meet_again() -> None:
    event = _event(2, rounds=3, pairs=2)
    play_all(event, 256, _low_wins)
    assert [(m.first, m.second, m.match_no, m.opening) for m in event.plan] == [
        (number % 2, 1 - number % 2, number, OPENINGS[number // 2 % 3]) for number in range(12)
    ]
    assert {match.encounter for match in event.plan} == {stable_encounter(0, 1)}


@pytest.mark.parametrize("num", [5, 8])
@pytest.mark.parametrize("wanted", [2, 3, 7, 20])
def test_the_plan_does_not_depend_on_the_window(num: int, wanted: int) -> None:
    whole, pieces = _event(num, pairs=2), _event(num, pairs=2)
    play_all(whole, 1000, _by_key)
    play_all(pieces, wanted, _by_key)
    assert pieces.plan == whole.plan
    assert whole.total == pieces.total == len(whole.plan)


def test_a_round_follows_from_the_rounds_before_alone() -> None:
    """Results that arrive while a round is planned in pieces change nothing, whatever their order."""
    usual = _event(8, pairs=3)
    play_all(usual, 1000, _by_key)
    rng = random.Random(4)  # noqa: S311 - no secret
    event = _event(8, pairs=3)
    open_matches: list[PlannedMatch] = []
    while event.decision is None:
        if not (batch := event.ask(6)) and open_matches:
            match = open_matches.pop(rng.randrange(len(open_matches)))
            event.results[match.encounter, match.match_no] = _by_key(match)
        open_matches += batch
    assert event.plan == usual.plan


def test_it_waits_for_the_last_match_of_a_round() -> None:
    event = _event(4)
    batch = event.ask(256)
    for match in batch[:-1]:
        event.results[match.encounter, match.match_no] = 1.0
    assert event.schedule.next(event.view(), 256) == Wait("round 1 of 4: 1 match is still to be played")
    # A void match counts as finished, too.
    event.results[batch[-1].encounter, batch[-1].match_no] = None
    found = event.schedule.next(event.view(), 256)
    assert isinstance(found, PlannedBatch)
    assert found.note == "round 2 of 4"


def test_the_seed_decides_what_is_left_open() -> None:
    def second_rounds() -> Iterator[tuple[tuple[int, int], ...]]:
        for seed in range(12):
            event = _event(6, rounds=3, seed=seed)
            play_all(event, 256, lambda _: 0.5)
            yield tuple(_pairings(event)[2])

    assert len(set(second_rounds())) > 1


def test_each_round_is_drawn_anew() -> None:
    """With four equal bots, two pairings cost the same in rounds 2 and 5."""
    picks: list[tuple[object, object]] = []
    for seed in range(10):
        event = _event(4, rounds=5, seed=seed)
        play_all(event, 256, lambda _: 0.5)
        picks.append((_pairings(event)[1], _pairings(event)[4]))
    assert {first == second for first, second in picks} == {True, False}


def test_a_bye_is_a_won_encounter_in_points() -> None:
    event = _event(3, rounds=1, pairs=2)
    play_all(event, 256, lambda _: 0.5)
    schedule = event.schedule
    assert isinstance(schedule, SwissSchedule)
    rounds = schedule.rounds_of(event.view())
    assert _pairings(event) == [[(0, 1)]]
    assert schedule.scores(event.view(), rounds) == {0: 4, 1: 4, 2: 8}
    meetings = schedule.meetings(event.view())
    assert meetings == [(0, 1, 2.0, 2.0, 0, 0), (2, None, 4.0, 0.0, 0, 0)]


def _with(event: SimulatedEvent, seat: int, **changes: Any) -> None:  # noqa: ANN401 - fields of any kind
    event.seats = tuple(who._replace(**changes) if at == seat else who for at, who in enumerate(event.seats))


def test_who_has_left_is_not_paired_and_keeps_its_points() -> None:
    event = _event(4, rounds=3)
    for match in event.ask(256):
        event.results[match.encounter, match.match_no] = 1.0
    _with(event, 0, state="left", left_at=len(event.plan))
    play_all(event, 256, _low_wins)
    schedule = event.schedule
    assert isinstance(schedule, SwissSchedule)
    for edges in _pairings(event)[1:]:
        assert 0 not in {seat for edge in edges for seat in edge}
    assert schedule.scores(event.view(), schedule.rounds_of(event.view()))[0] == 4
    byes = [schedule.byes(event.view(), each) for each in schedule.rounds_of(event.view())]
    assert [len(each) for each in byes] == [0, 1, 1]
    assert byes[1] != byes[2]


def test_who_leaves_within_a_round_gives_walkovers() -> None:
    event = _event(4, rounds=2, pairs=2)
    first = event.ask(256)
    done = [match for match in first if 0 not in {match.first, match.second}]
    for match in [*done, first[0]]:
        event.results[match.encounter, match.match_no] = 1.0
    assert isinstance(event.schedule.next(event.view(), 256), Wait)
    _with(event, 0, state="out", left_at=len(event.plan))
    schedule = event.schedule
    assert isinstance(schedule, SwissSchedule)
    assert schedule.scores(event.view(), schedule.rounds_of(event.view())) == {0: 2, 2: 6, 1: 8, 3: 0}
    play_all(event, 256, _low_wins)
    assert _pairings(event)[1] == [(1, 2)]


def test_an_encounter_that_a_leaver_cut_short_counts_whole() -> None:
    event = _event(4, rounds=1, pairs=3)
    for match in event.ask(2):
        event.results[match.encounter, match.match_no] = 1.0
    _with(event, 0, state="left", left_at=2)
    play_all(event, 256, _low_wins)
    schedule = event.schedule
    assert isinstance(schedule, SwissSchedule)
    # 0 and 2 were to play six matches, four of which were never played.
    assert schedule.scores(event.view(), schedule.rounds_of(event.view())) == {0: 4, 2: 8, 1: 12, 3: 0}


def test_a_newcomer_meets_who_was_left_over_or_starts_with_nothing() -> None:
    event = _event(3, rounds=3)
    first = list(event.ask(256))
    event.seats = (*event.seats, Participant("late", joined_at=len(event.plan)))
    second = list(event.ask(256))
    assert {(match.first, match.second) for match in second} == {(2, 3), (3, 2)}
    for match in (*first, *second):
        event.results[match.encounter, match.match_no] = 1.0
    play_all(event, 256, _low_wins)
    assert [len(edges) for edges in _pairings(event)] == [2, 2, 2]

    event = _event(4, rounds=2)
    for match in event.ask(256):
        event.results[match.encounter, match.match_no] = 0.5
    event.seats = (*event.seats, Participant("late", joined_at=len(event.plan)))
    schedule = event.schedule
    assert isinstance(schedule, SwissSchedule)
    assert schedule.byes(event.view(), schedule.rounds_of(event.view())[0]) == []
    event.ask(256)
    # It has the fewest points, so it gets the bye.
    assert 4 not in {seat for edge in _pairings(event)[1] for seat in edge}


def test_it_ends_when_nobody_is_left_to_meet() -> None:
    event = _event(2, rounds=5)
    for match in event.ask(256):
        event.results[match.encounter, match.match_no] = 1.0
    _with(event, 1, state="left", left_at=2)
    assert event.schedule.next(event.view(), 256) == Closed()
    assert _schedule().next(View(seats=(), plan=(), results={}), 256) == Closed()


@pytest.mark.parametrize("change", [{"rounds": 0}, {"pairs": 0}, {"openings": []}])
def test_impossible_numbers_are_refused(change: dict[str, Any]) -> None:
    options: dict[str, Any] = {"rounds": 3, "pairs": 1, "seed": 1, "openings": OPENINGS}
    with pytest.raises(ConfigError):
        SwissSchedule(**{**options, **change})


def test_scores_of_neighbours_in_a_round_are_close() -> None:
    event = _event(24, rounds=5)
    play_all(event, 256, _by_chance(2))
    assert all(len(edges) == 12 for edges in _pairings(event))
    counts = Counter(edge for edges in _pairings(event) for edge in edges)
    assert set(counts.values()) == {1}
    numbers = [match.number for match in event.plan]
    assert all(after == before + 1 for before, after in pairwise(numbers))
