"""A bot that evades its pause and computes while its opponent thinks forfeits in T2 and T3."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

import arena_plugins
from arena.match import MatchResult, MatchSetup, play_match
from arena.referee import hosted
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.pause import Pause
from arena.referee.seats import Forfeit, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.tier import Tier, tiers_to_try
from arena.sandbox.tier_grades import grade
from arena_plugins.contract import Limit, PlayResult, State
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.referee.seats import Seat
    from arena.sandbox.limits.cgroup import Leaf

GRANTED = sorted(tier for tier in tiers_to_try() if tier is not Tier.T0 and grade(tier).is_granted)
HOSTILE = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")
GAME = load_game("tic-tac-toe")
CONTROL = TimeControl(mode="move", move_ms=600_000)
USED_S = 0.3
"""Seconds of idle CPU time that a bot uses: three times the tolerance."""


@pytest.fixture(autouse=True)
def unstopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the pause, so that a bot can really compute while it should be stopped."""

    def measure_only(pid: int, *, is_allowed: bool, leaf: Leaf | None = None) -> Pause:
        del is_allowed
        return Pause(pid, is_allowed=False, leaf=leaf)

    monkeypatch.setattr(hosted, "Pause", measure_only)


class Patient:
    """Waits at its second move until the other bot has computed, then answers."""

    def __init__(self, other: HostedSeat, answer: Callable[[State], PlayResult]) -> None:
        self._other = other
        self._answer = answer

    def play(self, state: State, limit: Limit) -> PlayResult:
        del limit
        if len(state.history) < 2:
            return first_legal(state)
        wait_until_computed(self._other)
        return self._answer(state)


def first_legal(state: State) -> PlayResult:
    return PlayResult(state.legal_actions[0])


def wait_until_computed(*seats: HostedSeat) -> None:
    for seat in seats:
        until = seat.cpu_s + USED_S
        while seat.cpu_s < until:
            time.sleep(0.005)


def ponderer(tier: Tier, *, ponders: bool = False) -> HostedSeat:
    command = [sys.executable, "-I", "-S", "-B", HOSTILE, "ponder", "0"]
    seat = HostedSeat(ProcessSettings(command, tier), name="bad", version="1")
    seat.ponders = ponders
    return seat


def patient(other: HostedSeat, answer: Callable[[State], PlayResult] = first_legal) -> InProcessSeat:
    return InProcessSeat(lambda _game, _seed: Patient(other, answer), name="good", version="1")


def play(first: Seat, second: Seat, on_move: Callable[..., None] | None = None) -> MatchResult:
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(CONTROL, CONTROL))
    return play_match(GAME, (first, second), setup, on_move=on_move)


@pytest.mark.parametrize("tier", GRANTED)
def test_it_forfeits_when_it_is_to_move(tier: Tier) -> None:
    with closing(ponderer(tier)) as bad:
        result = play(patient(bad), bad)
    assert result.idle_cpu_ms[0] is None
    assert cast("float", result.idle_cpu_ms[1]) >= 1000 * USED_S
    assert (result.limits, result.runtimes) == ("polled", ("", ""))
    if tier is Tier.T1:
        assert (result.outcome, result.termination, result.fault) == ("first", "rules", None)
        return
    assert (result.outcome, result.termination, result.rated) == ("first", "pondering", True)
    assert result.fault_player == 1
    assert result.reason.startswith("B forfeits at ply 4: it used ")
    # The first wait was short; after the second the bot gets no further request.
    assert len(result.actions) == 3
    fault = cast("dict[str, object]", result.fault)
    assert fault["idle_cpu_ms"] == result.idle_cpu_ms[1]
    assert "ms of CPU while it had to wait" in str(fault["cause"])


@pytest.mark.parametrize("tier", GRANTED)
@pytest.mark.parametrize(
    ("answer", "otherwise"),
    [
        pytest.param(PlayResult(0, resign=True), "resign", id="resign"),
        pytest.param(PlayResult(99), "illegal_move", id="fault"),
    ],
)
def test_it_forfeits_though_the_match_ended_while_it_waited(
    tier: Tier, answer: PlayResult, otherwise: str
) -> None:
    with closing(ponderer(tier)) as bad:
        result = play(patient(bad, lambda _: answer), bad)
    expected = ("second", otherwise) if tier is Tier.T1 else ("first", "pondering")
    assert (result.outcome, result.termination) == expected
    assert cast("float", result.idle_cpu_ms[1]) >= 1000 * USED_S


@pytest.mark.parametrize("tier", GRANTED)
def test_two_of_them_have_a_void_match(tier: Tier) -> None:
    with closing(ponderer(tier)) as one, closing(ponderer(tier)) as other:

        def wait(ply: int, *_: object) -> None:
            if ply == 1:
                wait_until_computed(one, other)

        result = play(one, other, wait)
    if tier is Tier.T1:
        assert result.termination == "rules"
        return
    assert (result.outcome, result.termination, result.rated) == ("void", "pondering", False)
    assert (result.fault_player, len(result.actions)) == (None, 2)


@pytest.mark.parametrize("tier", GRANTED)
def test_one_that_may_ponder_is_not_judged(tier: Tier) -> None:
    with closing(ponderer(tier, ponders=True)) as bad:
        result = play(patient(bad), bad)
    assert (result.termination, cast("float", result.idle_cpu_ms[1]) >= 1000 * USED_S) == ("rules", True)


@pytest.mark.parametrize("tier", GRANTED)
def test_each_match_is_judged_by_itself(tier: Tier) -> None:
    with closing(ponderer(tier)) as bad:
        start(bad)
        ask(bad)
        wait_until_computed(bad)
        # The opponent's thinking time raises the tolerance.
        assert bad.check_idle(1e6) is None
        used_s = bad.cpu_s
        start(bad)
        assert bad.check_idle(1e6) is None
        # CPU time of the previous match does not count, even if the bot computes until this process looks.
        assert cast("float", bad.idle_cpu_s) <= bad.cpu_s - used_s + 0.01
        wait_until_computed(bad)
        fault = bad.check_idle(0.0)
        assert (fault is None) == (tier is Tier.T1)
        assert (bad.pid is None) == (tier is not Tier.T1)
        if isinstance(fault, Forfeit):
            assert fault.termination == "pondering"
            assert bad.check_idle(0.0) is None


@pytest.mark.parametrize("tier", GRANTED)
def test_only_what_the_opponent_thought_counts_in_its_favour(tier: Tier) -> None:
    with closing(ponderer(tier)) as bad:
        start(bad)
        ask(bad)
        wait_until_computed(bad)
        ask(bad, (0.0, 1e6))
        wait_until_computed(bad)
        answer = bad.ask(GAME.initial_state(), 0, clock_of(1e6, 0.0))
    assert isinstance(answer, Forfeit) == (tier is not Tier.T1)


def start(seat: HostedSeat) -> None:
    assert seat.start(SeatSetup(match="m", game=GAME, player=0, seed=1, control=CONTROL)) is None


def ask(seat: HostedSeat, thought_s: tuple[float, float] = (0.0, 0.0)) -> None:
    assert not isinstance(seat.ask(GAME.initial_state(), 0, clock_of(*thought_s)), Forfeit)


def clock_of(*thought_s: float) -> GameClock:
    clock = GameClock((CONTROL, CONTROL))
    for player, seconds in enumerate(thought_s):
        clock.charge(player, seconds)
    return clock
