"""The rows from which sums were computed can be removed, and are restored when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_db.store import Store
from arena_db.sums import SUMS
from cold_cups import WHO, cup_of, rows, tables
from stores import Cup, add_cup, plan, tamper

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.sqlite("rows of the file are edited")
def test_pruned_tournaments(store: Store) -> None:
    cup, other = cup_of(store, "round-robin"), add_cup(store, "a", "b")
    store.matches.save([other.match(1), other.match(2)])
    store.sums.sum_up()
    table, kept = tables(store, cup), rows(store)
    (told,) = store.sums.prune(dry_run=True)
    assert rows(store) == kept
    (done,) = store.sums.prune()
    assert (done, told.num_bytes > 0) == (told, True)
    assert store.sums.prune() == []
    assert (tables(store, cup), store.integrity.check()) == (table, [])
    left = rows(store)
    assert sum(len(kept[name]) - len(left[name]) for name in ("clusters", "strays")) == told.num_rows
    # Matches of the same pool are added as before, and a void match restores the removed rows.
    store.matches.save([other.match(3)])
    store.sums.sum_up()
    assert store.integrity.check() == []
    number = store.matches.find_attempt(cup.record.id, 3)
    assert number is not None
    store.changes.void([number.id], reason="r", who=WHO)
    assert (store.integrity.check(), rows(store)["pruned_tournaments"]) == ([], [])
    store.changes.unvoid([number.id], reason="r", who=WHO)
    assert (tables(store, cup)[1], store.integrity.check()) == (table[1], [])
    store.sums.prune([cup.record.id])
    tamper(store.place, f"UPDATE encounters SET {SUMS[0]} = 7 WHERE tournament_id = 1 AND low = 0")  # noqa: S608
    assert any("kept sums of a and" in fault for fault in store.integrity.check())
    store.integrity.repair()
    assert (tables(store, cup)[1], store.integrity.check()) == (table[1], [])


def test_what_is_not_summed_is_not_pruned(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(number) for number in range(1, 9)])
    store.sums.sum_up()
    store.matches.save([cup.match(number) for number in range(9, 13)])
    store.tournaments.set_state(cup.record.id, "finished")
    assert store.sums.prune() == store.sums.prune(dry_run=True) == []
    store.sums.sum_up()
    (told,) = store.sums.prune()
    assert told.num_rows > 0
    assert store.integrity.check() == []


@pytest.mark.sqlite("the store is a file that others merge or open")
def test_a_pruned_tournament_goes_on(store: Store, path: Path) -> None:
    cup = cup_of(store, "round-robin", 6)
    whole = add_cup(store, num=12, name="whole")
    store.matches.save([whole.match(n) for n in range(1, 13)])
    store.sums.sum_up()
    store.sums.prune()
    store.plans.extend(cup.record.id, plan(3, 6, 6), "")
    longer = Cup(cup.record, cup.entrants, plan(3, 12))
    store.matches.save([longer.match(n) for n in range(7, 13)])
    unvoided = store.matches.find_attempt(cup.record.id, 2, 1)
    assert unvoided is not None
    store.changes.unvoid([unvoided.id], reason="r", who=WHO)
    # Before and after they are added, the sums are those of a tournament that was never pruned.
    sums = [row.sums for row in store.sums.of_tournament(whole.record.id)]
    assert [row.sums for row in store.sums.of_tournament(cup.record.id)] == sums
    with Store.open(path, read_only=True) as viewer:
        assert [row.sums for row in viewer.sums.of_tournament(cup.record.id)] == sums
    store.sums.sum_up()
    assert [row.sums for row in store.sums.of_tournament(cup.record.id)] == sums
    assert store.integrity.check() == []
