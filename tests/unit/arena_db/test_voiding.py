"""A store with void matches gives the same results as one without them; revalidating them restores all."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db import summed
from arena_db.errors import RefusedError
from arena_db.points import RatingPoint, SeatRating
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, digest, pool, tamper

if TYPE_CHECKING:
    from pathlib import Path

    from arena_db.records import MatchRecord
    from stores import Cup

ALL = MatchFilter(rated_only=False)
NUM = 36


def add_cups(store: Store) -> list[Cup]:
    """Store four tournaments: two of one pool with bots in common, another pool, and a bot against itself."""
    return [
        add_cup(store, num=NUM),
        add_cup(store, "b", "c", "a", num=NUM),
        add_cup(store, "a", "b", num=NUM, pool=pool("blitz")),
        add_cup(store, "a", "a/a_2", num=NUM),
    ]


def some_record(cup: Cup, number: int, rng: random.Random) -> MatchRecord:
    """Return a match of few openings and few courses of play, so that repeats and pairs are frequent."""
    opening = rng.randrange(3) if number % 5 else 0
    return cup.match(
        number,
        outcome=rng.choice(("first", "second", "draw")),
        actions=(opening, opening, 3, rng.randrange(2)),
        match_hash=digest(f"{opening} {rng.randrange(3)}"),
        termination=rng.choice(("rules", "rules", "time_move")),
        rated=rng.random() < 0.9,
    )


def told(store: Store) -> list[object]:
    """Return everything that tables are computed from, except the ids of matches."""
    kept = [
        store.sums.of_pools(),
        *(store.sums.of_tournament(record.id) for record in store.tournaments.newest()),
    ]
    return [
        [sorted(some) for some in kept],
        [store.sums.tallies(where) for where in (ALL, MatchFilter(), MatchFilter(since=0.0))],
        sorted(match[1:] for match in store.matches.played(MatchFilter())),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_random_sequences_equal_a_store_without_the_void_matches(
    store: Store, template_file: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summed, "BATCH", 7)
    rng = random.Random(seed)  # noqa: S311 - no secret
    cups = add_cups(store)
    waiting = [some_record(cup, planned.number, rng) for cup in cups for planned in cup.plan]
    rng.shuffle(waiting)
    saved: list[MatchRecord] = []
    are_void: set[int] = set()
    for step in range(24):
        num = rng.randrange(9)
        store.matches.save(waiting[:num])
        saved, waiting = saved + waiting[:num], waiting[num:]
        if rng.random() < 0.4:
            store.sums.sum_up()
        chosen = {number + 1 for number in range(len(saved)) if rng.random() < 0.2}
        if rng.random() < 0.6:
            assert store.changes.void(chosen, reason="r", who="u@h") == len(chosen - are_void)
            are_void |= chosen
        else:
            assert store.changes.unvoid(chosen, reason="r", who="u@h") == len(chosen & are_void)
            are_void -= chosen
        if step % 6 == 5:
            assert store.integrity.check() == []
            assert told(store) == told_without(template_file, saved, are_void)
    store.changes.unvoid(are_void, reason="r", who="u@h")
    store.sums.sum_up()
    assert store.integrity.check() == []
    assert told(store) == told_without(template_file, saved, set())


def told_without(empty: Path, saved: list[MatchRecord], are_void: set[int]) -> list[object]:
    """Return the content of a store that never contained some matches."""
    twin = empty.with_name("twin.db")
    shutil.copy(empty, twin)
    with Store.open(twin, fast=True) as store:
        add_cups(store)
        store.matches.save([record for number, record in enumerate(saved, 1) if number not in are_void])
        store.integrity.repair()
        return told(store)


def test_a_void_match_is_kept_with_its_reason(store: Store) -> None:
    cup = add_cup(store, num=6)
    store.matches.save([cup.match(number) for number in range(1, 7)])
    assert store.changes.void([2, 3], reason="an engine helped", who="anna@lab") == 2
    assert store.changes.void([3, 4], reason="played twice", who="ben@lab") == 1
    reasons = {match.id: match.void_reason for match in store.matches.newest(ALL)}
    assert reasons == {6: "", 5: "", 4: "played twice", 3: "an engine helped", 2: "an engine helped", 1: ""}
    change = store.changes.void_change(3)
    assert change is not None
    assert (change.kind, change.subject, change.who) == ("void", "matches 2, 3", "anna@lab")
    assert store.changes.void_change(1) is None
    assert [planned.number for planned in store.plans.unplayed(cup.record.id)] == []
    before = store.changes.last()
    assert store.changes.unvoid([1, 2, 3, 4], reason="proven wrong", who="anna@lab") == 3
    assert store.changes.last() > before
    assert [(made.kind, made.subject) for made in store.changes.of(cup.record.id)] == [
        ("void", "matches 2, 3"),
        ("void", "match 4"),
        ("unvoid", "matches 2, 3, 4"),
    ]
    assert {match.void_reason for match in store.matches.newest(ALL)} == {""}
    assert store.changes.unvoid([1], reason="again", who="anna@lab") == 0
    assert len(store.changes.of(cup.record.id)) == 3


def test_one_decision_is_written_per_tournament(store: Store) -> None:
    one, two = add_cup(store), add_cup(store)
    store.matches.save([one.match(1), two.match(1), one.match(2)])
    assert store.changes.void([1, 2, 3], reason="power cut", who="u@h") == 3
    assert [made.subject for made in store.changes.of(one.record.id)] == ["matches 1, 2"]
    assert [made.subject for made in store.changes.of(two.record.id)] == ["match 1"]


def test_of_many_matches_the_first_are_named(store: Store) -> None:
    cup = add_cup(store, num=60)
    store.matches.save([cup.match(number) for number in range(1, 61)])
    store.changes.void(range(1, 61), reason="r", who="u@h")
    (made,) = store.changes.of(cup.record.id)
    assert made.subject.startswith("matches 1, 2,")
    assert made.subject.endswith(" 50 and 10 more")


@pytest.mark.parametrize(
    ("numbers", "reason", "cause"),
    [([1, 7], "r", "no match #7"), ([1], " \n", "a reason is missing"), ([1], "r" * 4097, "4097 characters")],
)
def test_a_wrong_decision_changes_nothing(store: Store, numbers: list[int], reason: str, cause: str) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    with pytest.raises(RefusedError, match=cause):
        store.changes.void(numbers, reason=reason, who="u@h")
    assert store.changes.of(cup.record.id) == []
    assert store.changes.void_change(1) is None
    assert sum(tally.num_matches for tally in store.sums.tallies(ALL)) == 1


def test_points_from_the_void_match_on_are_dropped(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2, rated=False), cup.match(3), cup.match(4)])
    for num_matches, last in ((1, 1), (2, 3), (3, 4)):
        point = RatingPoint(num_matches, last, (SeatRating(0, 1500.0, 30.0, rests_on_prior=False),))
        assert store.ratings.add_point(cup.record.id, point)
    store.changes.void([2], reason="unrated", who="u@h")
    assert [point.num_matches for point in store.ratings.points(cup.record.id)] == [1, 2, 3]
    store.changes.void([3], reason="r", who="u@h")
    assert [point.num_matches for point in store.ratings.points(cup.record.id)] == [1]
    assert store.integrity.check() == []
    assert store.ratings.add_point(
        cup.record.id, RatingPoint(2, 4, (SeatRating(0, 1500.0, 30.0, rests_on_prior=False),))
    )
    store.changes.unvoid([3], reason="r", who="u@h")
    assert [point.num_matches for point in store.ratings.points(cup.record.id)] == [1]
    assert store.integrity.check() == []


def test_lists_show_void_matches_and_exports_only_where_asked(store: Store) -> None:
    from arena_db.records import MatchSelection

    cup = add_cup(store, num=6)
    store.matches.save([cup.match(number) for number in range(1, 7)])
    store.changes.void([1, 2, 3, 4], reason="r", who="u@h")
    assert [match.id for match in store.matches.newest(MatchFilter())] == [6, 5, 4, 3, 2, 1]
    assert store.matches.count(MatchFilter()) == 6
    assert store.matches.count(MatchFilter(since=0.0)) == 6
    of_a = [match.id for match in reversed(store.matches.newest(MatchFilter(bot="a")))]
    assert store.matches.ids_of_seats(cup.record.id, [0]) == of_a
    assert store.matches.ids_of_seats(cup.record.id, [0, 1, 2]) == [1, 2, 3, 4, 5, 6]
    assert store.matches.ids_of_seats(99, [0]) == []
    for include, wanted in ((False, [5, 6]), (True, [1, 2, 3, 4, 5, 6])):
        chosen = MatchSelection(where=MatchFilter(), include_void=include)
        assert [match.id for page in store.bulk.packed_matches(chosen) for match in page] == wanted
        assert [match.id for page in store.bulk.whole_matches(chosen) for match in page] == wanted
        assert sum(volume.num_matches for volume in store.bulk.volumes(chosen)) == len(wanted)


def test_a_check_notices_a_match_that_became_void_behind_its_back(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1), cup.match(2), cup.match(3)])
    store.changes.void([1], reason="r", who="u@h")
    store.sums.sum_up()
    tamper(store.place, "INSERT INTO voids VALUES (2, 1, NULL)")
    faults = "\n".join(store.integrity.check())
    assert "tally" in faults
    assert "kept sums" in faults
    assert "what was decided about tournament rr-1 is not as it was stored" in faults
    tamper(store.place, "DELETE FROM voids WHERE match_id = 2")
    assert store.integrity.check() == []


def test_a_void_match_of_the_bulk_of_a_tournament_is_found_with_its_partner(store: Store) -> None:
    cup = add_cup(store, "a", "b", num=4)
    store.matches.save([replace(cup.match(number), outcome="draw") for number in range(1, 5)])
    store.sums.sum_up()
    store.changes.void([2], reason="r", who="u@h")
    (kept,) = store.sums.of_tournament(cup.record.id)
    from arena_db.sums import FIRST_PAIR, FIRST_SINGLE

    assert sum(kept.sums[FIRST_PAIR:FIRST_SINGLE]) == 1
    assert sum(kept.sums[:FIRST_PAIR]) == 3
