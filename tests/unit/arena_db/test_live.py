"""A viewer gets every live event once, whenever it joins; events that no viewer needs are removed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena_db import live
from arena_db.errors import RefusedError
from arena_db.models import EVENT_KINDS
from arena_db.owner import current_owner
from arena_db.records import LiveEvent
from arena_db.store import Store
from stores import START, add_cup

if TYPE_CHECKING:
    from collections.abc import Sequence


def event(number: int | None, kind: str, ply: int = 0, **changes: int) -> LiveEvent:
    plain = LiveEvent(tournament=1, number=number, kind=kind, ply=ply, payload=f'{{"ply": {ply}}}', t=START)
    return replace(plain, **changes)


def seqs(events: Sequence[LiveEvent]) -> list[int]:
    return [found.seq for found in events]


def few_kept(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(live, "KEPT", kept)
    monkeypatch.setattr(live, "_PRUNED_EVERY", 1)


def test_events_come_back_in_order(store: Store) -> None:
    add_cup(store)
    add_cup(store)
    events = [event(1, kind, ply) for ply, kind in enumerate(EVENT_KINDS)]
    num = len(EVENT_KINDS)
    assert store.events.append(events) == {1: num}
    others = [event(3, "started", tournament=2, attempt=1)]
    assert store.events.append([*others, event(None, "state"), *others]) == {1: num + 1, 2: 2}
    assert store.events.append([]) == {}
    page = store.events.after(0, tournament=1)
    assert [replace(found, seq=0) for found in page.events[:num]] == events
    assert seqs(page.events) == list(range(1, num + 2))
    assert (page.seq, page.has_gap) == (num + 1, False)
    assert store.events.after(num + 1, tournament=1) == replace(page, events=())


def test_pages(store: Store) -> None:
    for _ in range(2):
        add_cup(store)
    store.events.append([event(1, "move", ply, tournament=1 + ply % 2) for ply in range(1, 11)])
    seq, found = 0, list[int]()
    while (page := store.events.after(seq, 3, tournament=1)).events:
        assert len(page.events) <= 3
        found, seq = found + seqs(page.events), page.seq
    assert found == list(range(1, 6))
    page = store.events.after(2, 3, tournament=2)
    assert (seqs(page.events), page.seq) == ([3, 4, 5], 5)
    assert [found.ply for found in page.events] == [5, 7, 9]
    page = store.events.after(4, 3, tournament=2)
    assert (seqs(page.events), page.seq) == ([5], 5)
    assert store.events.after(4, 3, tournament=3).seq == 4, "nobody knows of it"


@pytest.mark.parametrize(
    "wrong",
    [
        event(99, "move"),
        event(1, "dance"),
        event(1, "move", -1),
        event(1, "move", attempt=-1),
        event(None, "state", tournament=9),
        replace(event(1, "info"), payload="x" * 4097),
    ],
)
def test_refused(store: Store, wrong: LiveEvent) -> None:
    add_cup(store)
    with pytest.raises(RefusedError, match=r"arena|no tournament"):
        store.events.append([event(1, "started"), wrong])
    assert store.events.after(0, tournament=1).events == ()


def test_a_snapshot_is_of_what_is_being_played(store: Store) -> None:
    cup = add_cup(store)
    store.events.append([event(None, "state"), event(1, "started"), event(2, "started"), event(1, "move", 1)])
    store.events.append([event(2, "info", 1), event(None, "state"), event(2, "info", 2), event(2, "move", 3)])
    assert store.events.snapshot(1).events[-1].seq == store.events.snapshot(1).seq == 8
    assert seqs(store.events.snapshot(1).events) == [2, 3, 4, 6, 7, 8]
    store.matches.save([cup.match(1)])
    assert seqs(store.events.snapshot(1).events) == [3, 6, 7, 8], (
        "it has a result, though nobody told of it yet"
    )
    store.events.append([event(1, "finished")])
    store.matches.save([cup.void(2)])
    assert seqs(store.events.snapshot(1).events) == [6]
    store.events.append([event(2, "started", attempt=1), event(2, "move", 1, attempt=1)])
    store.events.append([event(2, "started", attempt=1)])
    assert seqs(store.events.snapshot(1).events) == [6, 12], "it began again"
    stored = store.matches.find_attempt(1, 1)
    assert stored is not None
    assert stored.id == 1
    assert store.matches.find_attempt(1, 2, attempt=1) is store.matches.find_attempt(9, 1) is None


def test_the_newest_state_is_that_of_the_run(store: Store) -> None:
    add_cup(store)
    assert store.events.newest_state(1) is None
    store.events.append([event(1, "started"), event(None, "state"), event(None, "state"), event(1, "state")])
    newest = store.events.newest_state(1)
    assert newest is not None
    assert (newest.seq, newest.number) == (3, None)
    assert store.events.newest_state(2) is None


def test_a_viewer_that_may_only_read(store: Store, place: str) -> None:
    add_cup(store)
    with Store.open(place, read_only=True) as viewer:
        version = viewer.data_version()
        store.events.append([event(1, "started")])
        assert viewer.data_version() != version
        assert viewer.events.snapshot(1).events == viewer.events.after(0, tournament=1).events != ()


def test_old_events_are_pruned(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    few_kept(monkeypatch, 4)
    cup = add_cup(store)
    store.events.append(
        [event(None, "state"), event(1, "started"), event(2, "started"), event(None, "state")]
    )
    assert not store.events.after(0, tournament=1).has_gap
    store.matches.save([cup.match(1)])
    store.events.append([event(2, "info"), event(1, "finished"), event(2, "move", 1)])
    assert seqs(store.events.after(0, tournament=1).events) == [3, 4, 5, 6, 7]
    page = store.events.after(1, tournament=1)
    assert page.has_gap, "the events 1 and 2 were removed, of which it knows the first only"
    assert not store.events.after(2, tournament=1).has_gap
    store.events.append([event(3, "started"), event(3, "move", 1), event(3, "move", 2), event(3, "move", 3)])
    assert seqs(store.events.after(6, tournament=1).events) == [7, 8, 9, 10, 11]
    assert seqs(store.events.snapshot(1).events) == [3, 4, 7, 8, 9, 10, 11], (
        "but for remarks nothing is missing"
    )


def test_numbers_are_never_given_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    few_kept(monkeypatch, 0)
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    assert store.events.append([event(1, "started"), event(1, "finished")]) == {1: 2}
    assert store.events.after(0, tournament=1) == replace(
        store.events.after(0, tournament=1), events=(), seq=2, has_gap=True
    )
    assert store.events.snapshot(1).seq == 2
    assert store.events.append([event(2, "started")]) == {1: 3}
    assert seqs(store.events.after(2, tournament=1).events) == [3]


def test_pruning_is_seldom(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "KEPT", 100)
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    for _ in range(19):
        store.events.append([event(1, "move")] * 99)
    assert seqs(store.events.after(0, 5000, tournament=1).events)[0] == 1089 - 100 + 1
    assert store.events.after(988, tournament=1).has_gap
    assert not store.events.after(989, tournament=1).has_gap


def test_who_takes_over_begins_anew(store: Store) -> None:
    one, two = add_cup(store), add_cup(store)
    owner = current_owner()
    assert store.claim(1, owner)
    store.events.append([event(1, "started"), event(1, "started", tournament=2), event(1, "move", 1)])
    held = store.claim(1, owner)
    assert held is not None, "it has it already"
    assert len(store.events.after(0, tournament=1).events) == 2
    assert not store.claim(1, replace(owner, uuid="another"))
    assert len(store.events.after(0, tournament=1).events) == 2
    held.leases.release()
    assert store.claim(1, replace(owner, uuid="another"))
    assert store.events.after(0, tournament=1).events == ()
    assert seqs(store.events.after(0, tournament=2).events) == [1]
    assert store.events.after(1, tournament=1).has_gap, (
        "whoever watched has a match on screen that nobody plays"
    )
    assert store.events.snapshot(one.record.id) == replace(store.events.snapshot(1), events=(), seq=2)
    assert seqs(store.events.snapshot(two.record.id).events) == [1]


def test_events_of_ended_runs_make_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the oldest events of ended runs except each last state; running and claimed ones keep all."""
    monkeypatch.setattr(live, "KEPT", 4)
    for _ in range(4):
        add_cup(store)
    held = store.claim(2, current_owner())
    assert held is not None
    for own in (1, 2, 3):
        store.events.append([event(None, "state", tournament=own), event(1, "finished", tournament=own)])
        store.events.append([event(None, "state", tournament=own)])
    assert store.claim(4, current_owner())
    left = [seqs(store.events.after(0, tournament=own).events) for own in (1, 2, 3)]
    assert left == [[2, 3], [1, 2, 3], [1, 2, 3]], "match 1 has no result yet"
    assert store.events.after(0, tournament=1).has_gap
    assert store.events.newest_state(1) is not None


@given(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["move", "info", "end"])), max_size=60), st.data()
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_any_point_to_join_gives_the_same(
    store: Store, steps: list[tuple[int, str]], data: st.DataObject
) -> None:
    """A viewer that starts from a snapshot sees the same moves as one that starts at the beginning."""
    cup = add_cup(store)
    own = cup.record.id
    last = store.events.append([event(number, "started", tournament=own) for number in range(1, 5)])[own]
    over, join_at = set[int](), data.draw(st.integers(0, len(steps)))
    joined = store.events.snapshot(own)
    for index, (number, kind) in enumerate(steps):
        if number in over:
            continue
        if kind == "end":
            over.add(number)
            store.matches.save([cup.match(number)])
        name = "finished" if kind == "end" else kind
        last = store.events.append([event(number, name, index, tournament=own)])[own]
        if index < join_at:
            joined = store.events.snapshot(own)
    page = store.events.after(joined.seq, 1000, tournament=own)
    followed = [*joined.events, *page.events]
    watched = store.events.after(0, 100_000, tournament=own).events
    assert page.seq == watched[-1].seq == last
    for number in set(range(1, 5)) - over:
        of_both = [
            [found for found in events if found.number == number and found.kind != "info"]
            for events in (followed, watched)
        ]
        assert of_both[0] == of_both[1]
