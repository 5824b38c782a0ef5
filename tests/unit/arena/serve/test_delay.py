"""With `--delay` no table counts a result that the delayed board does not show yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.live.events import Finished, Move, Started, kind_of, pack
from arena.live.table_views import StandingsView
from arena.pages.links import Links
from arena.serve.live_hub import TABLES, WALL, Hub
from arena.watching.store_feed import StoreFeed
from arena_db.owner import current_owner
from arena_db.records import LiveEvent
from arena_db.runs import StoredEvents
from arena_db.store import Store
from stores import START, Cup, add_cup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.live.events import Payload
    from arena.live.views import LiveView
    from arena.serve.live_hub import PageSnapshot
    from arena_db.live import Snapshot

LINKS = Links(root="/", suffix="", index="")
OPENING = (3, 2)
ACTIONS = (3, 2, 3, 1)
"""Actions of match 1 of `Cup`."""


class Played:
    """A tournament whose events and results are written by a test, and a delayed hub that follows it."""

    def __init__(self, path: Path) -> None:
        self.store = Store.open(path)
        self.cup: Cup = add_cup(self.store, "anna", "bob", name="spring", num=6)
        assert self.store.claim(self.cup.record.id, current_owner()) is not None
        self.now = 1000.0
        feed = StoreFeed(str(path), self.cup.record.id, is_read_only=True, clock=lambda: self.now)
        self.hub = Hub(feed, LINKS, delay=1, monotonic=lambda: self.now)

    def tell(self, body: Payload, number: int = 1, ply: int = 0, attempt: int = 0) -> None:
        """Write an event, as the coordinator does."""
        event = LiveEvent(
            tournament=self.cup.record.id,
            number=number,
            attempt=attempt,
            ply=ply,
            kind=kind_of(body),
            payload=pack(body),
            t=START,
        )
        self.store.events.append([event])

    def begin(self, number: int = 1, attempt: int = 0) -> None:
        """Write the events of a match up to the position before its last move."""
        started = Started(bots=("anna", "bob"), game="connect-four", opening=OPENING)
        self.tell(started, number, attempt=attempt)
        self.tell(Move(action=3, elapsed_ms=12), number, ply=3, attempt=attempt)

    def settle(self) -> PageSnapshot:
        """Step the hub until tables are rendered; return the wall."""
        for _ in range(60):
            self.hub.step()
            # A minute, because tables that took much CPU on a busy machine are not rendered again for
            # seconds.
            self.now += 1.0
        found = self.hub.snapshot(WALL)
        assert found is not None
        return found

    def counted(self) -> int:
        """Return the number of results that the standings count."""
        tables = self.hub.snapshot(TABLES)
        assert tables is not None
        standings = tables.model.facts["standings"]
        assert isinstance(standings, StandingsView)
        return sum(row.games for row in standings.rows) // 2


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    found = Played(tmp_path / "arena.db")
    yield found
    found.hub.stop()
    found.store.close()


def _result(view: LiveView, number: int = 1) -> tuple[str, int]:
    match = view.matches[number]
    return match.result, match.ply


def test_a_board_shows_a_result_as_soon_as_the_standings_count_it(played: Played) -> None:
    played.begin()
    shown = played.settle()
    assert _result(shown.model.view) == ("", 2)
    assert played.counted() == 0
    # The result is stored; the coordinator has not published it, or cannot write.
    played.store.matches.save([played.cup.match(1)])
    shown = played.settle()
    assert played.counted() == 1
    assert _result(shown.model.view) == ("1-0", 4)
    assert shown.model.view.matches[1].actions == ACTIONS
    assert shown.model.view.matches[1].reason == "X wins by four in a row"
    assert (shown.model.view.progress.done, len(shown.model.view.finished)) == (1, 1)
    # When it is published later, nothing changes.
    played.tell(Move(action=1, elapsed_ms=70_000), ply=4)
    played.tell(Finished(outcome="first", termination="rules", plies=4), ply=4)
    later = played.settle()
    assert later.model.view.matches == shown.model.view.matches
    assert (later.model.view.progress.done, len(later.model.view.finished)) == (1, 1)


def test_every_frame_that_counts_a_result_shows_it(played: Played) -> None:
    played.begin()
    played.settle()
    played.store.matches.save([played.cup.match(1)])
    seen: list[tuple[int, str]] = []
    for _ in range(60):
        played.hub.step()
        played.now += 0.1
        found = played.hub.snapshot(WALL)
        assert found is not None
        seen.append((played.counted(), found.model.view.matches[1].result))
    assert set(seen) <= {(0, ""), (0, "1-0"), (1, "1-0")}
    assert seen[-1] == (1, "1-0")


def test_who_begins_to_look_then_sees_the_result_on_the_board_and_in_the_tables(played: Played) -> None:
    played.begin()
    played.store.matches.save([played.cup.match(1)])
    played.hub.step()
    shown = played.hub.snapshot(WALL)
    assert shown is not None
    assert [match.number for match in shown.model.view.finished] == [1]
    assert _result(shown.model.view) == ("1-0", 4)
    played.settle()
    assert (played.counted(), shown.model.view.progress.done) == (1, 1)


def test_a_result_that_comes_between_two_reads_of_a_first_look_is_on_the_board(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    played.begin()
    snapshot = StoredEvents.snapshot

    def slow(events: StoredEvents, tournament: int) -> Snapshot:
        found = snapshot(events, tournament)
        played.store.matches.save([played.cup.void(1)])
        return found

    monkeypatch.setattr(StoredEvents, "snapshot", slow)
    played.hub.step()
    shown = played.hub.snapshot(WALL)
    assert shown is not None
    assert [(match.number, match.outcome) for match in shown.model.view.finished] == [(1, "void")]
    assert _result(shown.model.view)[0] == "void"


def test_a_board_that_was_given_away_is_not_counted_again(played: Played) -> None:
    played.begin()
    played.settle()
    played.store.matches.save([played.cup.match(1)])
    assert played.settle().model.view.progress.done == 1
    played.begin(number=2)
    played.tell(Finished(outcome="first", termination="rules", plies=4), ply=4)
    view = played.settle().model.view
    assert set(view.matches) == {2}
    assert (view.progress.done, len(view.finished)) == (1, 1)
    assert _result(view, 2) == ("", 2)


def test_a_match_that_is_played_again_is_held_back_though_its_void_attempt_is_stored(played: Played) -> None:
    played.begin()
    played.settle()
    played.store.matches.save([played.cup.void(1)])
    assert _result(played.settle().model.view)[0] == "void"
    played.begin(attempt=1)
    view = played.settle().model.view
    assert (view.matches[1].attempt, *_result(view)) == (1, "", 2)
    played.store.matches.save([played.cup.match(1, attempt=1)])
    view = played.settle().model.view
    assert (view.matches[1].attempt, *_result(view)) == (1, "1-0", 4)
    assert (view.progress.done, played.counted()) == (1, 1)
