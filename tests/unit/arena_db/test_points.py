"""Stored ratings over time: few, evenly spread, equal to those of the matches, otherwise removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_db.errors import RefusedError
from arena_db.points import MOST_POINTS, RatingPoint, SeatRating, step_of, surplus
from arena_db.store import Store
from stores import START, add_cup, tamper

if TYPE_CHECKING:
    from stores import Cup


def point(num_matches: int, last_match: int, elo: float = 1500.0) -> RatingPoint:
    one = SeatRating(0, elo, 40.5, rests_on_prior=False)
    other = SeatRating(2, 1499.5, 60.25, rests_on_prior=True)
    return RatingPoint(num_matches, last_match, (one, other))


def numbers(store: Store, tournament: int = 1) -> list[int]:
    return [each.num_matches for each in store.ratings.points(tournament)]


@pytest.fixture
def cup(store: Store) -> Cup:
    """Return a tournament of which 120 matches are played, with a void attempt before the third."""
    cup = add_cup(store, num=200)
    store.matches.save([cup.match(1), cup.match(2), cup.void(3)])
    store.matches.save([cup.match(number, attempt=int(number == 3)) for number in range(3, 121)])
    return cup


def test_a_point_is_read_as_it_was_kept(store: Store, cup: Cup) -> None:
    assert store.ratings.points(cup.record.id) == []
    assert store.ratings.add_point(cup.record.id, point(2, 2))
    (kept,) = store.ratings.points(cup.record.id)
    assert kept == point(2, 2)._replace(ended_at=START + 2 + 70.012)
    assert store.ratings.points(cup.record.id, after=2) == []
    assert store.ratings.points(99) == []


def test_ratings_of_some_seats(store: Store, cup: Cup) -> None:
    store.ratings.add_point(cup.record.id, point(2, 2))
    (kept,) = store.ratings.points(cup.record.id, seats=[2])
    assert [rating.seat for rating in kept.ratings] == [2]
    assert store.ratings.points(cup.record.id, seats=[1]) == []


def test_only_newer_points_are_kept(store: Store, cup: Cup) -> None:
    assert store.ratings.add_point(cup.record.id, point(10, 11))
    for known in (10, 9):
        assert not store.ratings.add_point(cup.record.id, point(known, known + 1, elo=0.0))
    assert not store.ratings.add_point(cup.record.id, RatingPoint(11, 12, ()))
    assert [each.ratings[0].elo for each in store.ratings.points(cup.record.id)] == [1500.0]


def test_refused_points(store: Store, cup: Cup) -> None:
    other = add_cup(store, "d", "e", name="other")
    store.matches.save([other.match(1)])
    own = cup.record.id
    for tournament, wrong in ((own, point(10, 122)), (own, point(10, 999)), (9, point(1, 1))):
        with pytest.raises(RefusedError, match="to rate it up to"):
            store.ratings.add_point(tournament, wrong)
    with pytest.raises(RefusedError):
        store.ratings.add_point(
            cup.record.id, RatingPoint(2, 2, (SeatRating(9, 1.0, 1.0, rests_on_prior=False),))
        )
    with pytest.raises(RefusedError):
        store.ratings.add_point(
            cup.record.id, RatingPoint(2, 2, (SeatRating(0, float("nan"), 1.0, rests_on_prior=False),))
        )
    assert numbers(store) == []


def test_at_most_forty_are_kept(store: Store, cup: Cup) -> None:
    for number in range(1, 121):
        # The void attempt has its own id.
        store.ratings.add_point(cup.record.id, point(number, number + (number > 2)))
    kept = numbers(store)
    assert len(kept) == MOST_POINTS
    assert kept[-1] == 120
    assert max(b - a for a, b in zip([0, *kept], kept, strict=False)) <= 120 // 20
    assert store.integrity.check() == []


@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=90).map(sorted))
def test_points_stay_spread_evenly(given_numbers: list[int]) -> None:
    gone = surplus(given_numbers)
    kept = [number for number in given_numbers if number not in gone]
    assert len(gone) == max(0, len(given_numbers) - MOST_POINTS)
    assert set(gone) <= set(given_numbers)
    assert kept[-1] == given_numbers[-1]

    def widest(points: list[int]) -> int:
        return max(b - a for a, b in zip([0, *points], points, strict=False))

    assert widest(kept) <= max(widest(given_numbers), given_numbers[-1] / 20)


def test_a_growing_tournament_keeps_its_points_spread() -> None:
    kept: list[int] = []
    for number in range(1, 2001):
        kept.append(number)
        kept = [each for each in kept if each not in surplus(kept)]
        assert len(kept) == min(number, MOST_POINTS)
        assert max(b - a for a, b in zip([0, *kept], kept, strict=False)) <= max(1, number / 20)


@pytest.mark.parametrize(
    ("num_planned", "num_bots", "step"),
    [(1, 2, 2), (80, 2, 2), (81, 2, 3), (1_000_000, 40, 25_000), (780, 40, 40), (0, 0, 1)],
)
def test_when_ratings_are_due(num_planned: int, num_bots: int, step: int) -> None:
    assert step_of(num_planned, num_bots) == step


def test_moments(store: Store, cup: Cup) -> None:
    moment = store.sums.moment(cup.record.id)
    assert moment is not None
    assert (moment.num_matches, moment.last_match) == (120, 121)
    assert moment.sums == store.sums.of_tournament(cup.record.id)
    store.matches.save([cup.void(121), cup.match(122, rated=False)])
    assert store.sums.moment(cup.record.id) == moment
    store.matches.save([cup.match(123)])
    later = store.sums.moment(cup.record.id)
    assert later is not None
    assert (later.num_matches, later.last_match) == (121, 124)
    assert store.sums.moment(99) is None


def test_matches_in_the_order_of_storing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_db.match_keeping._COUNTED_PAGE", 7)
    cup, other = add_cup(store, num=40), add_cup(store, "d", "e", num=40, name="other")
    for number in range(1, 31):
        store.matches.save([cup.match(31 - number), other.match(number), cup.void(number + 10, attempt=5)])
    pages = list(store.bulk.counted_matches(cup.record.id))
    found = [match for page in pages for match in page]
    assert [match.id for match in found] == sorted(match.id for match in found)
    assert [match.id for match in found] == [3 * place + 1 for place in range(30)]
    assert {match.tournament for match in found} == {cup.record.id}
    assert list(store.bulk.counted_matches(99)) == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE rating_points SET num_matches = 11 WHERE num_matches = 10", "after 11 matches .* match 10;"),
        ("UPDATE rating_points SET match_id = 12 WHERE num_matches = 10", "after 10 matches .* match 11;"),
        ("UPDATE rating_points SET match_id = 3 WHERE num_matches = 10", "no rated match"),
        ("UPDATE rating_points SET match_id = 12 WHERE num_matches = 10 AND seat = 2", "match 11;"),
        ("UPDATE matches SET is_final = 0 WHERE id = 5", "after 20 matches .* match 19;"),
    ],
)
def test_wrong_points_are_found_and_removed(store: Store, cup: Cup, statement: str, said: str) -> None:
    for number, last in ((2, 2), (10, 11), (20, 21)):
        store.ratings.add_point(cup.record.id, point(number, last))
    assert store.integrity.check() == []
    tamper(store.place, statement)
    faults = [fault for fault in store.integrity.check() if "the ratings of tournament" in fault]
    assert faults
    assert any(re.search(said, fault) for fault in faults), faults
    store.integrity.repair()
    assert not [fault for fault in store.integrity.check() if "the ratings of tournament" in fault]
    assert numbers(store)[0] == 2
    assert len(numbers(store)) == (1 if "matches SET" in statement else 2)


@pytest.mark.sqlite("a database on a server is copied by pg_dump")
def test_they_come_along_with_a_backup(store: Store, cup: Cup) -> None:
    store.ratings.add_point(cup.record.id, point(2, 2))
    backup = store.path.with_name("copy.db")
    store.backup(backup)
    store.ratings.add_point(cup.record.id, point(20, 21))
    store.close()
    Store.restore(backup, store.path)
    with Store.open(store.place) as restored:
        assert numbers(restored) == [2]
        assert restored.integrity.check() == []
