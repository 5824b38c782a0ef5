"""The schedule's view of a tournament while matches are stored, bots join or leave, and results change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.coordinator import plan_view
from arena.coordinator.plan_view import EventView
from arena.schedules.seat_counts import SeatCounts
from arena_db.records import Entrant, NewBatch
from arena_db.store import Store
from stores import add_cup, bot, plan

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from arena.schedules.protocol import View


@pytest.fixture
def store(tmp_path: Path) -> Generator[Store]:
    with Store.open(tmp_path / "a.db") as opened:
        yield opened


def sums(counts: SeatCounts | None) -> list[object]:
    assert counts is not None
    folds = [[each.tolist() for each in counts.fold(fold)] for fold in (0, 1)]
    return [counts.num_planned, counts.num_pairs, counts.last_pair, counts.next_match_no, *folds]


def all_results(store: Store) -> dict[tuple[int, int], float | None]:
    found = store.plans.results(1, after=0, last=store.matches.last_id(1))
    return {(each.encounter, each.match_no): each.points for each in found}


def is_up_to_date(store: Store, view: View) -> bool:
    """Return whether a view equals the whole plan and all results, read at once."""
    planned, results = store.plans.planned(1), all_results(store)
    same = sums(view.counts) == sums(SeatCounts.of(planned, results))
    return same and list(view.plan) == planned and dict(view.results) == results


def test_every_look_is_like_the_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_view, "_PAGE", 3)
    cup = add_cup(store, "a", "b", num=12, type="ladder")
    event = EventView(store, cup.record)

    def look() -> View:
        return event.look(event.basis(), "", adds_up=True)

    assert is_up_to_date(store, look())
    store.matches.save([cup.match(number, outcome=("first", "draw")[number % 2]) for number in range(1, 8)])
    assert is_up_to_date(store, look())
    before = look().counts
    new = Entrant(seat=0, label="c", bot=bot("c"), limit="")
    store.changes.join(1, new, reason="new", who="me")
    view = look()
    assert is_up_to_date(store, view)
    assert [who.label for who in view.seats] == ["a", "b", "c"]
    assert view.counts is before, "nothing of before is read again"
    store.changes.void([2, 3], reason="wrong", who="me")
    assert is_up_to_date(store, look())
    store.matches.save([cup.match(number) for number in range(8, 11)])
    assert is_up_to_date(store, look())
    store.changes.unvoid([3], reason="right", who="me")
    store.changes.leave(1, 2, reason="old", who="me")
    view = look()
    assert is_up_to_date(store, view)
    assert [who.state for who in view.seats] == ["playing", "playing", "left"]
    store.changes.disqualify(1, 1, reason="cheats", who="me")
    assert is_up_to_date(store, look())


def test_a_batch_that_is_planned_meanwhile_is_seen(store: Store) -> None:
    matches = plan(2, 20)
    cup = add_cup(store, "a", "b", num=8, type="ladder")
    store.changes.join(1, Entrant(seat=0, label="c", bot=bot("c"), limit=""), reason="opens it", who="me")
    event = EventView(store, store.tournaments.find(1) or cup.record)
    event.look(event.basis(), "", adds_up=True)
    for begin in (8, 14):
        batch = matches[begin : begin + 6]
        store.plans.add_batch(1, NewBatch(matches=batch, num_total=None, is_last=False))
        event.plan.grow(batch)
        assert is_up_to_date(store, event.look(event.basis(), "", adds_up=True))


def test_a_join_reads_no_result_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cup = add_cup(store, "a", "b", num=12)
    event = EventView(store, cup.record)
    store.matches.save([cup.match(number) for number in range(1, 6)])
    assert len(event.look(event.basis(), "").results) == 5
    asked: list[int] = []
    results = store.plans.results

    def watched(tournament: int, *, after: int, last: int, limit: int | None = None) -> object:
        asked.append(after)
        return results(tournament, after=after, last=last, limit=limit)

    monkeypatch.setattr(store.plans, "results", watched)
    store.changes.join(1, Entrant(seat=0, label="c", bot=bot("c"), limit=""), reason="new", who="me")
    store.matches.save([cup.match(6)])
    assert len(event.look(event.basis(), "").results) == 6
    assert asked == [5]
    store.changes.void([1], reason="wrong", who="me")
    view = event.look(event.basis(), "")
    assert (len(view.results), list(view.results.values()).count(None)) == (6, 1)
    assert asked == [5, 0]
