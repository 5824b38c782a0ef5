"""What sums were computed from can be removed, and comes back when it is needed."""

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
    store.save([other.match(1), other.match(2)])
    store.sum_up()
    table, kept = tables(store, cup), rows(store)
    (told,) = store.prune(dry_run=True)
    assert rows(store) == kept
    (done,) = store.prune()
    assert (done, told.num_bytes > 0) == (told, True)
    assert store.prune() == []
    assert (tables(store, cup), store.check()) == (table, [])
    left = rows(store)
    assert sum(len(kept[name]) - len(left[name]) for name in ("clusters", "strays")) == told.num_rows
    # Matches of the pool are added as before, and a void match restores what its sums are computed from.
    store.save([other.match(3)])
    store.sum_up()
    assert store.check() == []
    number = store.match_of(cup.record.id, 3)
    assert number is not None
    store.void([number.id], reason="r", who=WHO)
    assert (store.check(), rows(store)["pruned_tournaments"]) == ([], [])
    store.unvoid([number.id], reason="r", who=WHO)
    assert (tables(store, cup)[1], store.check()) == (table[1], [])
    store.prune([cup.record.id])
    tamper(store.place, f"UPDATE encounters SET {SUMS[0]} = 7 WHERE tournament_id = 1 AND low = 0")  # noqa: S608
    assert any("kept sums of a and" in fault for fault in store.check())
    store.repair()
    assert (tables(store, cup)[1], store.check()) == (table[1], [])


def test_what_is_not_summed_is_not_pruned(store: Store) -> None:
    cup = add_cup(store)
    store.save([cup.match(number) for number in range(1, 9)])
    store.sum_up()
    store.save([cup.match(number) for number in range(9, 13)])
    store.set_state(cup.record.id, "finished")
    assert store.prune() == store.prune(dry_run=True) == []
    store.sum_up()
    (told,) = store.prune()
    assert told.num_rows > 0
    assert store.check() == []


@pytest.mark.sqlite("the store is a file that others merge or open")
def test_a_pruned_tournament_goes_on(store: Store, path: Path) -> None:
    cup = cup_of(store, "round-robin", 6)
    whole = add_cup(store, num=12, name="whole")
    store.save([whole.match(n) for n in range(1, 13)])
    store.sum_up()
    store.prune()
    store.extend_plan(cup.record.id, plan(3, 6, 6), "")
    longer = Cup(cup.record, cup.entrants, plan(3, 12))
    store.save([longer.match(n) for n in range(7, 13)])
    unvoided = store.match_of(cup.record.id, 2, 1)
    assert unvoided is not None
    store.unvoid([unvoided.id], reason="r", who=WHO)
    # Before and after they are added, the sums are those of a tournament that was never pruned.
    sums = [row.sums for row in store.tournament_sums(whole.record.id)]
    assert [row.sums for row in store.tournament_sums(cup.record.id)] == sums
    with Store.open(path, read_only=True) as viewer:
        assert [row.sums for row in viewer.tournament_sums(cup.record.id)] == sums
    store.sum_up()
    assert [row.sums for row in store.tournament_sums(cup.record.id)] == sums
    assert store.check() == []
