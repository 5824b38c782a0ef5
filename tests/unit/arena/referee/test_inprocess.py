from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pytest

from arena.referee.clock import GameClock
from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import Answer, Forfeit, Resignation, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena_plugins.contract import Game, Limit, Outcome, PlayResult, State, Termination
from arena_plugins.errors import PluginError
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

GAME = load_game("tic-tac-toe")
CONTROL = TimeControl.parse(None, 30, 100)


class Scripted:
    """A bot with given answers."""

    def __init__(self, play: Callable[[State, Limit], PlayResult]) -> None:
        self._play = play

    def play(self, state: State, limit: Limit) -> PlayResult:
        return self._play(state, limit)


class Lasting(Scripted):
    """A bot that is reused for many matches."""

    def __init__(self, play: Callable[[State, Limit], PlayResult]) -> None:
        super().__init__(play)
        self.seeds: list[int] = []

    def new_match(self, seed: int) -> None:
        self.seeds.append(seed)


def setup_of(
    seed: int = 1, game: Game = GAME, control: TimeControl = CONTROL, init_s: float = 30.0
) -> SeatSetup:
    return SeatSetup(match="m", game=game, player=0, seed=seed, control=control, init_s=init_s)


def ask(
    play: Callable[[State, Limit], PlayResult], control: TimeControl = CONTROL
) -> Answer | Resignation | Forfeit:
    seat = InProcessSeat(lambda _game, _seed: Scripted(play), name="bot", version="1")
    assert seat.start(setup_of(control=control)) is None
    assert seat.check() is None
    return seat.ask(GAME.initial_state(), 0, GameClock((control, control)))


def fault_of(play: Callable[[State, Limit], PlayResult], control: TimeControl = CONTROL) -> Forfeit:
    fault = ask(play, control)
    assert isinstance(fault, Forfeit)
    return fault


def test_an_answer_brings_its_thoughts() -> None:
    limits: list[Limit] = []

    def play(_: State, limit: Limit) -> PlayResult:
        limits.append(limit)
        return PlayResult(np.int64(4), value=0.5, visits={4: 10}, nodes=10, text="middle")  # pyright: ignore[reportArgumentType] - numpy integers pass

    answer = ask(play)

    assert isinstance(answer, Answer)
    assert (answer.action, type(answer.action)) == (4, int)
    assert (answer.thoughts.value, answer.thoughts.visits) == (0.5, ((4, 10),))
    assert (answer.thoughts.nodes, answer.thoughts.text) == (10, "middle")
    assert limits == [Limit(seconds=30.0, nodes=100)]


def test_a_bot_can_resign() -> None:
    assert isinstance(ask(lambda _state, _limit: PlayResult(0, resign=True)), Resignation)


@pytest.mark.parametrize(
    ("action", "termination"),
    [(9, "illegal_move"), (-1, "illegal_move"), (True, "bot_error"), (3.0, "bot_error"), (None, "bot_error")],
)
def test_a_wrong_action_forfeits(action: int, termination: str) -> None:
    assert fault_of(lambda _state, _limit: PlayResult(action)).termination == termination


def test_no_result_forfeits() -> None:
    fault = fault_of(lambda _state, _limit: 4)  # pyright: ignore[reportArgumentType, reportReturnType] - the point
    assert fault.termination == "bot_error"
    assert "not a PlayResult" in str(fault.detail["cause"])


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def play(*_: object) -> NoReturn:
        raise error

    return play


@pytest.mark.parametrize(
    ("error", "termination"),
    [
        (ValueError("odd"), "bot_error"),
        (GeneratorExit(), "bot_error"),
        (MemoryError(), "oom"),
        (SystemExit(3), "crash"),
    ],
)
def test_an_exception_forfeits(error: BaseException, termination: str) -> None:
    fault = fault_of(raising(error))
    assert fault.termination == termination
    assert "Traceback" in str(fault.detail["stderr"])


@pytest.mark.parametrize(("code", "exit_code"), [(3, 3), (None, 0), ("bye", 1)])
def test_an_exit_has_its_code(code: int | str | None, exit_code: int) -> None:
    assert fault_of(lambda _state, _limit: sys.exit(code)).detail["exit_code"] == exit_code


def test_ctrl_c_is_no_fault() -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(raising(KeyboardInterrupt()))


def test_a_late_answer_loses_but_an_illegal_one_is_illegal() -> None:
    control = TimeControl(mode="move", move_ms=1, margin_ms=0)

    def dawdle(action: int) -> PlayResult:
        end = time.monotonic() + 0.003
        while time.monotonic() < end:
            pass
        return PlayResult(action)

    fault = fault_of(lambda _state, _limit: dawdle(0), control)
    assert (fault.termination, fault.detail["limit_ms"]) == ("time_move", 1)
    assert fault_of(lambda _state, _limit: dawdle(9), control).termination == "illegal_move"


def test_a_bot_without_new_match_is_made_for_each() -> None:
    made: list[int] = []

    def make(_: Game, seed: int) -> Scripted:
        made.append(seed)
        return Scripted(raising(ValueError()))

    seat = InProcessSeat(make, name="bot", version="1")
    for seed in (1, 2):
        assert seat.start(setup_of(seed)) is None
        seat.finish(Outcome.DRAW, Termination.RULES)
    assert made == [1, 2]


def test_a_lasting_bot_is_made_once_per_game() -> None:
    bots: list[Lasting] = []

    def make(_: Game, seed: int) -> Lasting:
        del seed
        bots.append(Lasting(raising(ValueError())))
        return bots[-1]

    seat = InProcessSeat(make, name="bot", version="1")
    for seed in (1, 2):
        assert seat.start(setup_of(seed)) is None
    assert [bot.seeds for bot in bots] == [[2]]
    assert seat.start(setup_of(3, load_game("connect-four"))) is None
    seat.close()
    assert seat.start(setup_of(4, load_game("connect-four"))) is None
    assert [bot.seeds for bot in bots] == [[2], [], []]


@pytest.mark.parametrize(
    ("error", "termination"),
    [(ValueError(), "init_crash"), (SystemExit(1), "init_crash"), (MemoryError(), "oom")],
)
def test_a_bot_that_cannot_be_made_loses(error: BaseException, termination: str) -> None:
    fault = InProcessSeat(raising(error), name="bot", version="1").start(setup_of())
    assert fault is not None
    assert fault.termination == termination


def test_memory_may_run_out_behind_a_plugin_error() -> None:
    error = PluginError("cannot be made")
    error.__cause__ = MemoryError()
    fault = InProcessSeat(raising(error), name="bot", version="1").start(setup_of())
    assert fault is not None
    assert fault.termination == "oom"


def test_a_slow_start_loses() -> None:
    fault = InProcessSeat(
        lambda _game, _seed: Scripted(raising(ValueError())), name="bot", version="1"
    ).start(setup_of(init_s=0.0))
    assert fault is not None
    assert fault.termination == "init_timeout"


def test_it_cannot_be_asked_before_its_start() -> None:
    seat = InProcessSeat(raising(ValueError()), name="bot", version="1")
    with pytest.raises(RuntimeError, match="bot was asked"):
        seat.ask(GAME.initial_state(), 0, GameClock((CONTROL, CONTROL)))


def test_a_suspended_machine_is_no_fault_of_the_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    # The machine cannot be suspended for a test.
    monkeypatch.setattr("arena.referee.inprocess.suspended_s", time.monotonic)
    hasty = TimeControl(mode="move", move_ms=1, margin_ms=0)

    def dawdle(state: State, limit: Limit) -> PlayResult:
        del limit
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass
        return PlayResult(state.legal_actions[0])

    fault = fault_of(dawdle, hasty)
    assert fault.termination == "time_move"
    assert fault.is_stall
