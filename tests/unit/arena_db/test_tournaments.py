"""Tournaments, their names, entrants and plans."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest

from arena_db.errors import RefusedError, TakenError
from arena_db.pools import PoolRecord
from stores import add_cup, bot, entrants, new_tournament, plan

if TYPE_CHECKING:
    from arena_db.store import Store


def test_a_tournament_comes_back_whole(store: Store) -> None:
    new = new_tournament(name="Pokal №1", event="Open", site="Köln", seed=(1 << 63) - 1)
    seats = [replace(entrant, limit="60+0.6") for entrant in entrants("a", "b", "c/label")]
    matches = plan(3, 9)
    record = store.tournaments.add(new, seats, matches)
    assert {name: asdict(record)[name] for name in asdict(new)} == asdict(new)
    assert (record.id, record.state, record.num_planned, record.num_done) == (1, "running", 9, 0)
    assert store.tournaments.find("Pokal №1") == store.tournaments.find(record.id) == record
    assert store.tournaments.entrants(record.id) == seats
    assert store.plans.planned(record.id) == store.plans.unplayed(record.id) == matches
    assert store.names.bots() == {entrant.bot.identity: entrant.bot for entrant in seats}


@pytest.mark.parametrize(
    ("kind", "name"), [("round-robin", "rr-2"), ("gauntlet", "gauntlet-2"), ("match", "match-2")]
)
def test_names_are_given(store: Store, kind: str, name: str) -> None:
    add_cup(store, name="first")
    assert add_cup(store, type=kind).record.name == name


def test_a_given_name_gives_way(store: Store) -> None:
    add_cup(store, name="rr-3")
    add_cup(store, name="rr-3-2")
    assert add_cup(store).record.name == "rr-3-3"


def test_a_name_is_taken_once(store: Store) -> None:
    add_cup(store, name="cup")
    with pytest.raises(TakenError, match="cup"):
        add_cup(store, name="cup")
    assert len(store.tournaments.newest()) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "cup"},
        {"num_actions": 0},
        {"seed": -1},
        {"name": "x" * 257},
        {"game": ""},
        {"config": "\ud800"},
    ],
)
def test_refused_tournaments(store: Store, changes: dict[str, Any]) -> None:
    with pytest.raises(RefusedError):
        add_cup(store, **changes)
    assert store.tournaments.newest() == []
    assert store.names.bots() == {}


def test_refused_plans(store: Store) -> None:
    seats = entrants("a", "b")
    whole = plan(2, 4)
    for broken in (
        [replace(whole[0], second=5)],
        [replace(whole[0], second=0)],
        [replace(whole[0], number=0)],
        [whole[0], whole[0]],
        [whole[0], replace(whole[1], match_no=0)],
        [replace(whole[0], opening=(9,))],
    ):
        with pytest.raises(RefusedError):
            store.tournaments.add(new_tournament(), seats, broken)
    with pytest.raises(RefusedError, match="label"):
        store.tournaments.add(new_tournament(), [*seats, replace(seats[0], seat=2)], whole)
    assert store.tournaments.newest() == []


def test_missing_tournaments(store: Store) -> None:
    assert (
        store.tournaments.find(1)
        is store.tournaments.find("cup")
        is store.tournaments.last(unfinished=False)
        is None
    )
    assert (
        store.tournaments.entrants(1) == store.plans.planned(1) == list(store.matches.of_tournament(1)) == []
    )
    with pytest.raises(RefusedError, match="no tournament with id 1"):
        store.tournaments.set_state(1, "stopped")
    with pytest.raises(RefusedError, match="no tournament with id 1"):
        store.plans.extend(1, [], "")


def test_a_plan_is_extended(store: Store) -> None:
    cup = add_cup(store, num=6)
    store.plans.extend(cup.record.id, plan(3, 3, start=6), "rounds = 3\n")
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.num_planned, record.config) == (9, "rounds = 3\n")
    assert store.plans.planned(cup.record.id) == plan(3, 9)
    assert store.integrity.check() == []


def test_states(store: Store) -> None:
    one, two = add_cup(store), add_cup(store)
    store.tournaments.set_state(two.record.id, "finished")
    unfinished, last = store.tournaments.last(unfinished=True), store.tournaments.last(unfinished=False)
    assert unfinished is not None
    assert last is not None
    assert (unfinished.id, last.id, last.state) == (one.record.id, two.record.id, "finished")
    with pytest.raises(RefusedError, match="state"):
        store.tournaments.set_state(one.record.id, "paused")


def test_pages_of_tournaments(store: Store) -> None:
    for _ in range(5):
        add_cup(store, num=0)
    assert [record.id for record in store.tournaments.newest(limit=2)] == [5, 4]
    assert [record.id for record in store.tournaments.newest(before=4, limit=2)] == [3, 2]
    assert [record.id for record in store.tournaments.newest(before=2)] == [1]


def test_new_options_are_a_new_bot(store: Store) -> None:
    add_cup(store, "a", "b")
    add_cup(store, "a", "c")
    assert sorted(record.name for record in store.names.bots().values()) == ["a", "b", "c"]
    with pytest.raises(RefusedError, match="identity"):
        store.tournaments.add(new_tournament(), [replace(entrants("d")[0], bot=bot("d", identity="12"))], [])


def test_a_pool_of_scaled_times(store: Store) -> None:
    cup = add_cup(store, pool=PoolRecord(mode="move", move_ms=5_000, process="hosted-scaled"))
    assert cup.record.pool.name == "5/move hosted-scaled"
    assert store.integrity.check() == []
