"""Boards of live pages: delayed, ended, and replaced by boards of later matches."""

from __future__ import annotations

import msgspec
import pytest

from arena.live.events import Finished, Move, RunState, make_event
from arena.live.views import LiveView
from arena.serve.live_hub import WALL
from arena.watching.feed import FeedUpdate
from hub_stage import HubStage, begins, numbered
from live_samples import played
from streams import Reader


@pytest.mark.parametrize("delay", [1, 3])
def test_positions_are_held_back_by_so_many_plies_until_the_match_is_over(delay: int) -> None:
    stage = HubStage(delay)
    events = [make_event(0, RunState(state="running", planned=2, done=0), t=0.0), begins(1)]
    for ply, action in enumerate([3, 3, 2, 2, 4, 4, 5], 1):
        body = Move(action=action, value=0.1 * ply, elapsed_ms=5, clock_ms=(8_000, 7_000))
        events.append(make_event(0, body, t=2.0, match=1, ply=ply))
    stage.tell(*numbered(events))
    stage.settle()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    match = shown.model.view.matches[1]
    assert match.ply == 7 - delay
    assert sum(map(bool, match.cells)) == 7 - delay
    assert match.winning == ()
    # The time of the last move reveals how long the bot has been thinking about the next one.
    assert (match.clock_t, match.last_t, match.free_ms, match.trouble) == (0.0, match.started_t, 0, "")
    assert [(seat.clock_ms, seat.thoughts, seat.thinking) for seat in match.seats] == [(None, None, None)] * 2
    assert f"ply {7 - delay}" in shown.fragments["b0"]
    assert "clock" not in shown.fragments["b0"]
    assert match.seats[0].eval == pytest.approx(75.0 if delay == 1 else 65.0)
    # The hub itself has forgotten nothing: the next move is applied.
    over = make_event(99, Finished(outcome="first", termination="rules", plies=7), t=3.0, match=1, ply=7)
    stage.tell(over)
    stage.settle()
    later = stage.hub.snapshot(WALL)
    assert later is not None
    assert later.model.view.matches[1].ply == 7
    assert later.fragments["b0"].count('class="won"') == 4


def test_a_wall_has_as_many_places_as_matches_are_played_at_once() -> None:
    stage, events = HubStage(), [make_event(0, RunState(state="running", planned=9, done=0), t=0.0)]
    for number in range(1, 9):
        events += [
            begins(number, t=60.0 * number),
            make_event(0, Move(action=3, elapsed_ms=5), t=60.0 * number + 1, match=number, ply=1),
        ]
        if number < 8:
            end = Finished(outcome="first", termination="crash", plies=1)
            events.append(make_event(0, end, t=60.0 * number + 50, match=number, ply=1))
    told = numbered(events)
    # As from a store whose last six boards are shown until the next match begins.
    past = LiveView(matches={n: played("connect-four", "4", number=n) for n in range(1, 7)})
    past = msgspec.structs.replace(
        past,
        matches={n: msgspec.structs.replace(m, outcome="first") for n, m in past.matches.items()},
        places=tuple(range(1, 7)),
    )
    stage.feed.next.append(FeedUpdate(view=past, events=told[:1]))
    stage.settle()
    for event in told[-5:]:
        stage.feed.next.append(FeedUpdate(events=[event]))
        stage.settle()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    assert shown.model.view.places == (8,)
    assert "Follow match" in shown.fragments["b0"]
    assert "hidden" in shown.fragments["b1"]


@pytest.mark.parametrize("delay", [0, 4])
def test_a_followed_match_keeps_its_last_position_when_the_next_match_takes_its_place(delay: int) -> None:
    stage = HubStage(delay)
    moves = [
        make_event(0, Move(action=action, elapsed_ms=5), t=2.0, match=1, ply=ply)
        for ply, action in enumerate([3, 3, 2, 2, 4, 4, 5], 1)
    ]
    first = make_event(0, RunState(state="running", planned=2, done=0), t=0.0), begins(1)
    end = make_event(0, Finished(outcome="first", termination="rules", plies=7), t=3.0, match=1, ply=7)
    later = make_event(0, Move(action=3, elapsed_ms=5), t=5.0, match=2, ply=1)
    events = numbered([*first, *moves, end, begins(2, t=4.0), later])
    stage.tell(*events[:6])
    viewer, reader = stage.join("1"), Reader()
    stage.settle()
    # The end of one match and the beginning of the next arrive together, as after a pause of the store.
    for batch in (events[6:11], events[11:]):
        stage.tell(*batch)
        stage.settle()
        reader.hear(viewer.take())
        assert 1 not in stage.known.view.matches
        assert reader.elements["play"].count('class="won"') == 4
        assert "ply7" in reader.elements["moves"]
        assert ">Replay</a>" in reader.elements["ending"]
    page = stage.hub.snapshot("1")
    assert page is not None
    assert page.fragments["play"].count('class="won"') == 4
    # The wall has one place for both, and shows the match that is played.
    wall = stage.hub.snapshot(WALL)
    assert wall is not None
    assert "Follow match" in wall.fragments["b0"]
    assert "hidden" in wall.fragments["b1"]
    again = make_event(0, Move(action=0, elapsed_ms=5), t=7.0, match=1, ply=1)
    second = [msgspec.structs.replace(event, attempt=2) for event in (begins(1, t=6.0), again)]
    stage.tell(*[msgspec.structs.replace(event, seq=20 + seq) for seq, event in enumerate(second)])
    stage.settle()
    reader.hear(viewer.take())
    # With a delay, no move of the second attempt is shown yet.
    assert ("ply1" in reader.elements["moves"]) == (delay == 0)
    assert "ply7" not in reader.elements["moves"]
    assert "won" not in reader.elements["play"]


def test_a_page_of_a_match_that_has_ended_long_ago_says_where_its_board_is() -> None:
    stage = HubStage()
    end = make_event(0, Finished(outcome="first", termination="rules", plies=7), t=3.0, match=1, ply=7)
    first = make_event(0, RunState(state="running", planned=2, done=0), t=0.0), begins(1)
    stage.tell(*numbered([*first, end, begins(2, t=60.0)]))
    stage.settle()
    assert "The replay shows the board." in stage.fresh("1")["play"]


def test_a_delay_never_hides_the_opening() -> None:
    stage = HubStage(5)
    move = make_event(0, Move(action=3, elapsed_ms=5), t=2.0, match=1, ply=4)
    stage.tell(*numbered([begins(1, opening=(3, 3, 2)), move]))
    stage.settle()
    shown = stage.hub.snapshot(WALL)
    assert shown is not None
    assert shown.model.view.matches[1].actions == (3, 3, 2)
    assert shown.model.view.matches[1].to_move == 1
