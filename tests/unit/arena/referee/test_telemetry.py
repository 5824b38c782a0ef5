"""What a match passes on while it is played, and what it makes of an arena that was too slow."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arena_plugins
from arena.match import MatchResult, MatchSetup, play_match
from arena.referee import hosted
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.referee.seats import Thoughts

HOSTILE = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")
GAME = load_game("tic-tac-toe")
SHORT = TimeControl(mode="move", move_ms=200)


@pytest.fixture
def good() -> Iterator[HostedSeat]:
    seat = seat_of("good")
    yield seat
    seat.close()


def seat_of(name: str) -> HostedSeat:
    return HostedSeat([sys.executable, "-I", "-S", HOSTILE, name, "2"], name="bot", version="1")


def play(
    name: str,
    good: HostedSeat,
    on_info: Callable[[int, Thoughts], None] | None = None,
    *,
    stalls_count: bool = False,
    init_s: float = 20.0,
) -> MatchResult:
    bot, patient = seat_of(name), TimeControl(mode="move", move_ms=20_000)
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(SHORT, patient), init_s=init_s)
    result = play_match(GAME, (bot, good), setup, on_info=on_info, stalls_count=stalls_count)
    bot.close()
    return result


def test_a_remark_is_heard_before_the_move(good: HostedSeat) -> None:
    heard: list[tuple[int, int | None]] = []
    result = play("info-then-sleep", good, lambda ply, thoughts: heard.append((ply, thoughts.depth)))

    assert heard == [(2, 1)]
    assert len(result.actions) == 2


def block(*_: object) -> None:
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        pass


def test_a_late_bot_of_a_late_arena_is_not_blamed(good: HostedSeat) -> None:
    result = play("info-then-sleep", good, block)

    assert (result.outcome, result.termination, result.rated) == ("void", "arena_stall", False)
    assert result.fault is not None
    assert result.fault["verdict"] == "time_move"
    assert float(result.fault["sched_lag_ms"] or 0) >= 290
    assert float(result.fault["overrun_ms"] or 0) >= 90


def test_a_stall_can_be_made_to_count(good: HostedSeat) -> None:
    result = play("info-then-sleep", good, block, stalls_count=True)

    assert (result.outcome, result.termination, result.fault_player) == ("second", "time_move", 0)


@pytest.mark.parametrize(("name", "verdict"), [("sleep", "time_move"), ("never-ready", "init_timeout")])
def test_a_suspended_machine_is_no_fault(
    name: str, verdict: str, good: HostedSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Suspending the machine for a test is out of the question.
    monkeypatch.setattr(hosted, "suspended_s", time.monotonic)
    result = play(name, good, init_s=0.5)

    assert result.termination == "arena_stall"
    assert result.fault is not None
    assert result.fault["verdict"] == verdict
