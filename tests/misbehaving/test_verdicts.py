"""The sentence of a verdict, and its evidence."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arena_plugins
from arena.match import MatchResult, MatchSetup, play_match
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena.sandbox import launch_recipe
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.resources import Resources
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")
ST = TimeControl(mode="move", move_ms=300)
GENEROUS = TimeControl(mode="move", move_ms=20_000)
LENIENT = TimeControl(mode="move", move_ms=100, margin_ms=20_000)
GAME = load_game("connect-four")


@pytest.fixture(scope="module")
def good() -> Iterator[HostedSeat]:
    seat = hostile_seat("good")
    yield seat
    seat.close()


def hostile_seat(name: str, move: int = 2) -> HostedSeat:
    command = [sys.executable, "-I", "-S", HOSTILE, name, str(move)]
    return HostedSeat(
        ProcessSettings(command, resources=Resources(memory_bytes=96 << 20)), name="bad", version="1"
    )


def play(name: str, good: HostedSeat, control: TimeControl = GENEROUS, move: int = 2) -> MatchResult:
    seat = hostile_seat(name, move)
    setup = MatchSetup(id="m1", labels=("Bad", "Good"), seeds=(1, 2), controls=(control, GENEROUS))
    result = play_match(GAME, (seat, good), setup)
    seat.close()
    return result


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("act-99", "Bad makes an illegal move at ply 3: action 99999 (illegal_move)"),
        ("two-answers", "Bad forfeits at ply 5: it spoke out of turn (protocol_order)"),
        ("close-stdout", "Bad crashes at ply 3: it closed its output (crash)"),
        ("close-stdin", "Bad crashes at ply 5: it closed its input (crash)"),
        ("exit-0", "Bad crashes at ply 3: exit 0 (crash)"),
        ("system-exit", "Bad crashes at ply 3: exit 5 (crash)"),
        ("os-exit", "Bad crashes at ply 3: exit 7 (crash)"),
        ("segv", "Bad crashes at ply 3: SIGSEGV (crash)"),
        ("kill", "Bad crashes at ply 3: SIGKILL (crash)"),
        ("die-after-answer", "Bad crashes at ply 5: exit 4 (crash)"),
        # A child keeps the pipes open, so end-of-file never comes; the end of the process is enough.
        ("orphan", "Bad crashes at ply 3: exit 5 (crash)"),
        # Either the arena notices the excess, or the kernel ends the process first.
        ("memory-touched", "Bad forfeits at ply 3: * (oom)"),
        ("resign", "Bad resigns"),
    ],
)
def test_a_verdict_in_words(name: str, reason: str, good: HostedSeat) -> None:
    result = play(name, good)

    assert fnmatchcase(result.reason, reason)
    assert (result.outcome, result.rated) == ("second", True)


def test_a_thread_bomb(good: HostedSeat, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(needed: object, below: str) -> None:
        """Keep the arena's user for the bot, so that the kernel enforces no limit for it."""

    monkeypatch.setattr(launch_recipe, "unused_user", nobody)
    # Disable control groups as well.
    monkeypatch.setattr("arena.sandbox.process.own_subtree", lambda: None)
    result = play("thread-bomb", good)

    assert result.reason == "Bad crashes at ply 3: it has more than 128 threads and processes (crash)"


def test_a_late_bot(good: HostedSeat) -> None:
    result = play("sleep", good, ST)

    assert result.fault is not None
    assert isinstance(elapsed := result.fault["elapsed_ms"], float)
    assert result.fault["limit_ms"] == 300
    assert result.fault["overrun_ms"] == pytest.approx(elapsed - 300, abs=0.01)
    assert isinstance(result.fault["sched_lag_ms"], float)
    assert result.reason == f"Bad loses on time at ply 3: {round(elapsed - 300)} ms over (time_move)"


@pytest.mark.parametrize("name", ["late-illegal", "full-column"])
def test_legality_goes_before_the_clock(name: str, good: HostedSeat) -> None:
    result = play(name, good, LENIENT, move=0 if name == "full-column" else 2)

    assert result.termination == "illegal_move"
    assert result.fault is not None
    assert result.fault["offending"] == ("b'0'" if name == "full-column" else "b'99999'")


def test_wild_evaluations_are_dropped(good: HostedSeat) -> None:
    result = play("wild-info", good)

    thoughts = result.infos[2]
    assert thoughts is not None
    assert (thoughts.value, thoughts.policy, thoughts.visits, thoughts.pv) == (1.0, None, None, None)
    assert (thoughts.nodes, thoughts.text) == (None, "[2J")


def test_stderr_is_kept_as_evidence(good: HostedSeat) -> None:
    result = play("raise", good)

    assert result.fault is not None
    assert "RuntimeError: nobody catches this" in str(result.fault["stderr"])
    assert (result.fault["exit_code"], result.fault["bot"], result.fault["tier"]) == (1, "bad", "T1")


def test_both_fail_is_void() -> None:
    first, second = hostile_seat("crash-start"), hostile_seat("silent-start")
    # The second bot never starts; the first must crash within this time, even on a busy machine.
    setup = MatchSetup(id="m1", labels=("A", "B"), seeds=(1, 2), controls=(ST, ST), init_s=3.0)
    result = play_match(GAME, (first, second), setup)

    assert (result.outcome, result.termination, result.rated) == ("void", "init_crash", False)
    assert result.fault_player is None


def test_a_ponderer_gets_no_time() -> None:
    slow, ponderer = hostile_seat("slow", move=0), hostile_seat("ponder", move=0)
    setup = MatchSetup(id="m1", labels=("A", "B"), seeds=(1, 2), controls=(GENEROUS, GENEROUS))
    result = play_match(load_game("tic-tac-toe"), (slow, ponderer), setup)
    slow.close()
    ponderer.close()

    assert result.termination == "rules"
    # The bot waited for four moves of 50 ms each.
    assert result.idle_cpu_ms[1] is not None
    assert result.idle_cpu_ms[1] < 40
