"""Faults of a bot inside the host that loads it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from arena.match import MatchResult, MatchSetup, play_match
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena_plugins.command import host_command, host_path
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GAME = load_game("tic-tac-toe")
CONTROL = TimeControl(mode="move", move_ms=30_000)
PLUGIN = """
import os, signal, sys
from arena_plugins.contract import PlayResult
from arena_plugins.errors import OptionError
from arena_plugins.hookspecs import hookimpl
{at_import}

class Bot:
    def play(self, state, limit):
        action = state.legal_actions[0]
        {in_play}
        return PlayResult(action)

@hookimpl
def make_bot(game, seed, options):
    {in_make}
    return Bot()
"""


@pytest.fixture(scope="module")
def good() -> Iterator[HostedSeat]:
    seat = seat_of("arena_bots.random")
    yield seat
    seat.close()


def play(
    good: HostedSeat, folder: Path, in_play: str = "", in_make: str = "", at_import: str = ""
) -> MatchResult:
    (folder / "rogue.py").write_text(
        PLUGIN.format(in_play=in_play or "pass", in_make=in_make or "pass", at_import=at_import)
    )
    bad = seat_of("rogue", str(folder))
    setup = MatchSetup(id="m1", labels=("Bad", "Good"), seeds=(1, 2), controls=(CONTROL, CONTROL))
    result = play_match(GAME, (bad, good), setup)
    bad.close()
    return result


def seat_of(entry: str, *more_path: str) -> HostedSeat:
    command = host_command(
        sys.executable,
        entry=entry,
        name="bot",
        version="1",
        options={},
        games={"tic-tac-toe": "arena.games.tic_tac_toe"},
        path=[*host_path(), *more_path],
    )
    return HostedSeat(ProcessSettings(command), name="bot", version="1")


@pytest.mark.parametrize(
    ("in_play", "reason"),
    [
        ("raise RuntimeError('odd')", "forfeits at ply 1: RuntimeError: odd in rogue.py:LINE (bot_error)"),
        ("action = True", "forfeits at ply 1: the action is True, a bool (bot_error)"),
        ("action = 3.0", "forfeits at ply 1: the action is 3.0 (float), not an integer (bot_error)"),
        ("action = None", "forfeits at ply 1: the action is None (NoneType), not an integer (bot_error)"),
        ("action = 99", "makes an illegal move at ply 1: action 99 (illegal_move)"),
        ("bytearray(1 << 40)", "forfeits at ply 1: out of memory (oom)"),
        ("sys.exit(3)", "crashes at ply 1: exit 3 (crash)"),
        ("os._exit(7)", "crashes at ply 1: exit 7 (crash)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashes at ply 1: SIGSEGV (crash)"),
    ],
)
def test_a_fault_in_play(in_play: str, reason: str, tmp_path: Path, good: HostedSeat) -> None:
    result = play(good, tmp_path, in_play)
    lines = (tmp_path / "rogue.py").read_text().splitlines()
    number = next(at for at, line in enumerate(lines, 1) if line.strip() == in_play)
    expected = f"Bad {reason.replace('LINE', str(number))}"
    assert (result.reason, result.outcome, result.rated) == (expected, "second", True)


@pytest.mark.parametrize(
    ("in_make", "at_import", "termination"),
    [
        ("raise OptionError('no')", "", "init_crash"),
        ("raise ValueError('no')", "", "init_crash"),
        ("raise MemoryError", "", "oom"),
        ("", "import nowhere", "init_crash"),
        ("", "os._exit(0)", "init_crash"),
    ],
)
def test_a_fault_at_the_start(
    in_make: str, at_import: str, termination: str, tmp_path: Path, good: HostedSeat
) -> None:
    result = play(good, tmp_path, in_make=in_make, at_import=at_import)
    assert (result.termination, result.outcome, result.actions) == (termination, "second", ())


def test_printing_is_harmless(tmp_path: Path, good: HostedSeat) -> None:
    result = play(
        good, tmp_path, "print('hello'); sys.stdout.flush(); os.write(1, b'{'); os.system('echo hi')"
    )
    assert (result.termination, result.fault) == ("rules", None)
