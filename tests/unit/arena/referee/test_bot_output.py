"""Output of a bot in a match is stored with its ply, and bounded."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.referee.bot_output import BotOutput, Capture
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.seats import Answer, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena_plugins.command import host_command, host_path
from arena_plugins.contract import Outcome, Termination
from arena_plugins.manager import load_game

if TYPE_CHECKING:
    from pathlib import Path

GAME = load_game("connect-four")
CONTROL = TimeControl.parse(None, 20, None)


def test_a_line_belongs_to_the_ply_in_which_it_began() -> None:
    output = BotOutput()
    output.add(b"start\n")
    output.ply = 1
    output.add(b"one\nlong ")
    output.ply = 3
    output.add(b"line ")
    output.ply = 5
    output.add(b"ends\r\n\nlast")
    assert output.lines() == [(0, "start"), (1, "one"), (1, "long line ends"), (5, ""), (5, "last")]
    output.begin()
    assert (output.lines(), output.ply, output.num_dropped) == ([], 0, 0)


@given(st.lists(st.binary(max_size=30)), st.integers(0, 100))
def test_the_first_bytes_are_kept_and_the_rest_is_counted(chunks: list[bytes], room: int) -> None:
    output = BotOutput(room)
    for ply, chunk in enumerate(chunks):
        output.ply = ply
        output.add(chunk)
    whole = b"".join(chunks)
    kept = whole[:room]
    assert output.num_dropped == len(whole) - len(kept)
    expected = [line.decode("utf-8", "replace").removesuffix("\r") for line in kept.split(b"\n")]
    assert [text for _, text in output.lines()] == (expected if expected[-1] else expected[:-1])


def test_what_a_bot_of_this_process_prints_is_caught_and_what_the_arena_prints_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = BotOutput()

    def arena() -> bool:
        sys.stdout.write("from the arena\n")
        return True

    def fail() -> bool:
        raise KeyError

    with Capture(lambda: output) as capture:
        sys.stderr.write("from the bot\n")
        assert capture.outside(arena)()
        with pytest.raises(KeyError):
            capture.outside(fail)()
        assert sys.stdout.write("\ud800é") == 2
    assert output.lines() == [(0, "from the bot"), (0, "?é")]
    assert capsys.readouterr() == ("from the arena\n", "")


LATE = """
import threading
from arena_plugins import PlayResult, hookimpl

class Bot:
    def play(self, state, limit):
        threading.Timer(0.02, print, ["after its answer"]).start()
        return PlayResult(3)

@hookimpl
def make_bot(game, seed, options):
    return Bot()
"""


def test_what_it_prints_after_its_last_answer_is_read_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "late_printer.py").write_text(LATE)
    games = {"connect-four": "arena.games.connect_four"}
    command = host_command(
        sys.executable,
        entry="late_printer",
        name="bot",
        version="1",
        options={},
        games=games,
        path=[*host_path(), str(tmp_path)],
    )
    seat = HostedSeat(ProcessSettings(command), name="bot", version="1")
    seat.ponders = True
    try:
        assert seat.start(SeatSetup(match="m", game=GAME, player=0, seed=1, control=CONTROL)) is None
        assert isinstance(seat.ask(GAME.initial_state(), 0, GameClock((CONTROL, CONTROL))), Answer)
        deadline = time.monotonic() + 20
        while not seat.wire.output.lines() and time.monotonic() < deadline:
            seat.finish(Outcome.FIRST, Termination.RULES)
            time.sleep(0.02)
        assert seat.wire.output.lines() == [(1, "after its answer")]
    finally:
        seat.close()
