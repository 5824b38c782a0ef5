from __future__ import annotations

import platform
import shlex
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.entrants import resolve
from arena.errors import PluginError
from arena.executor.worker_seats import MAX_WARM, WarmSeats, make_seat
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins import Spec, load_game

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.entrants import Competitor

GAME = load_game("tic-tac-toe")
SETUP = SeatSetup(match="m", game=GAME, player=0, seed=1, control=TimeControl.parse(None, 30, None))


@pytest.fixture
def seats() -> Iterator[WarmSeats]:
    seats = WarmSeats()
    yield seats
    seats.close()


def bots(*specs: str) -> list[Competitor]:
    return resolve(specs, margin_ms=50, twins=True)


def test_a_bot_keeps_its_seat(seats: WarmSeats) -> None:
    mcts, twin, other = bots("mcts", "mcts", "mcts:playouts=5")
    seat = seats.of(mcts, GAME.name, "T0")
    assert seats.of(mcts, GAME.name, "T0") is seat
    others = {id(seats.of(twin, GAME.name, "T0")), id(seats.of(other, GAME.name, "T0"))}
    others |= {id(seats.of(mcts, "gomoku", "T0")), id(seats.of(mcts, GAME.name, "T1"))}
    assert len(others | {id(seat)}) == 5


def test_the_one_that_waited_longest_goes(seats: WarmSeats) -> None:
    some = bots(*(f"mcts:playouts={number}" for number in range(1, MAX_WARM + 2)))
    made = [seats.of(bot, GAME.name, "T0") for bot in some[:MAX_WARM]]
    assert made[0].start(SETUP) is None
    assert seats.of(some[0], GAME.name, "T0") is made[0]
    seats.of(some[-1], GAME.name, "T0")
    assert seats.of(some[0], GAME.name, "T0") is made[0]
    assert seats.of(some[1], GAME.name, "T0") is not made[1]


def test_a_seat_that_goes_ends_its_bot(seats: WarmSeats) -> None:
    (bot,) = bots("random")
    seat = seats.of(bot, GAME.name, "T1")
    assert isinstance(seat, HostedSeat)
    assert seat.start(SETUP) is None
    assert seat.pid is not None
    seats.close()
    assert seat.pid is None


@pytest.mark.parametrize("tier", [Tier.T0, Tier.T1])
def test_who_is_deterministic(seats: WarmSeats, tier: Tier) -> None:
    some = bots("random", "mcts:playouts=5", "mcts:seconds=1")
    for bot in some:
        assert seats.of(bot, GAME.name, tier).start(SETUP) is None
    assert seats.deterministic() == {"random": True, "mcts:playouts=5": True, "mcts:seconds=1": False}


@pytest.mark.parametrize("procfs", ["on", "off"])
def test_proc_is_open_to_those_that_ask(procfs: str) -> None:
    tier = max(tier for tier in tiers_to_try() if tier <= Tier.T2)
    look = "try: open('/proc/self/maps')\nexcept OSError: raise SystemExit(4)\nraise SystemExit(3)"
    program = shlex.join([sys.executable, "-I", "-S", "-c", look])
    (bot,) = bots(str(Spec("exec", {"cmd": program, "procfs": procfs})))
    with closing(make_seat(bot, GAME.name, tier)) as seat:
        fault = seat.start(SETUP)
    assert fault is not None
    assert fault.detail["exit_code"] == (3 if procfs == "on" or tier is Tier.T1 else 4)


def test_what_runs_a_bot() -> None:
    """The arena's own interpreter runs plugins; the runtime of a program is asked for its version."""
    plugin, program = bots("random", str(Spec("exec", {"cmd": sys.executable})))
    assert make_seat(plugin, GAME.name, Tier.T1).runtime == f"python {platform.python_version()}"
    assert make_seat(program, GAME.name, Tier.T1).runtime == f"python {platform.python_version()}"
    assert make_seat(plugin, GAME.name, Tier.T0).runtime == ""


def test_a_bot_that_cannot_be_loaded() -> None:
    (bot,) = bots("random")
    assert isinstance(make_seat(bot, GAME.name, Tier.T0), InProcessSeat)
    with pytest.raises(PluginError, match="cannot be imported"):
        make_seat(msgspec.structs.replace(bot, entry="nowhere"), GAME.name, Tier.T0)
