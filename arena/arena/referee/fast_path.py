"""A fast path for two bots of this process: they play in turn for as long as their answers are plain."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from arena.referee.bot_output import Capture
from arena.referee.inprocess import InProcessSeat
from arena.referee.stall import suspended_s
from arena_plugins.contract import PlayResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.referee.bot_output import BotOutput
    from arena.referee.clock import GameClock
    from arena.referee.inprocess import FastSeat
    from arena.referee.seats import Answer, Forfeit, Record, Resignation, Seat
    from arena_plugins.contract import State


def fast_seats_of(seats: tuple[Seat, Seat]) -> tuple[FastSeat, FastSeat] | None:
    """Return the fast path data of two started seats if both bots are eligible, else None.

    Both must run in this process and have the same limit for every answer.
    """
    first, second = seats
    if not (isinstance(first, InProcessSeat) and isinstance(second, InProcessSeat)):
        return None
    one, other = first.fast_seat, second.fast_seat
    return None if one is None or other is None else (one, other)


def play_fast(
    fast_seats: tuple[FastSeat, FastSeat],
    state: State,
    record: Record,
    clock: GameClock,
    abort: Callable[[], bool] | None,
) -> tuple[State, Answer | Resignation | Forfeit | None]:
    """Ask two bots in turn and accept plain answers; an answer that is not plain is judged by its seat.

    A plain answer is a PlayResult that contains only a legal action as a plain int and arrives at once. No
    rule has anything to judge about it, so a match ends the same with and without this fast path.

    Args:
        fast_seats: the data of the two seats.
        state: the state to play on from.
        record: receives the accepted answers.
        clock: the clocks of the match; a plain answer does not change them.
        abort: called before each action; True ends the play.

    Returns:
        The state that was reached, and the judgement of the first answer there that is not plain; None
        instead of a judgement if the match is over or to be aborted.
    """
    capture = _capture(fast_seats, state, record)
    if capture is None:
        return _play_fast(fast_seats, state, record, clock, abort)
    with capture:
        return _play_fast(fast_seats, state, record, clock, None if abort is None else capture.outside(abort))


def _capture(fast_seats: tuple[FastSeat, FastSeat], state: State, record: Record) -> Capture | None:
    """Return a capture of the prints of both bots, or None if those of either are not kept.

    The speaker is determined from the number of actions only when something is printed, so a silent bot costs
    nothing.
    """
    first, second = fast_seats[0][3].output, fast_seats[1][3].output
    if first is None or second is None:
        return None
    outputs, actions = (first, second), record.actions
    num_known = len(actions)

    def speaker() -> BotOutput:
        nonlocal state, num_known
        while num_known < len(actions):
            state = state.child(actions[num_known])
            num_known += 1
        output = outputs[state.current_player]
        output.ply = num_known + 1
        return output

    return Capture(speaker)


def _play_fast(
    fast_seats: tuple[FastSeat, FastSeat],
    state: State,
    record: Record,
    clock: GameClock,
    abort: Callable[[], bool] | None,
) -> tuple[State, Answer | Resignation | Forfeit | None]:
    actions, now = record.actions, time.monotonic
    asleep_s = suspended_s()
    while not state.is_terminal:
        if abort is not None and abort():
            break
        bot, limit, plain_s, seat = fast_seats[state.current_player]
        legal = state.legal_actions
        began = now()
        try:
            given = bot.play(state, limit)
        except BaseException as error:  # noqa: BLE001 - any exception of a bot forfeits the match
            return state, seat.blame(error, now() - began, clock)
        elapsed_s = now() - began
        if (
            type(given) is PlayResult
            and type(action := given.action) is int
            and action in legal
            and elapsed_s <= plain_s
            and given.resign is False
            and given.value is None
            and given.policy is None
            and given.visits is None
            and given.pv is None
            and given.nodes is None
            and given.depth is None
            and given.text is None
        ):
            state = state.child(action)
            actions.append(action)
        else:
            return state, seat.judge(given, state, elapsed_s, clock, asleep_s)
    return state, None
