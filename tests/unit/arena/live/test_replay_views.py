"""A stored match shown step by step equals the live view; marks and differences follow their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from arena.games.notation import spec_of
from arena.live.events import Finished, Move, Started, make_event
from arena.live.reducer import reduce
from arena.live.replay_views import PlyGrade, Recorded, Replay
from arena.live.views import LiveView
from arena_plugins.thoughts import Thoughts
from game_samples import games_with_play

if TYPE_CHECKING:
    from arena.games.k_in_a_row import KInARow, KInARowState

VALUES = (0.04, 0.02, 0.06, 0.04, 0.42, 0.32, 0.94, -0.92, 1.0)
"""Values reported by both bots: 52 49 53 48 71 34 97 96 100 percent for the first player."""
EXAMPLE = Recorded(
    stored=20417,
    number=89,
    tournament_name="spring",
    game="connect-four",
    bots=("az", "mcts"),
    actions=(3, 3, 3, 3, 2, 3, 4, 1, 3),
    times_ms=(900, 1100, 800, 1000, 900, 1000, 700, 1200, 400),
    thoughts=tuple(Thoughts(value=value) for value in VALUES),
    outcome="first",
    termination="rules",
    reason="X wins by four in a row",
    clock_ms=(10_000, 10_000),
    inc_ms=100,
)


def test_marks_of_the_example() -> None:
    replay = Replay(EXAMPLE)
    assert replay.evals == pytest.approx((52, 49, 53, 48, 71, 34, 97, 96, 100))
    assert replay.marks == ("", "", "", "", "", "~", "", "", "#")
    assert [replay.next_mark(0, 1), replay.next_mark(6, 1), replay.next_mark(9, 1)] == [6, 9, 9]
    assert [replay.next_mark(9, -1), replay.next_mark(6, -1)] == [6, 6]


def test_grades_take_the_place_of_swings() -> None:
    grades = (
        None,
        PlyGrade(eval=50.0),
        PlyGrade(eval=100.0, mark="?", text="gives a win away"),
        PlyGrade(mark="??"),
    )
    graded = Replay(replace(EXAMPLE, grades=grades))
    assert graded.marks == ("", "", "?", "??", "", "", "", "", "#")
    assert graded.judged == (None, 50.0, 100.0, None, None, None, None, None, None)
    assert [graded.eval_at(ply) for ply in (1, 2, 3, 9)] == [50.0, 100.0, None, 100.0]
    assert [graded.grade(ply) for ply in (-1, 1, 4, 9)] == [None, grades[1], None, None]


def test_without_a_judge_a_position_stands_as_its_last_mover_said() -> None:
    replay = Replay(EXAMPLE)
    assert replay.eval_at(0) is None
    assert replay.eval_at(5) == pytest.approx(71)
    assert replay.eval_at(9) == 100, "the result"
    cut = replace(EXAMPLE, actions=EXAMPLE.actions[:8], outcome="second", termination="time_move")
    assert Replay(cut).eval_at(8) == pytest.approx(96), "the board did not decide that match"


def test_a_swing_is_against_the_mover_and_in_the_eyes_of_both() -> None:
    def marks(*values: float | None) -> tuple[str, ...]:
        thoughts = tuple(Thoughts(value=value) for value in values)
        actions = (0, 1, 2, 3, 4, 5)[: len(values)]
        return Replay(replace(EXAMPLE, actions=actions, thoughts=thoughts)).marks

    # The first player moves at plies 1, 3 and 5; the second player's values at 2 and 4 are for the second.
    assert marks(0.0, 0.0, 0.0, 0.4, -0.4) == ("", "", "~", "", "#")
    assert marks(0.0, 0.0, 0.0, 0.38, -0.4) == ("", "", "", "", "#")
    assert marks(0.0, 0.0, 0.0, 0.4, -0.38) == ("", "", "", "", "#"), "the mover does not see it"
    assert marks(0.0, 0.0, 0.0, -0.9, -0.9) == ("", "", "", "", "#"), "it moved in favour of the mover"
    assert marks(0.0, None, 0.0, 0.9, -0.9) == ("", "", "", "", "#"), "unknown before"
    assert marks(0.0, 0.0, 0.0, 0.9) == ("", "", "", "#"), "not decided on the board"


def test_clocks_and_times_follow_the_record() -> None:
    replay = Replay(EXAMPLE)
    assert [seat.clock_ms for seat in replay.at(1).seats] == [9_200, 10_000]
    assert [seat.clock_ms for seat in replay.at(2).seats] == [9_200, 9_000]
    assert replay.at(5).moves[-1].elapsed_ms == 900


def test_the_ends() -> None:
    replay = Replay(EXAMPLE)
    assert replay.at(-3) is replay.at(0)
    assert replay.at(99) is replay.at(9)
    assert (replay.at(0).ply, replay.at(8).is_over, replay.at(9).is_over) == (0, False, True)
    assert replay.at(9).address == "spring/89"
    assert replay.at(6).moves[-1].mark == "~"


@settings(max_examples=40)
@given(games_with_play(), st.integers(0, 4), st.data())
def test_replay_shows_what_was_shown_live(
    drawn: tuple[KInARow, list[KInARowState]], num_opening: int, data: st.DataObject
) -> None:
    game, states = drawn
    actions = states[-1].history
    num_opening = min(num_opening, len(actions))
    values = data.draw(
        st.lists(st.none() | st.floats(-1, 1), min_size=len(actions), max_size=len(actions)), label="values"
    )
    thoughts = tuple(Thoughts(value=value) for value in values)
    spec = str(spec_of(game))
    recorded = Recorded(
        game=spec,
        bots=("a", "b"),
        actions=actions,
        num_opening=num_opening,
        thoughts=thoughts,
        outcome="draw",
        termination="adjudicated",
    )
    replay = Replay(recorded)
    start = Started(bots=("a", "b"), game=spec, opening=actions[:num_opening])
    live = reduce(LiveView(), make_event(1, start, t=0.0, match=1))
    for ply in range(num_opening, len(actions) + 1):
        if ply > num_opening:
            body = Move(action=actions[ply - 1], value=values[ply - 1])
            live = reduce(live, make_event(ply + 1, body, t=0.0, match=1, ply=ply))
        if ply < len(actions):
            shown = replay.at(ply)
            unmarked = replace(shown, moves=tuple(replace(move, mark="") for move in shown.moves))
            assert unmarked == live.matches[1]
    end = Finished(outcome="draw", termination="adjudicated", plies=len(actions))
    over = reduce(live, make_event(10_000, end, t=0.0, match=1)).matches[1]
    last = replay.at(len(actions))
    assert replace(last, moves=()) == replace(over, moves=())
    assert [state.cells for state in states] == [view.cells for view in replay.views]
