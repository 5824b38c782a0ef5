"""A copy follows bots that leave, return and are disqualified; an older copy changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable

WHO = "u@h"
NUM = 12


def told(store: Store) -> tuple[list[str], list[int], int, int | None, bool]:
    """Return who takes part in the only tournament, and what is left of its plan."""
    (cup,) = store.tournaments.newest()
    states: list[str] = [entrant.state for entrant in store.tournaments.entrants(cup.id)]
    unplayed = [match.number for match in store.plans.unplayed(cup.id)]
    return states, unplayed, cup.num_dropped, cup.num_total, cup.is_planned


def test_a_copy_follows_who_leaves_returns_and_is_disqualified(
    store: Store, new_place: Callable[..., str]
) -> None:
    cup = add_cup(store, "a", "b", "c", num=NUM, name="cup")
    store.matches.save([cup.match(1)])
    bot = cup.entrants[0]
    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: store.changes.leave(1, 0, reason="r", who=WHO),
        lambda: store.changes.join(1, bot, reason="r", who=WHO, rest="again"),
        lambda: store.changes.leave(1, 0, reason="r", who=WHO),
        lambda: store.changes.disqualify(1, 0, reason="r", who=WHO),
    ]
    seen: list[tuple[list[str], list[int], int, int | None, bool]] = []
    with Store.open(new_place(), fast=True) as copy:
        for step in steps:
            step()
            copy.transfers.merge(store.place)
            assert told(copy) == told(store)
            assert copy.tournaments.entrants(1) == store.tournaments.entrants(1)
            assert [each.num_rows for each in copy.transfers.merge(store.place)] == [0]
            assert copy.integrity.check() == []
            seen.append(told(copy))
    assert [first for (first, *_), *_ in seen] == ["playing", "left", "playing", "left", "out"]
    assert [len(unplayed) for _, unplayed, *_ in seen] == [11, 4, 11, 4, 4]


def test_an_older_copy_takes_back_no_return(store: Store, new_place: Callable[..., str]) -> None:
    cup = add_cup(store, "a", "b", "c", num=NUM, name="cup")
    store.matches.save([cup.match(1)])
    store.changes.leave(1, 0, reason="r", who=WHO)
    with (
        Store.open(new_place(copy_of=store), fast=True) as older,
        Store.open(new_place(), fast=True) as copy,
    ):
        store.changes.join(1, cup.entrants[0], reason="r", who=WHO, rest="again")
        copy.transfers.merge(store.place)
        copy.transfers.merge(older.place)
        assert told(copy) == told(store)
        assert len(copy.plans.unplayed(1)) == NUM - 1
        assert copy.integrity.check() == []
