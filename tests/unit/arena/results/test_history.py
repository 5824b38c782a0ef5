"""Ratings over time equal full refits at the same moments, whether stored or computed by a scan.

Sums of matches that are gathered by encounter equal those of all matches at once, with less memory.
"""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from arena.errors import ConfigError
from arena.rating.sums import ClusterSums, MatchArrays, RatedMatch, encounters
from arena.results.corrections import declare_void
from arena.results.history import GatheredMatches, History, rate_now
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import standings
from arena_db.owner import current_owner
from arena_db.records import MatchFilter
from arena_db.store import Store
from refits import assert_true
from stores import add_cup, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arena.rating.sums import Encounters, IntArray
    from stores import Cup


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db", fast=True) as opened:
        yield opened


def play(cup: Cup, store: Store, first: int, last: int, *, seed: int = 3) -> None:
    """Store matches of a tournament with random results, and a void attempt before every fifth."""
    rng = random.Random(seed + first)  # noqa: S311 - results of a test
    for number in range(first, last + 1):
        voids = [cup.void(number)] if number % 5 == 0 else []
        outcome = rng.choice(("first", "first", "second", "draw"))
        record = cup.match(number, outcome=outcome, match_hash=digest(f"{number} {seed}"))
        store.matches.save([*voids, replace(record, attempt=len(voids))])


def test_a_point_is_what_the_standings_say(store: Store) -> None:
    cup = add_cup(store, "a", "b", "c", "d", num=60)
    assert rate_now(store, cup.record.id, 4) is None
    play(cup, store, 1, 25)
    point = rate_now(store, cup.record.id, 4)
    assert point is not None
    assert point.num_matches == 25
    assert_true(store, cup.record, [point])
    (table,) = standings(store, cup.record)
    shown = {cup_seat.label: cup_seat.seat for cup_seat in cup.entrants}
    assert {shown[row.name]: (row.elo, row.error, row.rests_on_prior) for row in table.rows} == {
        rating.seat: (rating.elo, rating.error, rating.rests_on_prior) for rating in point.ratings
    }


def test_bots_that_have_not_played_have_no_rating(store: Store) -> None:
    cup = add_cup(store, "a", "b", "c", "d", num=60)
    play(cup, store, 1, 1)
    point = rate_now(store, cup.record.id, 4)
    assert point is not None
    assert [rating.seat for rating in point.ratings] == [0, 1]
    assert all(rating.rests_on_prior for rating in point.ratings) == (
        point.ratings[0].elo != point.ratings[1].elo
    )


def test_kept_points_are_read_once(store: Store) -> None:
    cup = add_cup(store, num=60)
    history = History(store, cup.record)
    assert not history.needs_scan(cup.record)
    for last in (10, 20, 30):
        play(cup, store, last - 9, last)
        point = rate_now(store, cup.record.id, 3)
        assert point is not None
        store.ratings.add_point(cup.record.id, point)
        history.update(store)
    assert [point.num_matches for point in history.points] == [10, 20, 30]
    assert_true(store, cup.record, history.points)
    now = store.tournaments.find(cup.record.id)
    assert now is not None
    assert not history.needs_scan(now)


def test_an_older_tournament_is_scanned_at_twenty_points(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena_db.match_keeping._COUNTED_PAGE", 17)
    cup = add_cup(store, "a", "b", "c", num=130)
    play(cup, store, 1, 123)
    now = store.tournaments.find(cup.record.id)
    assert now is not None
    history = History(store, now)
    history.update(store)
    assert history.needs_scan(now)
    history.scan(store, now)
    assert [point.num_matches for point in history.points] == [*range(7, 120, 7), 123]
    assert_true(store, cup.record, history.points)
    assert all(point.ended_at > 0 for point in history.points)
    assert not history.needs_scan(now)


def test_a_tournament_that_an_older_version_began(store: Store) -> None:
    cup = add_cup(store, num=400)
    play(cup, store, 1, 300)
    point = rate_now(store, cup.record.id, 3)
    assert point is not None
    store.ratings.add_point(cup.record.id, point)
    now = store.tournaments.find(cup.record.id)
    assert now is not None
    history = History(store, now)
    history.update(store)
    assert history.needs_scan(now), "the first point is at the end"
    history.scan(store, now)
    assert [each.num_matches for each in history.points] == [*range(15, 300, 15), 300]
    assert_true(store, cup.record, history.points)
    assert not history.needs_scan(now)
    late = History(store, cup.record)
    late.update(store)
    assert late.needs_scan(replace(now, num_done=1199))
    assert not late.needs_scan(replace(now, num_done=1200)), "a quarter may be without points"


def test_a_scan_that_nobody_wants_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_db.match_keeping._COUNTED_PAGE", 10)
    cup = add_cup(store, num=60)
    play(cup, store, 1, 60)
    now = store.tournaments.find(cup.record.id)
    assert now is not None
    history = History(store, now)
    asked: list[int] = []

    def is_wanted() -> bool:
        asked.append(len(asked))
        return len(asked) < 5

    history.scan(store, now, is_wanted)
    assert len(asked) == 5
    assert history.points == []
    assert history.needs_scan(now)


def test_ratings_of_one_bot(store: Store) -> None:
    cup = add_cup(store, num=60)
    play(cup, store, 1, 60)
    now = store.tournaments.find(cup.record.id)
    assert now is not None
    history = History(store, now, seats=[2])
    history.scan(store, now)
    assert {rating.seat for point in history.points for rating in point.ratings} == {2}
    everything = History(store, now)
    everything.scan(store, now)
    assert [
        [rating for rating in point.ratings if rating.seat == 2] for point in everything.points if point
    ] == [list(point.ratings) for point in history.points]


def test_matches_that_are_not_rated_have_no_history(store: Store) -> None:
    cup = add_cup(store, num=10)
    store.matches.save([cup.match(number, rated=False) for number in range(1, 11)])
    now = store.tournaments.find(cup.record.id)
    assert now is not None
    history = History(store, now)
    history.scan(store, now)
    assert history.points == []
    assert not history.needs_scan(now)
    assert rate_now(store, cup.record.id, 3) is None


def test_void_matches_leave_what_was_read_before(store: Store) -> None:
    cup = add_cup(store, "a", "b", "c", num=60)
    play(cup, store, 1, 20)
    history = History(store, cup.record)
    for _ in range(2):
        point = rate_now(store, cup.record.id, 3)
        assert point is not None
        store.ratings.add_point(cup.record.id, point)
        history.update(store)
        play(cup, store, 21, 30)
    assert [point.num_matches for point in history.points] == [20, 30]
    last = store.matches.last_id(cup.record.id)
    declare_void(store, [cup.record.id], [last - 3], "an engine helped")
    history.update(store)
    # The points from that match on are deleted; a current one is stored in their place.
    assert [point.num_matches for point in history.points] == [20, 29]
    assert_true(store, cup.record, history.points)
    declare_void(store, [cup.record.id], [last - 3], "proven wrong", undo=True)
    history.update(store)
    assert [point.num_matches for point in history.points] == [20, 30]
    assert_true(store, cup.record, history.points)
    assert store.claim(cup.record.id, current_owner())
    declare_void(store, [cup.record.id], [last - 3], "whoever runs it keeps points itself")
    history.update(store)
    assert [point.num_matches for point in history.points] == [20]


def test_matches_that_were_read_one_by_one_are_read_again(store: Store) -> None:
    cup = add_cup(store, "a", "b", "c", num=60)
    play(cup, store, 1, 20)
    read = RatedMatches(MatchFilter(tournament=cup.record.name, since=0.0))
    index = {(cup.record.id, seat): seat for seat in range(3)}
    read.update(store)
    assert len(read.matches(index)) == 20
    store.changes.void([1, 2], reason="r", who="u@h")
    read.update(store)
    assert len(read.matches(index)) == 18
    store.changes.unvoid([1], reason="r", who="u@h")
    play(cup, store, 21, 21)
    read.update(store)
    assert len(read.matches(index)) == 20


def test_the_gap_that_a_void_match_leaves_is_filled(store: Store) -> None:
    cup = add_cup(store, num=400)
    for begin, end in pairwise((0, 40, 80, 120, 400)):
        play(cup, store, begin + 1, end)
        point = rate_now(store, cup.record.id, 3)
        assert point is not None
        store.ratings.add_point(cup.record.id, point)
    now = store.tournaments.find(cup.record.id)
    assert now is not None
    number = next(match.id for match in store.matches.of_tournament(cup.record.id) if match.number == 101)
    declare_void(store, [cup.record.id], [number], "an engine helped")
    history = History(store, now)
    history.update(store)
    assert [point.num_matches for point in history.points] == [40, 80, 399]
    assert history.needs_scan(now)
    history.scan(store, now)
    # Between stored points nothing is computed.
    assert [point.num_matches for point in history.points] == [40, 80, *range(100, 399, 20), 399]
    assert_true(store, cup.record, history.points)
    assert not history.needs_scan(now)


def played(num: int, num_bots: int, seed: int = 1) -> list[RatedMatch]:
    """Return pairs and singles of random bots from few openings, including repeated matches."""
    rng = np.random.default_rng(seed)
    found: list[RatedMatch] = []
    while len(found) < num:
        one, other = (int(bot) for bot in rng.choice(num_bots, 2, replace=False))
        opening, points = int(rng.integers(6)), rng.integers(0, 3, 2) / 2
        pair = len(found)
        found.append(RatedMatch(one, other, float(points[0]), pair, opening, int(rng.integers(4)) - 2))
        if rng.random() < 0.8:
            moves = int(rng.integers(1 << 62))
            found.append(RatedMatch(other, one, float(points[1]), pair, opening, moves))
    return found


def columns(sums: Encounters) -> list[tuple[str, NDArray[np.generic]]]:
    """Return all arrays of the sums with the names of their fields."""
    found: list[tuple[str, NDArray[np.generic]]] = []
    for field in fields(sums):
        value = cast("IntArray | ClusterSums | tuple[ClusterSums, ...]", getattr(sums, field.name))
        if isinstance(value, np.ndarray):
            found.append((field.name, value))
        else:
            several = (value,) if isinstance(value, ClusterSums) else value
            found += [(field.name, column) for part in several for column in part.columns]
    return found


@pytest.mark.parametrize("num_bots", [2, 3, 40, 300])
def test_the_same_sums(num_bots: int) -> None:
    matches = played(700, num_bots)
    gathered = GatheredMatches()
    for start in range(0, len(matches), 150):
        gathered.add(matches[start : start + 150])
        known = matches[: start + 150]
        assert len(gathered) == len(known)
        whole = columns(encounters(MatchArrays(known)))
        found = columns(gathered.encounters())
        assert [name for name, _ in found] == [name for name, _ in whole]
        for (name, one), (_, other) in zip(found, whole, strict=True):
            assert np.array_equal(one, other), name


def test_no_match() -> None:
    gathered = GatheredMatches()
    assert len(gathered) == len(gathered.encounters()) == 0
    gathered.add([])
    assert len(gathered) == 0


def test_points_are_checked() -> None:
    with pytest.raises(ConfigError, match="the points of a match are 0"):
        GatheredMatches().add([RatedMatch(0, 1, 0.25, 0, 0, 0)])


def test_little_memory_beside_the_matches() -> None:
    matches = played(30_000, 40)
    gathered = GatheredMatches()
    for start in range(0, len(matches), 2_000):
        gathered.add(matches[start : start + 2_000])
    whole = MatchArrays(matches)

    def peak(work: Callable[[], object]) -> int:
        """Return the peak memory of a function in bytes, including its result."""
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert 3 * peak(gathered.encounters) < peak(lambda: encounters(whole))
