"""Measures what a hosted move costs the referee: its own CPU, beyond what the bots' processes use."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from arena.match import MatchSetup, play_match
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena_plugins import load_game
from arena_plugins.command import host_command, host_path
from arena_plugins.wire import Action, decode_bot, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_plugins import Game

CONTROL = TimeControl.parse(None, 20, None)


class Cost(NamedTuple):
    """Microseconds per hosted move."""

    referee_cpu: float
    wall: float


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="connect-four")
    parser.add_argument("--rounds", type=int, default=7, help="medians are taken over these")
    parser.add_argument("--matches", type=int, default=40, help="of one round")
    chosen = parser.parse_args()
    pin()
    game = load_game(chosen.game)
    with closing(seat(game)) as first, closing(seat(game)) as second:
        play(game, (first, second), 5)
        costs = [play(game, (first, second), chosen.matches) for _ in range(chosen.rounds)]
    line = encode(Action(id="5d1e0b77c2a94f13", action=3))[:-1]
    figures = {
        "benchmark": "referee_cost",
        "game": game.name,
        "referee_cpu_us_per_move": round(statistics.median(cost.referee_cpu for cost in costs), 2),
        "wall_us_per_move": round(statistics.median(cost.wall for cost in costs), 2),
        "decode_us": round(microseconds(lambda: decode_bot(line)), 2),
    }
    print(json.dumps(figures))


def pin() -> None:
    """Keep referee and bots on one core: they alternate anyway, and a hand-over inside a core is cheaper."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def seat(game: Game) -> HostedSeat:
    """Give a seat with the cheapest bot there is."""
    command = host_command(
        sys.executable,
        entry="arena_bots.random",
        name="random",
        version="1",
        options={},
        games={game.name: f"arena.games.{game.name.replace('-', '_')}"},
        path=host_path(),
    )
    return HostedSeat(command, name="random", version="1")


def play(game: Game, seats: tuple[HostedSeat, HostedSeat], num_matches: int) -> Cost:
    """Play matches with warm bots."""
    num_moves, cpu, wall = 0, time.process_time(), time.monotonic()
    for number in range(num_matches):
        setup = MatchSetup(
            id=str(number), labels=("A", "B"), seeds=(2 * number, 2 * number + 1), controls=(CONTROL, CONTROL)
        )
        result = play_match(game, seats, setup)
        if result.fault is not None:
            raise SystemExit(f"{result.reason}: {result.fault}")
        num_moves += len(result.actions)
    scale = 1e6 / num_moves
    return Cost((time.process_time() - cpu) * scale, (time.monotonic() - wall) * scale)


def microseconds(call: Callable[[], object], times: int = 20_000) -> float:
    """Give what one call costs, in microseconds of CPU."""
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) * 1e6 / times


if __name__ == "__main__":
    main()
