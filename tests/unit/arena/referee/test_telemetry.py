"""Events that a match passes on while it is played, and its verdict if the arena was too slow."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arena_plugins
from arena.match import MatchResult, MatchSetup, play_match
from arena.referee import hosted
from arena.referee.connection import Connection
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena_plugins.manager import load_game
from wire_bots import wire_bot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.referee.seats import Answer
    from arena_plugins.thoughts import Thoughts

HOSTILE = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")
GAME = load_game("tic-tac-toe")
# Long enough for a bot on a busy machine to send what it sends in the first of them.
SHORT = TimeControl(mode="move", move_ms=600)
PATIENT = TimeControl(mode="move", move_ms=20_000)


@pytest.fixture
def good() -> Iterator[HostedSeat]:
    seat = seat_of("good")
    yield seat
    seat.close()


def seat_of(name: str) -> HostedSeat:
    return HostedSeat(
        ProcessSettings([sys.executable, "-I", "-S", HOSTILE, name, "2"]), name="bot", version="1"
    )


def play(
    name: str,
    good: HostedSeat,
    on_info: Callable[[int, Thoughts], None] | None = None,
    *,
    stalls_count: bool = False,
    init_s: float = 20.0,
) -> MatchResult:
    bot = seat_of(name)
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(SHORT, PATIENT), init_s=init_s)
    result = play_match(GAME, (bot, good), setup, on_info=on_info, stalls_count=stalls_count)
    bot.close()
    return result


def test_a_remark_is_heard_before_the_move(good: HostedSeat) -> None:
    heard: list[tuple[int, int | None]] = []
    result = play("info-then-sleep", good, lambda ply, thoughts: heard.append((ply, thoughts.depth)))

    assert heard == [(2, 1)]
    assert len(result.actions) == 2


def block(*_: object) -> None:
    time.sleep(0.7)


def test_a_late_bot_is_given_back_what_a_late_arena_took_and_no_more(good: HostedSeat) -> None:
    # The arena reads nothing for 700 ms, beginning long before the end of the bot's 600 ms; the bot never
    # answers.
    result = play("info-then-sleep", good, block)

    assert (result.outcome, result.termination, result.fault_player) == ("second", "time_move", 0)
    assert result.fault is not None
    lag_ms, given_back_ms = (float(result.fault[key] or 0) for key in ("sched_lag_ms", "given_back_ms"))
    assert lag_ms >= 690
    # Delays earlier than two margins before the deadline, at 550 ms, do not count.
    assert 100 <= given_back_ms <= lag_ms - 100
    assert 0 <= float(result.fault["overrun_ms"] or 0) - 50 - given_back_ms <= 250


def test_an_answer_that_a_late_arena_reads_late_is_in_time(good: HostedSeat) -> None:
    # The bot sends a remark and answers 50 ms later, while the arena does not read for 700 ms.
    remarks = 'send(type="info", id=id, depth=1); time.sleep(0.05)'
    bot = HostedSeat(ProcessSettings(wire_bot(remarks)), name="bot", version="1")
    # If it were charged more than its time and the margin, its clock would be over at its next move.
    clock = TimeControl.parse("0.6+0.6", None, None)
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(clock, PATIENT))
    answers: list[Answer] = []

    def keep(_ply: int, _action: int, answer: Answer) -> None:
        answers.append(answer)

    result = play_match(GAME, (bot, good), setup, on_info=block, on_move=keep)
    bot.close()

    assert (result.termination, result.fault) == ("rules", None)
    late = max(answers, key=lambda answer: answer.elapsed_s)
    assert late.elapsed_s >= 0.69
    assert answers[0].elapsed_s - answers[0].given_back_s == pytest.approx(0.65)


def test_an_answer_that_is_read_too_late_is_too_late(
    good: HostedSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_: Connection) -> float:
        return 0.0

    monkeypatch.setattr(Connection, "given_back_s", nothing)
    bot = HostedSeat(
        ProcessSettings(wire_bot('send(type="info", id=id, depth=1); time.sleep(0.1)')),
        name="bot",
        version="1",
    )
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(SHORT, PATIENT))
    result = play_match(GAME, (bot, good), setup, on_info=block)
    bot.close()

    assert (result.outcome, result.termination) == ("second", "time_move")


def test_a_stall_can_be_made_to_count(good: HostedSeat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted, "suspended_s", time.monotonic)
    result = play("sleep", good, stalls_count=True)

    assert (result.outcome, result.termination, result.fault_player) == ("second", "time_move", 0)


@pytest.mark.parametrize(
    # Only bots that never get ready have a short time for it; others may need more on a busy machine.
    ("name", "init_s", "verdict"),
    [("sleep", 20.0, "time_move"), ("never-ready", 0.5, "init_timeout")],
)
def test_a_suspended_machine_is_no_fault(
    name: str, init_s: float, verdict: str, good: HostedSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The machine cannot be suspended for a test.
    monkeypatch.setattr(hosted, "suspended_s", time.monotonic)
    result = play(name, good, init_s=init_s)

    assert result.termination == "arena_stall"
    assert result.fault is not None
    assert result.fault["verdict"] == verdict


def test_how_a_bot_ended_is_known_although_it_ends_late(good: HostedSeat) -> None:
    # The pipes of a dying process are closed before its death is reported; here a second before, as on a busy
    # machine.
    command = wire_bot("import os; os.close(1); time.sleep(1); os._exit(3)")
    bot = HostedSeat(ProcessSettings(command), name="bot", version="1")
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=(PATIENT, PATIENT))
    result = play_match(GAME, (bot, good), setup)
    bot.close()

    assert result.reason == "A crashes at ply 1: exit 3 (crash)"
    assert result.fault is not None
    assert result.fault["exit_code"] == 3
