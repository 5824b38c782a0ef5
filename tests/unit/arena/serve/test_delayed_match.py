"""Delayed positions reveal nothing about later events."""

from __future__ import annotations

import pytest

from arena.live.events import Finished, Move, Started, ThinkingInfo, make_event
from arena.live.reducer import reduce, reduce_all
from arena.live.views import LiveView
from arena.serve.live_hub import Delay, delayed_match
from game_samples import make

OPENING = (0, 1)
ACTIONS = (2, 3, 4, 5)
VALUES = (0.1, 0.2, 0.3, 0.4)
"""Expected results that the moving bot reports, for itself."""


def _after(num_moves: int) -> LiveView:
    """Return a match of Connect Four after `num_moves` moves of the bots; the bot to move is thinking."""
    begin = Started(bots=("az", "td"), game="connect-four", opening=OPENING, clock_ms=(60_000, 60_000))
    events = [make_event(1, begin, t=1.0, match=7)]
    for index in range(num_moves):
        ply = len(OPENING) + index + 1
        move = Move(
            action=ACTIONS[index],
            value=VALUES[index],
            elapsed_ms=1000,
            clock_ms=(60_000 - ply, 60_000 - ply),
            text="hidden",
        )
        events.append(make_event(ply, move, t=float(ply), match=7, ply=ply))
    thinking = ThinkingInfo(value=-1.0, text="hidden")
    events.append(make_event(90, thinking, t=90.0, match=7, ply=len(OPENING) + num_moves))
    return reduce_all(LiveView(), events)


@pytest.mark.parametrize("num_moves", range(5))
@pytest.mark.parametrize("plies", [1, 2, 3, 9])
def test_a_match_is_shown_as_it_was_and_never_before_its_opening(num_moves: int, plies: int) -> None:
    shown = delayed_match(_after(num_moves).matches[7], plies)
    num = max(0, num_moves - plies)
    expected = make("connect-four").initial_state()
    for action in (*OPENING, *ACTIONS[:num]):
        expected = expected.child(action)
    assert shown.actions == expected.history
    assert shown.cells == expected.cells
    assert shown.to_move == expected.current_player
    assert len(shown.moves) == len(OPENING) + num


@pytest.mark.parametrize("num_moves", range(5))
@pytest.mark.parametrize("plies", [1, 2, 3, 9])
def test_neither_clocks_nor_words_tell_of_hidden_moves(num_moves: int, plies: int) -> None:
    shown = delayed_match(_after(num_moves).matches[7], plies)
    for player, seat in enumerate(shown.seats):
        assert (seat.clock_ms, seat.thinking, seat.thoughts) == (None, None, None)
        own = VALUES[: max(0, num_moves - plies)][player::2]
        sign = 1 if player == 0 else -1
        assert seat.eval == (pytest.approx(50 * (1 + sign * own[-1])) if own else None)
    assert "hidden" not in str(shown)
    assert shown.last_t == shown.started_t


def test_what_is_over_is_shown_whole_and_what_stays_is_the_same_object() -> None:
    delay, view = Delay(2), _after(4)
    shown = delay.of(view)
    assert shown.matches[7].ply == 4
    assert delay.of(view).matches[7] is shown.matches[7]
    over = reduce(
        view, make_event(99, Finished(outcome="first", termination="rules", plies=6), t=99.0, match=7)
    )
    assert delay.of(over).matches[7] is over.matches[7]
    assert Delay(0).of(view) is view
