"""Plans that grow by batches, and how they end."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.config import Config

from arena_db import migrate
from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine, writing
from arena_db.errors import RefusedError
from arena_db.records import BatchRecord, NewBatch, OpenPlan
from arena_db.store import Store
from stores import Cup, add_cup, entrants, new_tournament, plan, tamper

if TYPE_CHECKING:
    from arena_db.records import TournamentRecord

MATCHES = plan(3, 12)


def add_open(store: Store, num_total: int | None = None) -> Cup:
    """Store a tournament of which nothing is planned yet."""
    seats = entrants("a", "b", "c")
    return Cup(store.tournaments.add(new_tournament(), seats, OpenPlan(num_total)), seats, MATCHES)


def now(store: Store, cup: Cup) -> TournamentRecord:
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    return record


def batch(first: int, last: int, **changes: object) -> NewBatch:
    return replace(NewBatch(matches=MATCHES[first - 1 : last], num_total=None), **changes)  # pyright: ignore[reportArgumentType] # of the fields


def test_a_plan_grows_by_batches(store: Store) -> None:
    cup = add_open(store, num_total=12)
    assert (cup.record.num_planned, cup.record.num_total, cup.record.is_planned) == (0, 12, False)
    assert store.plans.unplayed(cup.record.id) == store.plans.batches(cup.record.id) == []
    store.plans.add_batch(cup.record.id, batch(1, 6, num_total=12))
    store.matches.save([cup.match(1), cup.match(2)])
    basis = store.matches.last_id(cup.record.id)
    store.plans.add_batch(
        cup.record.id,
        batch(7, 12, num_total=12, is_last=True, basis_match=basis, basis_change=4, note="last"),
    )
    record = now(store, cup)
    assert (record.num_planned, record.num_total, record.is_planned) == (12, 12, True)
    assert store.plans.planned(cup.record.id) == MATCHES
    assert store.plans.batches(cup.record.id) == [
        BatchRecord(number=1, first=1, last=6),
        BatchRecord(number=2, first=7, last=12, basis_match=2, basis_change=4, note="last"),
    ]
    assert not record.is_complete
    store.matches.save([cup.match(number) for number in range(3, 13)])
    assert now(store, cup).is_complete
    assert store.integrity.check() == []


def test_windows_of_a_plan(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(2), cup.match(5)])
    (one, two) = (
        store.plans.unplayed(cup.record.id, after=1, limit=2),
        store.plans.planned(cup.record.id, after=4, limit=3),
    )
    assert [match.number for match in one] == [3, 4]
    assert [match.number for match in two] == [5, 6, 7]


def test_a_batch_that_does_not_fit_changes_nothing(store: Store) -> None:
    cup = add_open(store)
    store.plans.add_batch(cup.record.id, batch(1, 3))
    again = replace(MATCHES[0], number=4)
    for wrong in (
        batch(1, 3),
        batch(5, 6),
        batch(4, 3),
        NewBatch(matches=[again], num_total=None),
        NewBatch(matches=[MATCHES[3], MATCHES[5]], num_total=None),
        NewBatch(matches=[replace(MATCHES[3], second=9)], num_total=None),
        batch(4, 6, num_total=-1),
    ):
        with pytest.raises(RefusedError):
            store.plans.add_batch(cup.record.id, wrong)
    assert store.plans.planned(cup.record.id) == MATCHES[:3]
    assert len(store.plans.batches(cup.record.id)) == 1
    with pytest.raises(RefusedError, match="no tournament with id 9"):
        store.plans.add_batch(9, batch(1, 3))
    store.plans.close(cup.record.id)
    with pytest.raises(RefusedError, match="is complete"):
        store.plans.add_batch(cup.record.id, batch(4, 6))


def test_after_a_decision_what_is_not_running_is_dropped(store: Store) -> None:
    cup = add_open(store)
    store.plans.add_batch(cup.record.id, batch(1, 12, num_total=40))
    store.matches.save([cup.match(1), cup.match(2), cup.void(9)])
    assert store.plans.close(cup.record.id, "H1", drops=True, running=[3, 5]) == 8
    record = now(store, cup)
    assert (record.decision, record.is_planned, record.num_dropped, record.num_total) == ("H1", True, 8, 4)
    assert [match.number for match in store.plans.unplayed(cup.record.id)] == [3, 5]
    assert not record.is_complete
    store.matches.save([cup.match(3), cup.match(5)])
    assert now(store, cup).is_complete
    assert store.integrity.check() == []
    # A match that waited beside the store when it was dropped counts as a result nevertheless.
    assert store.matches.save([cup.match(9, attempt=1), cup.match(10)]) == 2
    record = now(store, cup)
    assert (record.num_done, record.num_dropped, record.is_complete) == (6, 6, True)
    assert store.integrity.check() == []


def test_a_plan_may_end_without_a_decision(store: Store) -> None:
    cup = add_open(store)
    store.plans.add_batch(cup.record.id, batch(1, 4))
    assert store.plans.close(cup.record.id) == 0
    record = now(store, cup)
    assert (record.decision, record.num_total, record.num_dropped) == ("", 4, 0)
    with pytest.raises(RefusedError, match="no tournament with id 9"):
        store.plans.close(9)


def test_a_plan_grows_again(store: Store) -> None:
    cup = add_cup(store, num=6)
    with pytest.raises(RefusedError, match="no tournament with id 9"):
        store.plans.reopen(9, 12, "")
    store.plans.reopen(cup.record.id, 12, "rounds = 4\n")
    record = now(store, cup)
    assert (record.is_planned, record.num_total, record.config) == (False, 12, "rounds = 4\n")
    store.plans.add_batch(cup.record.id, batch(7, 12, num_total=12, is_last=True))
    assert store.plans.planned(cup.record.id) == MATCHES
    assert [(each.first, each.last) for each in store.plans.batches(cup.record.id)] == [(1, 6), (7, 12)]


def test_results_are_those_of_the_lower_seat(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save(
        [
            *(cup.match(1, outcome="second"), cup.match(4, outcome="second"), cup.match(2, outcome="draw")),
            *(cup.void(3), cup.match(7), cup.match(5, outcome="void", termination="init_crash", rated=False)),
        ]
    )
    assert store.matches.last_id(cup.record.id) == 6
    found = store.plans.results(cup.record.id, after=0, last=6)
    assert [each[:4] for each in found] == [
        (1, 0, 0, 0.0),
        (2, 0, 1, 1.0),
        (3, 1, 0, 0.5),
        (5, 0, 2, 1.0),
        (6, 1, 1, None),
    ]
    # Numbers 1, 4, 2, 7 and 5 of the plan, with the seats that moved first and second.
    assert [each[4:] for each in found] == [
        (cup.plan[number - 1].first, cup.plan[number - 1].second, outcome, termination)
        for number, outcome, termination in (
            (1, "second", "rules"),
            (4, "second", "rules"),
            (2, "draw", "rules"),
            (7, "first", "rules"),
            (5, "void", "init_crash"),
        )
    ]
    assert store.plans.results(cup.record.id, after=2, last=5) == found[2:4]
    assert store.matches.last_id(9) == 0


def test_each_tournament_has_a_name_of_its_own_in_the_world(store: Store) -> None:
    records = [add_cup(store).record, add_open(store).record]
    assert len({record.uid for record in records}) == 2
    assert all(len(bytes.fromhex(record.uid)) == 16 for record in records)


def test_marks_that_contradict_the_plan_are_found(store: Store) -> None:
    cup = add_open(store)
    store.plans.add_batch(cup.record.id, batch(1, 4))
    tamper(store.place, "UPDATE planned SET state = 'dropped' WHERE number = 2")
    (fault,) = store.integrity.check()
    assert f"tournament {cup.record.name} counts 0 planned matches as dropped, and marks 1" in fault


@pytest.mark.sqlite("revisions before 0015 exist only in files")
def test_an_older_version_plays_what_was_begun(store: Store) -> None:
    cup = add_open(store, num_total=40)
    store.plans.add_batch(cup.record.id, batch(1, 8, num_total=40))
    store.matches.save([cup.match(1), cup.void(2)])
    store.plans.close(cup.record.id, "H0", drops=True, running=[3])
    store.close()
    settings, config = FileSettings(place=store.path), Config()
    config.set_main_option("script_location", str(migrate.script_location()))
    with writing(make_migration_engine(settings), settings) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0008")
    with Store.open(store.place) as again:
        assert again.integrity.check() == []
        assert [match.number for match in again.plans.unplayed(cup.record.id)] == [2, 3]
        record = again.tournaments.find(cup.record.id)
        assert record is not None
        fields = {name: asdict(record)[name] for name in ("num_planned", "num_total", "num_done", "decision")}
        assert json.dumps(fields) == '{"num_planned": 3, "num_total": 3, "num_done": 1, "decision": ""}'
        assert (record.is_planned, record.plan_version) == (True, 1)
        assert [(each.first, each.last) for each in again.plans.batches(cup.record.id)] == [(1, 3)]
