"""The feed over a real store: the past, matches in progress, tables, gaps, and errors."""

from __future__ import annotations

import itertools
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace as replace_struct

from arena.cli.plain_watch import follow_plain
from arena.errors import ArenaError, StoreError
from arena.live.events import Fault, Finished, Move, RunState, Started, ThinkingInfo, kind_of, pack
from arena.live.table_views import MatrixView, Series, StandingsView
from arena.results.corrections import declare_void
from arena.watching.feed import FeedUpdate, Model, advance
from arena.watching.match_source import MatchSource, PageRequest
from arena.watching.one_match import load_match
from arena.watching.query import Cancelled, Query
from arena.watching.store_feed import StoreFeed
from arena_db.match_keeping import BulkReading
from arena_db.owner import current_owner
from arena_db.records import LiveEvent
from arena_db.store import Store
from feeds import drain
from stores import Cup, add_cup, tamper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.live.events import Payload
    from arena_db.counted import CountedMatch


@pytest.fixture
def own_store(shown_store: Path, tmp_path: Path) -> Path:
    path = tmp_path / "arena.db"
    shutil.copy(shown_store, path)
    return path


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "running.db") as store:
        add_cup(store, "az", "mcts", "td", num=12)
        yield store


def live(body: Payload, number: int | None = 1, ply: int = 0, t: float = 100.0) -> LiveEvent:
    return LiveEvent(tournament=1, number=number, ply=ply, kind=kind_of(body), payload=pack(body), t=t)


STATE = RunState(state="running", planned=12, done=0, name="rr-1", workers=2)
BEGIN = Started(bots=("az", "mcts"), game="connect-four", opening=(3, 2), clock_ms=(9000, 9000))


def test_a_tournament_that_has_ended_has_boards_results_and_tables(own_store: Path) -> None:
    feed = StoreFeed(str(own_store), 1)
    model = drain(feed)
    assert (model.view.progress.state, model.view.progress.done) == ("ended", 24)
    assert len(model.view.matches) == 6
    assert all(match.is_over and match.stored for match in model.view.matches.values())
    assert [match.stored for match in model.view.finished] == list(range(24, 0, -1))
    standings, matrix = model.facts["standings"], model.facts["matrix"]
    assert isinstance(standings, StandingsView)
    assert isinstance(matrix, MatrixView)
    assert sum(row.points for row in standings.rows) == 24
    assert matrix.names == tuple(row.name for row in standings.rows)
    assert {cell.games for row in matrix.cells for cell in row if cell is not None} == {4}
    assert feed.interval == 1.0
    assert feed.poll() is None, "nothing has changed"
    feed.close()


def test_a_damaged_event_changes_no_fact_that_the_store_keeps(own_store: Path) -> None:
    sound = drain(StoreFeed(str(own_store), 1)).view.progress
    with Store.open(own_store) as store:
        store.events.append(
            [live(replace_struct(STATE, name="puc", planned=84, done=7, game="gomoku"), None)]
        )
    shown = drain(StoreFeed(str(own_store), 1)).view.progress
    assert (shown.name, shown.game, shown.state) == (sound.name, sound.game, "ended")
    assert (shown.planned, shown.done) == (24, 24)


@pytest.fixture
def older_store(own_store: Path) -> Path:
    """Return a store as an older version left it, without ratings over time."""
    tamper(own_store, "DELETE FROM rating_points")
    return own_store


def curves(model: Model) -> dict[str, list[float]]:
    """Return per line of the rating chart after how many matches it has points."""
    trend = cast("list[Series]", model.facts["trend"])
    return {line.name: [point.x for point in line.points] for line in trend}


def test_an_older_tournament_has_its_tables_first_and_then_its_curves(older_store: Path) -> None:
    feed = StoreFeed(str(older_store), 1)
    model = drain(feed)
    assert not any(curves(model).values()), "nobody wants a long look at all matches"
    feed.close()
    feed = StoreFeed(str(older_store), 1, rates_past=True)
    feed.poll()
    tables = feed.poll()
    assert tables is not None
    model = advance(Model(), tables)
    assert not any(curves(model).values())
    curved = feed.poll()
    assert curved is not None
    assert all(line[-1] == 24 for line in curves(advance(model, curved)).values())
    assert feed.poll() is None
    feed.close()


def test_a_look_at_all_matches_ends_when_nobody_wants_it(
    older_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = StoreFeed(str(older_store), 1, rates_past=True)
    counted = BulkReading.counted_matches

    def cancelled(bulk: BulkReading, tournament: int) -> Iterator[list[CountedMatch]]:
        for page in counted(bulk, tournament):
            feed.cancel()
            yield page

    monkeypatch.setattr(BulkReading, "counted_matches", cancelled)
    assert feed.poll() is not None
    assert feed.poll() is not None
    with pytest.raises(Cancelled):
        feed.poll()
    with pytest.raises(Cancelled):
        feed.poll()
    feed.close()


def test_kept_ratings_are_drawn_without_a_look_at_matches(
    own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(own_store, read_only=True) as store:
        kept = [float(point.num_matches) for point in store.ratings.points(1)]
    monkeypatch.setattr(BulkReading, "counted_matches", None)
    feed = StoreFeed(str(own_store), 1, rates_past=True)
    model = drain(feed)
    assert len(kept) > 2
    assert list(curves(model).values()) == [kept] * 4
    standings = cast("StandingsView", model.facts["standings"])
    assert all(row.trend[-1] == row.elo for row in standings.rows)
    feed.close()


def test_events_are_followed_from_the_snapshot_on(running: Store) -> None:
    assert running.claim(1, current_owner())
    running.events.append([live(STATE, None), live(BEGIN, ply=2), live(Move(action=3), ply=3)])
    feed = StoreFeed(str(running.path), 1)
    model = drain(feed)
    assert model.view.matches[1].actions == (3, 2, 3)
    assert feed.interval == 0.12
    running.events.append([live(Move(action=4), ply=4, t=101.0), live(ThinkingInfo(value=0.5), ply=4)])
    model = drain(feed, model)
    assert model.view.matches[1].actions == (3, 2, 3, 4)
    running.events.append([live(Finished(outcome="first", termination="rules", plies=4), ply=4)])
    model = drain(feed, model)
    assert model.view.matches[1].is_over
    assert model.view.progress.done == 1
    assert feed.interval == 1.0
    feed.close()


def test_who_runs_it_is_read_off_the_lease(running: Store) -> None:
    now, seconds = time.time(), itertools.count(0, 10)
    feed = StoreFeed(str(running.path), 1, clock=lambda: float(next(seconds)))
    model = drain(feed)
    assert model.health.warning(now) == "no coordinator", "it is planned, and nobody plays it"
    assert feed.interval == 1.0
    held = running.claim(1, current_owner())
    assert held is not None
    model = drain(feed, model)
    assert model.health.warning(now) == ""
    assert model.health.warning(now + 39).startswith("STALE 3"), "as old as the machine is slow"
    assert model.health.warning((model.health.heartbeat_t or 0) + 70) == "STALE 70s", "its process lives"
    held.leases.release()
    gone = replace(current_owner(), uuid="gone", pid_start=current_owner().pid_start + 1)
    left = running.claim(1, gone)
    assert left is not None
    running.events.append([live(BEGIN, ply=2, t=now)])
    model = drain(feed, model)
    assert model.view.matches[1].ply == 2
    assert model.health.warning(now) == "no coordinator"
    assert feed.interval == 1.0, "nobody tells of the match that was played"
    running.tournaments.set_state(1, "stopped")
    left.leases.release()
    assert drain(feed, model).health.warning(now) == ""
    feed.close()


def test_a_silent_coordinator_has_no_rate(running: Store, capsys: pytest.CaptureFixture[str]) -> None:
    now, seconds = time.time(), itertools.count(0, 10)
    held = running.claim(1, current_owner())
    assert held is not None
    quick = replace_struct(STATE, done=3, rate=156_830.0)
    held.events.append([live(quick, None, t=now - 720), live(BEGIN, ply=2, t=now - 720)])
    feed = StoreFeed(str(running.path), 1, clock=lambda: float(next(seconds)))
    model = drain(feed)
    assert (model.view.progress.rate, model.view.matches[1].is_stalled) == (156_830.0, False)
    tamper(running.path, "UPDATE leases SET beat_at = beat_at - 720")
    model = drain(feed, model)
    assert model.health.warning(now) == "STALE 12min"
    assert (model.view.progress.rate, model.view.progress.at().eta_s) == (None, None)
    assert model.view.matches[1].is_stalled
    assert feed.interval == 1.0
    feed.close()

    def wake(_: float) -> None:
        held.events.append([live(replace_struct(STATE, state="ended", done=3), None)])

    follow_plain(StoreFeed(str(running.path), 1), wake)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == [
        "rr-1 running: 0 of 12 matches, 0 %",
        "rr-1 silent: no sign of life from the process that plays it for 12 min",
    ]
    assert lines[-1].startswith("rr-1 ended: 3 of 12")


def test_a_gap_ends_in_a_new_snapshot(running: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_db.live.KEPT", 2)
    monkeypatch.setattr("arena_db.live._PRUNED_EVERY", 1)
    running.events.append([live(STATE, None), live(BEGIN, ply=2)])
    feed = StoreFeed(str(running.path), 1)
    model = drain(feed)
    for ply in range(3, 9):
        running.events.append([live(ThinkingInfo(value=0.1), ply=2), live(Move(action=ply - 3), ply=ply)])
    model = drain(feed, model)
    assert model.view.matches[1].actions == (3, 2, 0, 1, 2, 3, 4, 5)
    feed.close()


def test_a_damaged_event_is_noted(running: Store) -> None:
    feed = StoreFeed(str(running.path), 1)
    model = drain(feed)
    damaged = LiveEvent(tournament=1, number=1, kind="move", payload="{}", t=1.0)
    running.events.append([damaged, live(Fault(text="odd"))])
    model = drain(feed, model)
    assert model.view.notices[0].text == "odd"
    assert "cannot be read" in model.view.notices[1].text
    feed.close()


def test_a_store_that_is_gone_is_told_of_and_opened_again(own_store: Path) -> None:
    feed = StoreFeed(str(own_store), 1)
    hidden = own_store.with_suffix(".away")
    own_store.rename(hidden)
    with pytest.raises(StoreError):
        feed.poll()
    hidden.rename(own_store)
    assert feed.poll() is not None
    feed.close()
    with pytest.raises(ArenaError, match="no longer"):
        StoreFeed(str(own_store), 77).poll()


def test_plain_lines_of_the_past_and_of_events(
    running: Store, own_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    follow_plain(StoreFeed(str(own_store), 1), lambda _: None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "24 matches are over before this; arena watch spring --plain --from-start prints each"
    )
    assert lines[1] == "spring ended: 24 of 24 matches, 100 %"
    assert len(lines) == 6, "and a line for each of four bots"
    assert [line.split()[0] for line in lines[2:]] == ["1", "2", "3", "4"]
    assert all("of 12 points, Elo" in line for line in lines[2:])

    steps = [
        [live(BEGIN, ply=2)],
        [live(Move(action=3, value=0.5, clock_ms=(8000, 9000)), ply=3)],
        [live(Finished(outcome="first", termination="time_move", plies=3), ply=3)],
        [live(RunState(state="ended", planned=12, done=1), None)],
    ]

    def wait(_: float) -> None:
        if steps:
            running.events.append(steps.pop(0))

    follow_plain(StoreFeed(str(running.path), 1), wait)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "match rr-1/1 begins: first az against second mcts, connect-four, opening 4 3"
    assert lines[2] == "match rr-1/1 ply 3: first az plays 4, X wins 75 %, clock 8.0 s"
    assert lines[3] == "match rr-1/1 over: first az beats second mcts, time_move"
    assert lines[-1].startswith("rr-1 ended: 1 of 12 matches")


def test_plain_lines_of_one_match_until_it_counts(running: Store, capsys: pytest.CaptureFixture[str]) -> None:
    void = Finished(outcome="void", termination="aborted", plies=2, is_final=False)
    steps = [
        [live(BEGIN, ply=2), live(BEGIN, number=2, ply=2), live(void, ply=2)],
        [replace(live(BEGIN, ply=2), attempt=1)],
        [replace(live(Finished(outcome="first", termination="rules", plies=9), ply=9), attempt=1)],
    ]

    def wait(_: float) -> None:
        running.events.append(steps.pop(0))

    follow_plain(StoreFeed(str(running.path), 1), wait, 1)
    assert not steps
    begun = "match rr-1/1 begins: first az against second mcts, connect-four, opening 4 3"
    assert capsys.readouterr().out.splitlines() == [
        begun,
        "match rr-1/1.0 over: void, first az against second mcts, aborted",
        begun,
        "match rr-1/1 over: first az beats second mcts, rules",
    ]


def test_a_batch_that_is_the_last_ends_plain_lines() -> None:
    class Ended:
        interval = 0.0

        def poll(self) -> FeedUpdate:
            return FeedUpdate(is_last=True)

        def close(self) -> None:
            raise AssertionError("whoever made the feed closes it")

        cancel = close

    follow_plain(Ended(), lambda _: None)


def test_pages_go_by_ranges_of_numbers(own_store: Path) -> None:
    source = MatchSource()

    def numbers(**wanted: object) -> list[int]:
        request = PageRequest(**{"page": 0, **wanted})  # pyright: ignore[reportArgumentType] # of any field
        *_, page = source(request, Query(str(own_store)))
        return [row.stored for row in page.rows]

    assert numbers(limit=5) == [26, 25, 24, 23, 22]
    assert numbers(descending=False, limit=5) == [1, 2, 3, 4, 5]
    of_spring = numbers(condition="tournament:spring")
    assert of_spring == list(range(24, 0, -1))
    assert numbers(condition="tournament:spring", descending=False) == of_spring[::-1]
    drawn = numbers(condition="result:1/2")
    assert 0 < len(drawn) < 26
    few = numbers(condition="ply<7")
    assert all(len(load_match(Query(str(own_store)), number).recorded.actions) < 7 for number in few)
    assert numbers(condition="bot:rand?m vs:mcts*") == numbers(condition="bot:random vs:mcts:playouts=20")
    assert numbers(condition="end:time*") == []


def test_the_neighbours_of_a_match(own_store: Path) -> None:
    assert load_match(Query(str(own_store)), 3, -1).recorded.stored == 2
    assert load_match(Query(str(own_store)), 3, 1).recorded.stored == 4
    for number, step in ((1, -1), (26, 1), (99, 0)):
        with pytest.raises(ArenaError):
            load_match(Query(str(own_store)), number, step)


def test_a_void_is_seen_at_once(running: Store, capsys: pytest.CaptureFixture[str]) -> None:
    record = running.tournaments.find(1)
    assert record is not None
    cup = Cup(record, running.tournaments.entrants(1), running.plans.planned(1))
    running.matches.save([cup.match(1), cup.match(2)])
    running.events.append([live(STATE, None)])
    feed = StoreFeed(str(running.path), 1)
    model = drain(feed)
    rows = {match.number: match.end for match in model.view.finished}
    assert rows[1] != "void"
    games = {row.name: row.games for row in cast("StandingsView", model.facts["standings"]).rows}
    declare_void(running, [1], [1], "it was helped")
    feed._facts_at = -1000.0  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - tables are due
    model = drain(feed, model)
    rows = {match.number: match.end for match in model.view.finished}
    assert rows[1] == "void"
    assert [notice.text for notice in model.view.notices] == ["match 1 is void: it was helped"]
    after = {row.name: row.games for row in cast("StandingsView", model.facts["standings"]).rows}
    assert sum(after.values()) == sum(games.values()) - 2
    # A viewer that prints lines shows such a notice, too.
    lines = StoreFeed(str(running.path), 1)
    lines.poll()
    declare_void(running, [1], [1], "it was not", undo=True)
    running.events.append([live(RunState(state="ended", planned=12, done=2), None)])
    follow_plain(lines, lambda _: None)
    assert "match 1 counts again: it was not\n" in capsys.readouterr().out
