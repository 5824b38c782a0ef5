"""The times at which a feed computes its tables: under a steady flow of matches, and with little CPU."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast

import pytest

from arena.live.events import RunState, kind_of, pack
from arena.watching.feed import advance
from arena.watching.store_feed import StoreFeed
from arena_db.owner import current_owner
from arena_db.records import LiveEvent
from arena_db.store import Store
from feeds import drain
from stores import Cup, add_cup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.live.table_views import StandingsView
    from arena.watching.feed import Model


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "running.db") as store:
        add_cup(store, "az", "mcts", "td", num=12)
        yield store


def games_of(model: Model) -> int:
    return sum(row.games for row in cast("StandingsView", model.facts["standings"]).rows)


def test_the_last_tables_of_an_event_that_stops_are_made_at_once(
    running: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So little CPU that after any table the next one has to wait for hours.
    monkeypatch.setattr("arena.watching.store_feed._FACTS_SHARE", 1e-9)
    held = running.claim(1, current_owner())
    assert held is not None
    record = running.tournaments.find(1)
    assert record is not None
    cup = Cup(record, running.tournaments.entrants(1), running.plans.planned(1))
    seconds = itertools.count(0, 3)
    feed = StoreFeed(str(running.path), 1, clock=lambda: float(next(seconds)))
    model = drain(feed)
    for number in (1, 2):
        held.matches.save([cup.match(number)])
        model = drain(feed, model)
        assert games_of(model) == 2, "the second has to wait: matches are played beside the dashboard"
    held.tournaments.set_state(1, "stopped")
    held.leases.release()
    assert games_of(drain(feed, model)) == 4, "none is any more"
    feed.close()


def test_tables_follow_while_each_look_finds_new_events(running: Store) -> None:
    held = running.claim(1, current_owner())
    assert held is not None
    record = running.tournaments.find(1)
    assert record is not None
    cup = Cup(record, running.tournaments.entrants(1), running.plans.planned(1))
    seconds = itertools.count()
    feed = StoreFeed(str(running.path), 1, clock=lambda: float(next(seconds)))
    model = drain(feed)
    games: list[int] = []
    seen: list[int] = []
    for number in range(1, 13):
        held.matches.save([cup.match(number)])
        state = RunState(state="running", planned=12, done=number, name="rr-1", workers=2)
        body = LiveEvent(
            tournament=1, number=None, ply=0, kind=kind_of(state), payload=pack(state), t=100.0 + number
        )
        held.events.append([body])
        batch = feed.poll()
        assert batch is not None
        assert not batch.facts or feed.interval == 0, "the events follow at once"
        model = advance(model, batch)
        games.append(games_of(model) // 2)
        seen.append(model.view.progress.done)
    assert games[-1] >= 8, f"the tables are of {games} matches"
    assert seen[-1] >= 8, f"the events are of {seen} matches"
    feed.close()
