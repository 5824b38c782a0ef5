"""Tournaments in preparation, or refused: they have a name and a lease, but no entrants."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from arena_db.errors import LeaseLostError, RefusedError, TakenError
from arena_db.owner import current_owner
from arena_db.records import NewTournament
from arena_db.store import Store
from stores import add_cup, tamper

if TYPE_CHECKING:
    from pathlib import Path

    from arena_db.records import TournamentRecord


def new(store: Store, name: str = "cup", seed: int = 7) -> NewTournament:
    """Return the row of a new tournament."""
    record = store.tournaments.find("model") or add_cup(store, name="model").record
    values: dict[str, Any] = {field.name: getattr(record, field.name) for field in fields(NewTournament)}
    values |= {"name": name, "seed": seed}
    return NewTournament(**values)


def held(store: Store, record: TournamentRecord) -> Store:
    fenced = store.claim(record.id, current_owner())
    assert fenced is not None
    return fenced


OTHER = replace(current_owner(), uuid="other")
GONE = replace(current_owner(), uuid="gone", pid=1, pid_start=1)


def test_it_has_a_name_and_a_lease_and_nobody(store: Store) -> None:
    record = store.tournaments.reserve(new(store), current_owner())
    assert (record.state, record.has_begun, record.is_complete) == ("preparing", False, False)
    assert (record.num_planned, record.num_total, record.decision) == (0, None, "")
    assert store.tournaments.find("cup") == record
    lease = store.leases.find(record.id)
    assert lease is not None
    assert lease.owner == current_owner()
    assert store.tournaments.entrants(record.id) == []
    assert store.integrity.check() == []


def test_it_begins_as_if_it_had_been_added_at_once(store: Store) -> None:
    model = add_cup(store, name="model")
    reserved = store.tournaments.reserve(new(store, seed=model.record.seed), current_owner())
    begun = held(store, reserved).tournaments.begin(reserved.id, "changed = 1\n", model.entrants, model.plan)
    same = replace(begun, name="model", id=model.record.id, uid=model.record.uid)
    assert replace(same, created_at=model.record.created_at, config=model.record.config) == model.record
    assert (begun.config, begun.id, begun.uid) == ("changed = 1\n", reserved.id, reserved.uid)
    assert store.tournaments.entrants(begun.id) == model.entrants
    assert store.plans.planned(begun.id) == model.plan
    assert store.integrity.check() == []
    with pytest.raises(RefusedError, match="cup is running, and not being prepared"):
        store.tournaments.begin(begun.id, "", [], [])
    with pytest.raises(RefusedError, match="cup is running, and not being prepared"):
        store.tournaments.refuse(begun.id, "why")


def test_the_last_unfinished_one_is_none_that_was_refused(store: Store) -> None:
    record = store.tournaments.reserve(new(store), current_owner())
    assert store.tournaments.last(unfinished=True) == record
    store.tournaments.refuse(record.id, "a bot is missing")
    last = store.tournaments.last(unfinished=True)
    assert last is not None
    assert last.name == "model"
    refused = store.tournaments.last(unfinished=False)
    assert refused is not None
    assert (refused.name, refused.state, refused.decision) == ("cup", "refused", "a bot is missing")
    assert store.integrity.check() == []


def test_a_name_is_taken_while_somebody_prepares_it(store: Store) -> None:
    record = store.tournaments.reserve(new(store), OTHER)
    with pytest.raises(TakenError, match='there is a tournament "cup"'):
        store.tournaments.reserve(new(store), current_owner())
    with pytest.raises(TakenError, match='there is a tournament "model"'):
        store.tournaments.reserve(new(store, "model"), current_owner())
    assert store.tournaments.find("cup") == record


@pytest.mark.parametrize("was", ["refused", "killed"])
def test_one_that_never_began_gives_its_name_away(store: Store, was: str) -> None:
    first = store.tournaments.reserve(new(store, seed=1), GONE if was == "killed" else OTHER)
    if was == "refused":
        fenced = store.claim(first.id, OTHER)
        assert fenced is not None
        fenced.tournaments.refuse(first.id, "a bot is missing")
        fenced.leases.release()
    again = store.tournaments.reserve(new(store, seed=2), current_owner())
    assert (again.id, again.state, again.seed, again.decision) == (first.id, "preparing", 2, "")
    assert again.uid != first.uid
    assert store.integrity.check() == []


def test_one_that_was_put_away_keeps_its_name(store: Store) -> None:
    record = store.tournaments.reserve(new(store), GONE)
    store.changes.archive(record.id, who="a@b")
    with pytest.raises(TakenError):
        store.tournaments.reserve(new(store), current_owner())


def test_whoever_lost_the_lease_begins_nothing(store: Store) -> None:
    record = store.tournaments.reserve(new(store), current_owner())
    first = held(store, record)
    tamper(store.place, "UPDATE leases SET beat_at = beat_at - 60")
    assert store.claim(record.id, OTHER, take_over=True) is not None
    with pytest.raises(LeaseLostError):
        first.tournaments.begin(record.id, "", [], [])
    with pytest.raises(LeaseLostError):
        first.tournaments.refuse(record.id, "why")
    now = store.tournaments.find("cup")
    assert now is not None
    assert now.state == "preparing"


def test_a_reason_that_was_edited_is_damage(store: Store) -> None:
    record = store.tournaments.reserve(new(store), current_owner())
    store.tournaments.refuse(record.id, "a bot is missing")
    tamper(store.place, "UPDATE tournaments SET decision = 'no reason' WHERE name = 'cup'")
    assert any("cup" in fault for fault in store.integrity.check())


def test_a_merge_leaves_them_out_and_a_removal_takes_them(store: Store, tmp_path: Path) -> None:
    store.tournaments.refuse(store.tournaments.reserve(new(store), GONE).id, "a bot is missing")
    store.tournaments.reserve(new(store, "left"), GONE)
    with Store.open(tmp_path / "other.db") as other:
        assert [one.name for one in other.transfers.merge(store.place)] == ["model"]
        assert other.tournaments.find("cup") is None
    for name in ("cup", "left"):
        record = store.tournaments.find(name)
        assert record is not None
        store.transfers.remove(record.id, tmp_path / f"{name}.db", who="a@b")
        assert store.tournaments.find(name) is None
    assert store.integrity.check() == []
    with Store.open(tmp_path / "cup.db") as moved:
        record = moved.tournaments.find("cup")
        assert record is not None
        assert (record.state, record.decision) == ("refused", "a bot is missing")
        assert moved.integrity.check() == []
