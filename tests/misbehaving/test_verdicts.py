"""Every way to misbehave gets its exact termination, in time, and leaves nothing behind."""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.match import MatchResult, MatchSetup, play_match
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena.sandbox.resources import Resources
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = str(Path(__file__).with_name("hostile.py"))
SLACK_S = 2.0
"""The demand is 0.25 s; a shared machine gets more here."""
ST = TimeControl(mode="move", move_ms=300)
GENEROUS = TimeControl(mode="move", move_ms=20_000)
LENIENT = TimeControl(mode="move", move_ms=100, margin_ms=20_000)

GAME = load_game("connect-four")
FAULTS = [
    ("act-99", "illegal_move", "Bad makes an illegal move"),
    ("act-minus-1", "illegal_move", "Bad makes an illegal move"),
    ("act-2-to-63", "illegal_move", "Bad makes an illegal move"),
    ("act-10-to-5000", "malformed", "Bad forfeits (malformed)"),
    ("two-answers", "protocol_order", "Bad forfeits (protocol_order)"),
    ("answer-before-go", "protocol_order", "Bad forfeits (protocol_order)"),
    ("wrong-id", "protocol_order", "Bad forfeits (protocol_order)"),
    ("info-wrong-id", "protocol_order", "Bad forfeits (protocol_order)"),
    ("pong", "protocol_order", "Bad forfeits (protocol_order)"),
    ("info-flood", "output_flood", "Bad forfeits (output_flood)"),
    ("empty-flood", "output_flood", "Bad forfeits (output_flood)"),
    ("endless-line", "oversize_line", "Bad forfeits (oversize_line)"),
    ("long-line", "oversize_line", "Bad forfeits (oversize_line)"),
    ("close-stdout", "crash", "Bad crashes (it closed its output)"),
    ("close-stdin", "crash", "Bad crashes (it closed its input)"),
    ("exit-0", "crash", "Bad crashes (exit 0)"),
    ("exit-3", "crash", "Bad crashes (exit 3)"),
    ("os-exit", "crash", "Bad crashes (exit 7)"),
    ("segv", "crash", "Bad crashes (SIGSEGV)"),
    ("abrt", "crash", "Bad crashes (SIGABRT)"),
    ("kill", "crash", "Bad crashes (SIGKILL)"),
    ("raise", "crash", "Bad crashes (exit 1)"),
    ("dead-while-waiting", "crash", "Bad crashes (exit 4)"),
    ("error", "bot_error", "Bad forfeits (bot_error)"),
    ("oom", "oom", "Bad forfeits (oom)"),
    ("memory", "oom", "Bad forfeits (oom)"),
    ("bad-utf8", "malformed", "Bad forfeits (malformed)"),
    ("bom", "malformed", "Bad forfeits (malformed)"),
    ("nan", "malformed", "Bad forfeits (malformed)"),
    ("duplicate-keys", "malformed", "Bad forfeits (malformed)"),
    ("nesting", "malformed", "Bad forfeits (malformed)"),
    ("array", "malformed", "Bad forfeits (malformed)"),
    ("true", "malformed", "Bad forfeits (malformed)"),
    ("float", "malformed", "Bad forfeits (malformed)"),
    ("string", "malformed", "Bad forfeits (malformed)"),
    ("null", "malformed", "Bad forfeits (malformed)"),
    ("trailing-junk", "malformed", "Bad forfeits (malformed)"),
    ("noise", "malformed", "Bad forfeits (malformed)"),
    ("no-common-protocol", "no_common_protocol", "Bad forfeits (no_common_protocol)"),
    ("wrong-nonce", "protocol_order", "Bad forfeits (protocol_order)"),
    ("ready-start", "protocol_order", "Bad forfeits (protocol_order)"),
    ("wrong-ready", "protocol_order", "Bad forfeits (protocol_order)"),
    ("pong-ready", "protocol_order", "Bad forfeits (protocol_order)"),
    ("crash-start", "init_crash", "Bad forfeits (init_crash)"),
    ("crash-ready", "init_crash", "Bad forfeits (init_crash)"),
    ("error-start", "init_crash", "Bad forfeits (init_crash)"),
    ("resign", "resign", "Bad resigns"),
]
"""Mode, termination, reason."""
TOO_LATE = ["late", "sleep", "busy", "drip", "drip-lines", "stop-self", "never-reads", "ignore-sigterm"]
HARMLESS = ["good", "late-within-margin", "harmless-lines", "crlf", "stderr-flood", "wild-info"]


@pytest.fixture(scope="module")
def good() -> Iterator[HostedSeat]:
    """Stay warm over all matches: one bot's fault is nothing to another."""
    seat = hostile_seat("good", 0, "good")
    yield seat
    seat.close()


def hostile_seat(mode: str, move: int, token: str) -> HostedSeat:
    command = [sys.executable, "-I", "-S", HOSTILE, mode, str(move), token]
    return HostedSeat(command, name="bad", version="1", resources=Resources(memory_bytes=96 << 20))


def play(
    mode: str, good: HostedSeat, control: TimeControl, move: int = 2, init_s: float = 20.0
) -> MatchResult:
    token = uuid.uuid4().hex
    seat = hostile_seat(mode, move, token)
    setup = MatchSetup(
        id="m1", labels=("Bad", "Good"), seeds=(1, 2), controls=(control, GENEROUS), init_s=init_s
    )
    result = play_match(GAME, (seat, good), setup)
    assert result.termination != "arena_error", result.fault
    seat.close()
    assert_gone(token)
    return result


def assert_gone(token: str) -> None:
    """See that no process has the token among its arguments; what was killed may take a moment to go."""
    deadline = time.monotonic() + 5.0
    while left := [path for path in Path("/proc").glob("[0-9]*") if token in arguments(path)]:
        assert time.monotonic() < deadline, f"processes are left: {left}"


def arguments(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize(("mode", "termination", "reason"), FAULTS, ids=[mode for mode, _, _ in FAULTS])
def test_fault_has_its_termination(mode: str, termination: str, reason: str, good: HostedSeat) -> None:
    result = play(mode, good, GENEROUS)

    assert (result.termination, result.reason, result.outcome) == (termination, reason, "second")
    assert result.rated
    if termination != "resign":
        assert result.fault_player == 0
        assert result.fault is not None
        assert (result.fault["bot"], result.fault["tier"]) == ("bad", "T1")


@pytest.mark.parametrize("mode", TOO_LATE)
def test_late_bot_loses_at_its_deadline(mode: str, good: HostedSeat) -> None:
    result = play(mode, good, ST)

    assert (result.termination, result.outcome) == ("time_move", "second")
    assert result.fault is not None
    assert result.fault["limit_ms"] == 300
    assert isinstance(elapsed := result.fault["elapsed_ms"], float)
    assert 350 <= elapsed < 350 + SLACK_S * 1000
    assert result.reason == f"Bad loses on time ({round(elapsed - 300)} ms over)"


@pytest.mark.parametrize("mode", ["silent-start", "never-ready"])
def test_bot_that_does_not_get_ready_loses(mode: str, good: HostedSeat) -> None:
    result = play(mode, good, GENEROUS, init_s=0.5)

    assert (result.termination, result.outcome, result.actions) == ("init_timeout", "second", ())
    assert result.fault is not None
    assert result.fault["limit_ms"] == 500


@pytest.mark.parametrize("mode", HARMLESS)
def test_harmless_bot_plays_on(mode: str, good: HostedSeat) -> None:
    result = play(mode, good, LENIENT if mode == "late-within-margin" else GENEROUS)

    assert (result.termination, result.fault) == ("rules", None)


def test_full_column_is_illegal(good: HostedSeat) -> None:
    result = play("column-0", good, GENEROUS, move=0)

    assert (result.termination, result.actions) == ("illegal_move", (0,) * 6)
    assert result.fault is not None
    assert result.fault["offending"] == "b'0'"


def test_legality_goes_before_the_clock(good: HostedSeat) -> None:
    result = play("late-illegal", good, LENIENT)

    assert result.termination == "illegal_move"


def test_children_die_with_their_bot(good: HostedSeat) -> None:
    result = play("orphan", good, ST)

    # The child keeps the pipes open, so there is no end of output; the end of the process is enough.
    assert (result.reason, result.outcome) == ("Bad crashes (exit 5)", "second")


def test_wild_evaluations_are_dropped(good: HostedSeat) -> None:
    result = play("wild-info", good, GENEROUS)

    thoughts = result.infos[2]
    assert thoughts is not None
    assert (thoughts.value, thoughts.policy, thoughts.visits, thoughts.pv, thoughts.nodes) == (
        1.0,
        *[None] * 4,
    )
    assert (thoughts.text, thoughts.num_dropped) == ("[2J", 4)


def test_stderr_is_kept_as_evidence(good: HostedSeat) -> None:
    result = play("raise", good, GENEROUS)

    assert result.fault is not None
    assert "RuntimeError: nobody catches this" in str(result.fault["stderr"])
    assert result.fault["exit_code"] == 1


def test_both_fail_is_void() -> None:
    first, second = hostile_seat("crash-start", 1, "void"), hostile_seat("silent-start", 1, "void")
    setup = MatchSetup(id="m1", labels=("A", "B"), seeds=(1, 2), controls=(ST, ST), init_s=0.5)
    result = play_match(GAME, (first, second), setup)

    assert (result.outcome, result.termination, result.rated) == ("void", "init_crash", False)
    assert result.fault_player is None


def num_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_leaks_over_fifty_matches() -> None:
    game = load_game("tic-tac-toe")
    warm, faulty = hostile_seat("good", 0, "warm"), hostile_seat("exit-3", 1, "faulty")
    setup = MatchSetup(id="m1", labels=("A", "B"), seeds=(1, 2), controls=(GENEROUS, GENEROUS))
    before, counts = num_descriptors(), list[int]()
    for _ in range(50):
        assert play_match(game, (warm, faulty), setup).termination == "crash"
        counts.append(num_descriptors())
    warm.close()
    faulty.close()
    assert len(set(counts)) == 1
    assert num_descriptors() == before
