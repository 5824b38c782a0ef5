"""Merging stores: idempotent, in any order, nothing is mixed up; and extracting a tournament."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Protocol, cast

import pytest

from arena.results.condition import read_condition
from arena.results.leaderboards import rate
from arena_db.errors import DamagedError, MissingError, RefusedError, TakenError
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.owner import current_owner
from arena_db.points import RatingPoint, SeatRating
from arena_db.records import LiveEvent, MatchFilter, NewBatch, OpenPlan
from arena_db.replays import ReplayRecord
from arena_db.store import Store
from stores import add_cup, digest, plan, pool, seal_anew, tamper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena_db.records import MatchRecord
    from stores import Cup

ALL = MatchFilter(rated_only=False)
NUM = 18


def results(cup: Cup, first: int, last: int) -> list[MatchRecord]:
    """Return matches of few openings, with a void attempt and an unrated one."""
    found = [
        cup.match(
            number,
            outcome=("first", "draw", "second")[number % 3],
            actions=(number % 2, 2, 3, number % 4),
            match_hash=digest(str(number % 4)),
            rated=number != 5,
        )
        for number in range(first, last + 1)
    ]
    if first == 1:
        found[0] = replace(found[0], attempt=1)
        found.insert(0, cup.void(1))
    return found


def told(store: Store) -> list[object]:
    """Return the content of a store by names that are the same in every store: uids, identities, numbers."""
    uids = {record.id: record.uid for record in store.tournaments.newest()}
    # Which of two bots is the lower one depends on the order in which they were added.
    pairs = [
        (kept.game, kept.pool, sorted((str(kept.low), str(kept.high))), sum(kept.sums[:6]))
        for kept in store.sums.of_pools()
    ]
    return [
        sorted(pairs),
        sorted((uids[tally.tournament], *tally[1:]) for tally in store.sums.tallies(ALL)),
        sorted((uids[match.tournament], *match[2:]) for match in store.matches.played(MatchFilter())),
        sorted(
            (uids[match.tournament], match.number, match.attempt, match.void_reason, match.started_at)
            for match in store.matches.newest(ALL, limit=999)
        ),
        sorted((uids[key], sum(sum(row.sums[:6]) for row in store.sums.of_tournament(key))) for key in uids),
        sorted((uids[key], [made[2:] for made in store.changes.of(key)]) for key in uids),
        sorted(store.names.bots()),
        store.names.labels(),
        leaderboard(store),
    ]


def leaderboard(store: Store) -> list[object]:
    """Return the leaderboard; its numbers are rounded, because the last bits of a float may differ."""
    rated = rate(store, read_condition("pool:'5/move hosted'"))
    return [
        (row.name, row.identity, round(row.elo, 6), round(row.error or 0.0, 6), row.games)
        for table in ([] if rated is None else rated.tables)
        for row in table.rows
    ]


class NewPlace(Protocol):
    """Creates an empty store, or a copy of one, in a file or on a server; returns its place."""

    def __call__(self, copy_of: Store | None = None) -> str: ...


@pytest.fixture
def stores(new_place: NewPlace) -> Iterator[list[Store]]:
    """Yield three stores: one of two tournaments, a later copy of it, and one with bots in common."""
    with ExitStack() as stack:
        one = stack.enter_context(Store.open(new_place(), fast=True))
        cup = add_cup(one, num=NUM, name="cup")
        other = add_cup(one, "b", "d", num=8, name="other", pool=pool("blitz"))
        one.matches.save(results(cup, 1, 9))
        one.matches.save(results(other, 1, 8))
        copy = stack.enter_context(Store.open(new_place(copy_of=one), fast=True))
        copy.matches.save(results(cup, 10, NUM))
        copy.tournaments.set_state(cup.record.id, "finished")
        copy.changes.void([2, 3, 20], reason="an engine helped", who="anna@lab")
        copy.changes.unvoid([3], reason="not proven", who="anna@lab")
        third = stack.enter_context(Store.open(new_place(), fast=True))
        # Bots and tournaments have other ids here than in the other stores.
        far = add_cup(third, "d", "c", "b", num=NUM, name="cup")
        third.matches.save(results(far, 1, NUM))
        third.sums.sum_up()
        yield [one, copy, third]


def test_three_stores_in_any_order_and_twice(stores: list[Store], new_place: NewPlace) -> None:
    seen: list[list[object]] = []
    for order in permutations(stores):
        with Store.open(new_place(), fast=True) as joined:
            for each in order:
                joined.transfers.merge(each.place)
            assert joined.integrity.check() == []
            seen.append(told(joined))
            again = [merged for each in order for merged in joined.transfers.merge(each.place)]
            assert [(merged.num_matches, merged.num_rows) for merged in again] == [(0, 0)] * len(again)
            assert told(joined) == seen[0]
            assert sorted(record.name for record in joined.tournaments.newest()) == ["cup", "cup-2", "other"]
            states = {record.num_done: record.state for record in joined.tournaments.newest()}
            assert states[NUM] == "stopped" or states[8] == "stopped"
    board = seen[0][-1]
    assert isinstance(board, list)
    assert len(cast("list[object]", board)) == 4
    _, copy, third = stores
    rows = [match for store in (copy, third) for match in store.matches.newest(ALL, limit=999)]
    assert str(seen[0][3]).count("1750000") == len(rows)


def test_a_copy_is_the_same_but_cannot_go_on(stores: list[Store], store: Store) -> None:
    copy = stores[1]
    cup = copy.tournaments.find("cup")
    assert cup is not None
    analysis = JudgedMatch(
        match=copy.matches.newest(ALL, limit=1)[0].id,
        name="solver",
        plies=(JudgedPly(value=1.0, loss=0.0),) * 4,
        made_at=5.0,
    )
    copy.analyses.add(analysis)
    point = RatingPoint(1, 2, (SeatRating(0, 1500.0, 30.0, rests_on_prior=False),))
    copy.changes.unvoid([2], reason="r", who="u@h")
    assert copy.ratings.add_point(cup.id, point)
    add_cup(store, "x", "y", num=4, name="first")
    merged = store.transfers.merge(copy.place)
    assert {(each.name, each.num_matches, each.is_new) for each in merged} == {
        ("cup", 19, True),
        ("other", 9, True),
    }
    here = store.tournaments.find("cup")
    assert here is not None
    assert replace(here, id=0) == replace(cup, id=0)
    assert store.tournaments.entrants(here.id) == copy.tournaments.entrants(cup.id)
    assert store.plans.planned(here.id) == copy.plans.planned(cup.id)
    for there in copy.matches.of_tournament(cup.id):
        match = store.matches.find_attempt(here.id, there.number, there.attempt)
        assert match is not None
        assert replace(match, id=there.id, tournament=there.tournament) == there
    judged = store.matches.find_attempt(here.id, NUM)
    assert judged is not None
    assert store.analyses.of([judged.id])[judged.id][0] == replace(analysis, match=judged.id)
    (kept,) = store.ratings.points(here.id)
    (was,) = copy.ratings.points(cup.id)
    assert kept == was._replace(last_match=kept.last_match)
    origin = store.transfers.origin(here.id)
    assert origin is not None
    assert origin.source == str(copy.place)
    assert copy.transfers.origin(cup.id) is None
    assert store.integrity.check() == []


def test_what_is_newer_in_the_other_store_follows(stores: list[Store], store: Store) -> None:
    one, copy, _ = stores
    store.transfers.merge(one.place)
    first = store.tournaments.find("cup")
    assert first is not None
    assert (first.num_done, first.state) == (9, "stopped")
    merged = {each.name: each for each in store.transfers.merge(copy.place)}
    assert merged["cup"].num_matches == 9
    assert not merged["cup"].is_new
    assert merged["other"].num_matches == 0
    last = store.tournaments.find("cup")
    assert last is not None
    assert (last.num_done, last.state) == (NUM, "finished")
    void = [match.number for match in store.matches.of_tournament(last.id) if match.void_reason]
    assert void == [match.number for match in copy.matches.of_tournament(1) if match.void_reason]
    # An older copy undoes nothing.
    assert all(each.num_rows == 0 for each in store.transfers.merge(one.place))
    assert store.tournaments.find("cup") == last
    copy.changes.unvoid([2], reason="not proven either", who="anna@lab")
    store.transfers.merge(copy.place)
    assert sum(bool(match.void_reason) for match in store.matches.of_tournament(last.id)) == len(void) - 1
    assert store.integrity.check() == []


def test_two_stores_that_declared_one_match_void(stores: list[Store], new_place: NewPlace) -> None:
    one, copy, _ = stores
    one.changes.void([2], reason="later", who="ben@lab")
    for order in ((one, copy), (copy, one)):
        with Store.open(new_place(), fast=True) as joined:
            for each in order:
                joined.transfers.merge(each.place)
            match = joined.matches.find_attempt(1, 1, 1)
            assert match is not None
            assert match.void_reason == "an engine helped"
            assert joined.integrity.check() == []


@pytest.mark.parametrize("change", ["match", "attempt", "final", "plan", "opening", "bot", "seed"])
def test_a_tournament_that_went_on_in_two_places_is_refused(
    stores: list[Store], change: str, new_place: NewPlace
) -> None:
    third = stores[2]
    cup = add_cup(third, num=4, name="fork")
    third.matches.save([cup.match(1)])
    copied = new_place(copy_of=third)
    with Store.open(copied) as fork:
        if change == "match":
            third.matches.save([cup.match(2)])
            fork.matches.save([cup.match(2, outcome="second")])
        elif change == "attempt":
            third.matches.save([cup.match(2)])
            fork.matches.save([cup.void(2), cup.match(2, attempt=1)])
        elif change == "final":
            third.matches.save([cup.match(2)])
            fork.matches.save([cup.match(2, attempt=1)])
        elif change == "plan":
            fork.plans.extend(cup.record.id, plan(3, 3, start=4), "")
        elif change == "opening":
            edit(fork, "UPDATE planned SET opening = x'0303' WHERE number = 4 AND tournament_id = 2")
        elif change == "bot":
            edit(fork, "UPDATE entrants SET time_limit = '9' WHERE seat = 1 AND tournament_id = 2")
        else:
            edit(fork, "UPDATE tournaments SET seed = 43 WHERE name = 'fork'")
    before = told(third)
    said = r"of tournament fork differs between this store and .* two places"
    with pytest.raises(RefusedError, match=said):
        third.transfers.merge(copied)
    assert told(third) == before
    assert third.integrity.check() == []


def edit(store: Store, statement: str) -> None:
    """Change tournament 2 as if it had always been stored so."""
    tamper(store.place, statement)
    seal_anew(store, 2)


def test_other_stores_are_refused(stores: list[Store], new_place: NewPlace, tmp_path: Path) -> None:
    one, copy, third = stores
    with pytest.raises(TakenError, match="is this store itself"):
        one.transfers.merge(one.place)
    with pytest.raises(MissingError):
        one.transfers.merge(tmp_path / "nothing.db")
    damaged = new_place(copy_of=copy)
    tamper(damaged, "UPDATE matches SET reason = 'X wins' WHERE id = 5")
    before = told(third)
    with pytest.raises(DamagedError, match=r"match #5 is not as it was stored.*nothing was merged"):
        third.transfers.merge(damaged)
    assert told(third) == before


def test_no_match_is_added_to_a_tournament_that_is_being_run(stores: list[Store]) -> None:
    one, copy, _ = stores
    held = one.claim(1, current_owner())
    assert held is not None
    with pytest.raises(RefusedError, match="cup is being run"):
        one.transfers.merge(copy.place)
    held.leases.release()
    assert [each.num_matches for each in one.transfers.merge(copy.place)] == [9, 0]
    assert one.transfers.origin(1) is None
    assert one.integrity.check() == []


def test_a_tournament_moves_out_and_back(stores: list[Store], tmp_path: Path) -> None:
    copy = stores[1]
    copy.changes.unvoid([2], reason="r", who="u@h")
    point = RatingPoint(1, 2, (SeatRating(0, 1500.0, 30.0, rests_on_prior=False),))
    assert copy.ratings.add_point(1, point)
    moment = copy.sums.moment(1)
    assert moment is not None
    place = moment.num_matches, moment.last_match
    assert copy.ratings.add_replay(1, ReplayRecord(*place, 1.2, 0.9, (20.0, -20.0, 0.0), ((0.0,) * 3,) * 3))
    plies = (JudgedPly(value=1.0, loss=0.0),) * 4
    copy.analyses.add(JudgedMatch(match=3, name="solver", plies=plies, made_at=5.0))
    copy.events.append([LiveEvent(tournament=1, number=1, kind="started", t=1.0)])
    copy.commands.send(1, "stop")
    before = told(copy)
    file = tmp_path / "cup.db"
    held = copy.claim(1, current_owner())
    assert held is not None
    with pytest.raises(RefusedError, match="being run"):
        copy.transfers.remove(1, file, who="u@h")
    held.leases.release()
    copy.transfers.remove(1, file, who="u@h")
    assert [path.name for path in tmp_path.glob("*.part*")] == []
    assert copy.integrity.check() == []
    assert [record.name for record in copy.tournaments.newest()] == ["other"]
    (removal,) = copy.transfers.removals()
    assert (removal.name, removal.file, removal.who) == ("cup", str(file), "u@h")
    with Store.open(file) as moved:
        assert [record.name for record in moved.tournaments.newest()] == ["cup"]
        assert moved.transfers.origin(1) is None
        assert moved.integrity.check() == []
    with pytest.raises(TakenError, match="exists"):
        copy.transfers.remove(2, file, who="u@h")
    copy.transfers.merge(file)
    assert copy.integrity.check() == []
    assert told(copy) == before


def test_a_damaged_match_is_not_moved_out(stores: list[Store], tmp_path: Path) -> None:
    one = stores[0]
    tamper(one.place, "UPDATE matches SET reason = 'X wins' WHERE id = 5")
    before = told(one)
    with pytest.raises(DamagedError, match=r"match #5 of .* is not as it was stored"):
        one.transfers.remove(1, tmp_path / "out.db", who="u@h")
    assert told(one) == before
    assert not list(tmp_path.glob("*out*"))


def test_the_rest_of_a_store_is_as_if_the_tournament_had_never_been(
    stores: list[Store], store: Store, tmp_path: Path
) -> None:
    third = stores[2]
    store.transfers.merge(third.place)
    without = told(store)
    store.transfers.merge(stores[0].place)
    for name in ("other", "cup-2"):
        record = store.tournaments.find(name)
        assert record is not None
        store.transfers.remove(record.id, tmp_path / f"{name}.db", who="u@h")
    # Bots stay in the store.
    assert told(store)[:6] == without[:6]
    assert leaderboard(store) == leaderboard(third)
    assert store.integrity.check() == []


def test_no_number_is_given_twice(store: Store, tmp_path: Path) -> None:
    add_cup(store, num=4, name="stays")
    cup = add_cup(store, num=4, name="goes")
    store.matches.save([cup.match(1), cup.match(2), cup.match(3)])
    store.transfers.remove(cup.record.id, tmp_path / "goes.db", who="u@h")
    later = add_cup(store, num=4, name="later")
    assert later.record.id == cup.record.id + 1
    store.matches.save([later.match(1), later.match(2)])
    assert [match.id for match in store.matches.newest(ALL)] == [5, 4]
    store.matches.save([later.match(3)])
    store.sums.sum_up()
    assert store.integrity.check() == []
    assert sum(sum(kept.sums[:6]) for kept in store.sums.of_tournament(later.record.id)) == 3


def test_a_plan_that_grows_keeps_what_it_was_planned_from(store: Store, tmp_path: Path) -> None:
    first = add_cup(store, num=4)
    store.matches.save([first.match(number) for number in (1, 2, 3)])
    rows = plan(3, 6)
    from stores import Cup, entrants, new_tournament

    record = store.tournaments.add(
        new_tournament(type="ladder", name="ladder"), entrants("a", "b", "c"), OpenPlan()
    )
    ladder = Cup(record, entrants("a", "b", "c"), rows)
    store.plans.add_batch(record.id, NewBatch(matches=rows[:3], num_total=None))
    store.matches.save([ladder.match(2), ladder.match(1)])
    store.changes.void([4], reason="r", who="u@h")
    basis = NewBatch(matches=rows[3:], num_total=None, basis_match=5, basis_change=1, note="second")
    store.plans.add_batch(record.id, basis)
    store.transfers.remove(record.id, tmp_path / "ladder.db", who="u@h")
    with Store.open(tmp_path / "ladder.db") as moved:
        here = moved.tournaments.find("ladder")
        assert here is not None
        assert not here.is_planned
        one, two = moved.plans.batches(here.id)
        assert (one.basis_match, one.basis_change) == (0, 0)
        assert (two.basis_match, two.basis_change, two.note) == (2, 1, "second")
        assert [match.number for match in moved.plans.unplayed(here.id)] == [3, 4, 5, 6]


def test_of_two_grades_of_one_judge_the_later_one_stays(stores: list[Store], store: Store) -> None:
    one, copy, _ = stores
    grades = {
        made_at: JudgedMatch(
            match=3, name="solver", plies=(JudgedPly(value=value, loss=0.0),) * 4, made_at=made_at
        )
        for made_at, value in ((5.0, 1.0), (6.0, -1.0))
    }
    one.analyses.add(grades[5.0])
    copy.analyses.add(grades[6.0])
    num_rows = [sum(row.num_rows for row in store.transfers.merge(other.place)) for other in (one, copy) * 2]
    match = store.matches.find_attempt(1, 2)
    assert match is not None
    assert store.analyses.of([match.id])[match.id][0] == replace(grades[6.0], match=match.id)
    assert num_rows[2:] == [0, 0]
