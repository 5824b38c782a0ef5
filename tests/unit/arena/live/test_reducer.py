"""Events to view-models: equal results from any starting point, in any batches, with repeats or without."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.live.events import Event, Fault, Finished, Move, RunState, Started, ThinkingInfo, make_event
from arena.live.reducer import changed_matches, reduce, reduce_all, stalled
from arena.live.views import MAX_FINISHED, LiveView
from game_samples import make
from live_samples import EVIL, chance_events, match_events, played

seeds = st.integers(0, 2**32)


def _through_json(view: LiveView) -> LiveView:
    return msgspec.json.decode(msgspec.json.encode(view), type=LiveView)


@settings(max_examples=60)
@given(seeds, st.floats(0, 1))
def test_any_join_point_gives_the_same_state(seed: int, part: float) -> None:
    events = chance_events(seed)
    cut = round(part * len(events))
    snapshot = _through_json(reduce_all(LiveView(), events[:cut]))
    assert reduce_all(snapshot, events[cut:]) == reduce_all(LiveView(), events)


@settings(max_examples=30)
@given(seeds, st.floats(0, 1), st.floats(0, 1))
def test_events_that_are_read_twice_change_nothing(seed: int, begin: float, end: float) -> None:
    events = chance_events(seed)
    view = reduce_all(LiveView(), events)
    assert reduce_all(view, events) is view
    low, high = sorted((round(begin * len(events)), round(end * len(events))))
    assert reduce_all(reduce_all(LiveView(), events[:high]), events[low:]) == view


@settings(max_examples=30)
@given(seeds)
def test_running_matches_need_their_own_events_only(seed: int) -> None:
    """Remarks on finished plies and events of finished matches may be deleted."""
    events = chance_events(seed)
    view = reduce_all(LiveView(), events)
    for number, match in view.matches.items():
        own = [event for event in events if event.match == number and event.attempt == match.attempt]
        begin = max(place for place, event in enumerate(own) if event.kind == "started")
        alone = reduce_all(LiveView(), [e for e in own[begin:] if e.kind != "info"]).matches[number]
        assert (alone.cells, alone.actions, alone.moves, alone.outcome) == (
            match.cells,
            match.actions,
            match.moves,
            match.outcome,
        ) or match.reason == "the run ended before it"


@settings(max_examples=30)
@given(seeds)
def test_the_board_is_that_of_the_rules(seed: int) -> None:
    for match in reduce_all(LiveView(), chance_events(seed)).matches.values():
        if match.trouble:
            continue
        state = make(match.game).initial_state()
        for action in match.actions:
            state = state.child(action)
        assert match.cells == state.cells
        assert match.to_move == (-1 if state.is_terminal else state.current_player)
        assert [move.ply for move in match.moves] == list(range(1, match.ply + 1))


def test_evals_are_percent_for_the_first_player() -> None:
    match = played("connect-four", "4 4 4")
    assert [move.eval for move in match.moves] == pytest.approx([71.0, 35.0, 71.0])
    assert [seat.eval for seat in match.seats] == pytest.approx([71.0, 35.0])
    assert [move.text for move in match.moves] == ["4", "4", "4"]
    assert match.last_cell == 3 * 7 + 3


def test_the_clock_of_the_one_to_move_runs() -> None:
    match = played("connect-four", "4 4 4")
    assert match.to_move == 1
    assert match.clock_t == 4.0
    assert match.remaining_ms(0, 99.0) == 12_000
    assert match.remaining_ms(1, 6.5) == 6_500
    assert match.remaining_ms(1, 1_000.0) == 0
    patient = msgspec.structs.replace(match, free_ms=2_000)
    assert patient.remaining_ms(1, 5.0) == 9_000
    assert patient.remaining_ms(1, 7.0) == 8_000


def test_the_clock_stops_with_the_match() -> None:
    over = played("connect-four", "4 4 4 3 4 2", over="first")
    assert over.is_over
    # The second player's clock ran for a second until the end was published.
    assert [over.remaining_ms(player, 999.0) for player in (0, 1)] == [11_000, 9_000]


def test_remarks_show_while_a_bot_thinks_and_go_with_its_move() -> None:
    view = reduce_all(LiveView(), match_events("connect-four", ["4"]))
    view = reduce(view, make_event(10, ThinkingInfo(value=-0.5, nodes=7), t=9.0, match=313, ply=1))
    seat = view.matches[313].seats[1]
    assert seat.thinking is not None
    assert (seat.thinking.nodes, seat.eval) == (7, 75.0)
    view = reduce(view, make_event(11, ThinkingInfo(value=0.9), t=9.0, match=313, ply=0))
    assert view.matches[313].seats[0].thinking is None, "a remark on a position that is past"
    view = reduce(view, make_event(12, Move(action=0), t=9.5, match=313, ply=2))
    seat = view.matches[313].seats[1]
    assert (seat.thinking, seat.eval, seat.thoughts_ply) == (None, None, 2), (
        "it said nothing: absent, not zero"
    )


def test_a_move_that_is_known_or_comes_too_early_changes_nothing() -> None:
    view = reduce_all(LiveView(), match_events("tic-tac-toe", ["b2", "a1"]))
    for ply in (1, 2, 4):
        late = make_event(50, Move(action=8), t=9.0, match=313, ply=ply)
        assert reduce(view, late).matches[313] == view.matches[313]
    following = make_event(50, Move(action=8), t=9.0, match=313, ply=3)
    assert reduce(view, following).matches[313].ply == 3


def test_a_match_that_begins_again_is_new() -> None:
    first = list(match_events("tic-tac-toe", ["b2", "a1"]))
    view = reduce_all(LiveView(), first)
    again = Started(bots=("az", "td"), game="tic-tac-toe")
    view = reduce(view, msgspec.structs.replace(make_event(50, again, t=9.0, match=313), attempt=1))
    late = make_event(51, Move(action=0), t=9.0, match=313, ply=1)
    match = reduce(view, late).matches[313]
    assert (match.attempt, match.ply, match.seats[1].name) == (1, 0, "td")


def test_a_new_match_takes_the_place_of_the_one_over_longest() -> None:
    view = LiveView()
    seq = iter(range(1, 99))
    begin = Started(bots=("a", "b"), game="tic-tac-toe")
    end = Finished(outcome="draw", termination="rules", plies=0)
    for number in (1, 2, 3):
        view = reduce(view, make_event(next(seq), begin, t=1.0, match=number))
    for number in (2, 1):
        view = reduce(view, make_event(next(seq), end, t=float(next(seq)), match=number))
    view = reduce(view, make_event(next(seq), begin, t=50.0, match=4))
    assert view.places == (1, 4, 3)
    assert set(view.matches) == {1, 3, 4}
    view = reduce(view, make_event(next(seq), begin, t=51.0, match=5))
    view = reduce(view, make_event(next(seq), begin, t=52.0, match=6))
    assert view.places == (5, 4, 3, 6)


def test_a_match_that_the_past_knows_is_finished_once() -> None:
    events = list(match_events("tic-tac-toe", ["b2"], over="first", number=7))
    events[-1] = make_event(
        events[-1].seq, Finished(outcome="first", termination="crash", plies=1), t=3.0, match=7, ply=1
    )
    view = reduce_all(LiveView(), events)
    # Its board has left the wall, as in a state that was read from the store.
    past = msgspec.structs.replace(view, matches={}, places=(), seq=0)
    again = reduce_all(past, events)
    assert again.finished == view.finished
    assert again.faults == view.faults
    assert again.progress.done == view.progress.done
    assert again.matches[7].is_over


def test_finished_matches_are_counted_and_listed() -> None:
    view = reduce(LiveView(), make_event(1, RunState(state="running", planned=10, done=4), t=0.0))
    for number in range(1, 4):
        for event in match_events("tic-tac-toe", ["b2"], over="first", number=number):
            moved = msgspec.structs.replace(event, seq=view.seq + 1, t=60.0 * number)
            view = reduce(view, moved)
    assert view.progress.done == 7
    assert view.progress.rate == pytest.approx(1.0)
    assert view.progress.at().eta_s == pytest.approx(180.0)
    assert [match.number for match in view.finished] == [3, 2, 1]
    assert view.finished[0].result == "1-0"
    void = Finished(outcome="void", termination="arena_stall", plies=1, is_final=False)
    begin = Started(bots=("a", "b"), game="tic-tac-toe")
    view = reduce(view, make_event(100, begin, t=1.0, match=9))
    assert reduce(view, make_event(101, void, t=1.0, match=9)).progress.done == 7


def test_lists_stay_short() -> None:
    view = LiveView()
    for number in range(1, MAX_FINISHED + 20):
        begin = Started(bots=("a", "b"), game="tic-tac-toe")
        end = Finished(outcome="second", termination="time_move", plies=0)
        view = reduce(view, make_event(2 * number, begin, t=1.0, match=number))
        view = reduce(view, make_event(2 * number + 1, end, t=1.0, match=number))
    assert len(view.finished) == MAX_FINISHED
    assert len(view.matches) == 1
    assert view.faults == {"a": {"time_move": MAX_FINISHED + 19}}


def test_a_run_that_ends_leaves_no_match_running() -> None:
    view = reduce_all(LiveView(), match_events("tic-tac-toe", ["b2"]))
    view = reduce(view, make_event(9, RunState(state="ended", planned=5, done=2, reason="killed"), t=9.0))
    match = view.matches[313]
    assert (match.outcome, match.termination) == ("void", "aborted")
    assert view.progress.at().eta_s is None


def test_what_is_damaged_is_noted_and_changes_nothing_else() -> None:
    view = reduce_all(LiveView(), match_events("tic-tac-toe", ["b2"]))
    damaged = Event(seq=20, tournament=1, match=313, ply=2, kind="move", payload={"action": "b1"}, t=3.0)
    after = reduce(view, damaged)
    assert "event 20 of kind move cannot be read" in after.notices[0].text
    assert after.matches == view.matches
    nowhere = Event(
        seq=21, tournament=1, kind="started", payload={"bots": ["a", "b"], "game": "gomoku"}, t=3.0
    )
    assert "names no match" in reduce(after, nowhere).notices[0].text


def test_an_action_that_is_not_allowed_stops_the_board_and_says_so() -> None:
    view = reduce_all(LiveView(), match_events("tic-tac-toe", ["b2"]))
    view = reduce(view, make_event(20, Move(action=4), t=3.0, match=313, ply=2))
    view = reduce(view, make_event(21, Move(action=0), t=3.0, match=313, ply=3))
    match = view.matches[313]
    assert "b2 is not allowed" in match.trouble
    assert (len(match.moves), match.ply) == (1, 3)


def test_a_game_that_is_not_installed_has_no_board() -> None:
    begin = Started(bots=("a", "b"), game="tic-tac-tow", opening=(3,))
    view = reduce(LiveView(), make_event(1, begin, t=1.0, match=1))
    match = view.matches[1]
    assert (match.columns, match.cells, match.ply) == (0, (), 1)
    assert "tic-tac-tow" in match.trouble
    end = Finished(outcome="first", termination="rules", plies=3)
    assert reduce(view, make_event(2, end, t=2.0, match=1)).matches[1].result == "1-0"


def test_faults_name_who_is_to_blame() -> None:
    view = reduce_all(LiveView(), match_events("tic-tac-toe", ["b2"]))
    body = Fault(player=1, termination="time_move", text="late by 12 ms\x1b[2J")
    notice = reduce(view, make_event(30, body, t=4.0, match=313)).notices[0]
    assert (notice.number, notice.label, notice.termination) == (313, "mcts", "time_move")
    assert notice.text == "late by 12 ms[2J"


@pytest.mark.parametrize("name", EVIL)
def test_foreign_text_is_cleaned(name: str) -> None:
    match = played("tic-tac-toe", "b2", bots=(name, name))
    for seat in match.seats:
        assert seat.name.isprintable()
        assert 0 < len(seat.name) <= 64
        assert seat.label.isprintable()
        assert seat.label == seat.name, "nobody has named it"


def test_what_changed_is_known_by_identity() -> None:
    events = chance_events(3)
    before = reduce_all(LiveView(), events[:20])
    after = reduce(before, make_event(10_000, RunState(state="paused", planned=9, done=3), t=0.0))
    assert changed_matches(before, after) == frozenset()
    assert changed_matches(LiveView(), after) == frozenset(after.matches)


def test_a_match_whose_worker_died_stands_still_until_it_is_heard_of_again() -> None:
    view = reduce_all(LiveView(), match_events("connect-four", ["4"]))
    (number,) = view.matches
    ply, seq = view.matches[number].ply, view.seq
    view = reduce(view, make_event(seq + 1, Fault(text="gone", stalls=True), t=9.0, match=number, ply=ply))
    match = view.matches[number]
    assert (match.is_stalled, match.is_played, match.is_over) == (True, False, False)
    assert match.remaining_ms(match.to_move, 1e6) == match.seats[match.to_move].clock_ms, "its clock stands"
    other = make_event(seq + 2, Started(bots=("a", "b"), game="connect-four"), t=10.0, match=99)
    assert reduce(view, other).places == (99,), "another match takes its place"
    again = make_event(seq + 2, Move(action=3), t=10.0, match=number, ply=ply + 1)
    assert reduce(view, again).matches[number].is_played


def test_a_tournament_that_nobody_plays_has_no_running_boards() -> None:
    view = reduce_all(LiveView(), match_events("connect-four", ["4"]))
    assert stalled(LiveView()) == LiveView()
    still = stalled(view)
    assert [match.is_played for match in still.matches.values()] == [False]
    assert stalled(still) is still


def test_how_far_it_is_on_the_way_to_its_goal_stays_until_it_is_told_anew() -> None:
    view = reduce(
        LiveView(), make_event(1, RunState(state="running", planned=9, done=3, goal="llr 1"), t=0.0)
    )
    view = reduce(view, make_event(2, RunState(state="paused", planned=9, done=3), t=1.0))
    assert view.progress.goal == "llr 1"
    view = reduce(view, make_event(3, RunState(state="ended", planned=9, done=9, goal="H1\x1b[2J"), t=2.0))
    assert view.progress.goal.startswith("H1")
    assert "\x1b" not in view.progress.goal
