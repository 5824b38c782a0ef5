"""Measures the cost of hosted play: CPU time of a move by tier, and elapsed time of whole tournaments."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import NamedTuple

from arena.entrants import resolve
from arena.executor.worker_seats import make_seat
from arena.match import MatchSetup, play_match
from arena.referee.hosted import HostedSeat
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.readable import python_readable
from arena.sandbox.tier import Tier, tiers_to_try
from arena.sandbox.tier_grades import grade
from arena_plugins import Game, load_game
from arena_plugins.command import host_command, host_path
from arena_plugins.entries import GAMES, find

CONTROL = TimeControl.parse(None, 20, None)
BOTS = Path(__file__).parent / "bots"
ENTRIES = {"quick": "quick_bot"}
"""Folder with the bots of the benchmarks."""
CHEAPEST = (*ENTRIES, "random")
"""The cheapest bots: one reports only its action, the other also a policy."""


class Cost(NamedTuple):
    """Microseconds per hosted move."""

    referee_cpu: float
    bot_cpu: float
    wall: float


class Spent(NamedTuple):
    """Seconds that a command took."""

    wall_s: float
    cpu_s: float


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="gomoku:size=6,k=4")
    parser.add_argument("--rounds", type=int, default=40, help="number of rounds; the result is the median")
    parser.add_argument("--matches", type=int, default=5, help="matches of one round")
    parser.add_argument(
        "--duel", type=int, default=4000, help="matches of each duel whose elapsed time is measured"
    )
    parser.add_argument("--bots", nargs="+", default=CHEAPEST, choices=CHEAPEST, metavar="BOT")
    chosen = parser.parse_args()
    tiers = [tier for tier in sorted(tiers_to_try()) if tier > Tier.T0 and grade(tier).is_granted]
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder))
        duels = {bot: duel(bot, chosen.game, chosen.duel, Path(folder)) for bot in chosen.bots}
        first_s = first_stored_s(chosen.game, Path(folder))
    settle()
    costs = {bot: move_costs(bot, load_game(chosen.game), tiers, chosen) for bot in chosen.bots}
    figures = {
        "benchmark": "referee_cost",
        "game": chosen.game,
        "cores": os.cpu_count(),
        "move_us": {
            bot: {tier.value: cost._asdict() for tier, cost in by_tier.items()}
            for bot, by_tier in costs.items()
        },
        "duel": duels,
        "first_stored_match_s": first_s,
    }
    print(json.dumps(figures))


def settle() -> None:
    """Keep referee and bots on one core, as a worker does."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def move_costs(bot: str, game: Game, tiers: list[Tier], chosen: argparse.Namespace) -> dict[Tier, Cost]:
    """Return the median of each cost by tier; tiers alternate, so other load affects all of them."""
    with ExitStack() as stack:
        seats = {
            tier: (
                stack.enter_context(closing(seat(bot, game, tier))),
                stack.enter_context(closing(seat(bot, game, tier))),
            )
            for tier in tiers
        }
        found: dict[Tier, list[Cost]] = {tier: [] for tier in tiers}
        for tier in tiers:
            play(game, seats[tier], 5)
        for _ in range(chosen.rounds):
            for tier in tiers:
                found[tier].append(play(game, seats[tier], chosen.matches))
    return {tier: median(costs) for tier, costs in found.items()}


def median(costs: list[Cost]) -> Cost:
    return Cost(*(round(statistics.median(values), 1) for values in zip(*costs, strict=True)))


def seat(bot: str, game: Game, tier: Tier) -> HostedSeat:
    if bot not in ENTRIES:
        made = make_seat(resolve([bot], margin_ms=50)[0], game.name, tier)
        if not isinstance(made, HostedSeat):
            raise TypeError(f"tier {tier} has no processes")
        return made
    command = host_command(
        sys.executable,
        entry=ENTRIES[bot],
        name=bot,
        version="1",
        options={},
        games={game.name: find(GAMES, game.name).value},
        path=[*host_path(), str(BOTS)],
    )
    readable = python_readable(tuple(host_path())).with_files([str(BOTS)])
    return HostedSeat(ProcessSettings(command, tier=tier, readable=readable), name=bot, version="1")


def play(game: Game, seats: tuple[HostedSeat, HostedSeat], num_matches: int) -> Cost:
    """Play matches with warm bots."""
    num_moves, cpu, bots, wall = 0, time.process_time(), bot_cpu_s(seats), time.monotonic()
    for number in range(num_matches):
        setup = MatchSetup(
            id=str(number), labels=("A", "B"), seeds=(2 * number, 2 * number + 1), controls=(CONTROL, CONTROL)
        )
        result = play_match(game, seats, setup)
        if result.fault is not None:
            raise SystemExit(f"{result.reason}: {result.fault}")
        num_moves += len(result.actions)
    scale = 1e6 / num_moves
    spent = (time.process_time() - cpu, bot_cpu_s(seats) - bots, time.monotonic() - wall)
    return Cost(*(seconds * scale for seconds in spent))


def bot_cpu_s(seats: tuple[HostedSeat, HostedSeat]) -> float:
    return sum(seat.cpu_s for seat in seats)


def install(folder: Path) -> None:
    """Make `quick` discoverable, as an installed distribution would be."""
    info = folder / "quick_bot-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quick-bot\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[arena.bots]\nquick = quick_bot\n")


def duel(bot: str, game: str, num_matches: int, folder: Path) -> dict[str, float]:
    """Play a bot against itself in T2 with two workers; return stored matches per second and the CPU time."""
    few = 4
    start, whole = (timed(bot, game, num, folder) for num in (few, num_matches))
    num_more = num_matches - few
    return {
        "matches": num_matches,
        "per_s": round(num_matches / whole.wall_s),
        "per_s_after_start": round(num_more / (whole.wall_s - start.wall_s)),
        "cpu_us_per_match": round(1e6 * (whole.cpu_s - start.cpu_s) / num_more),
        "start_cpu_s": round(start.cpu_s, 2),
    }


def timed(bot: str, game: str, num_matches: int, folder: Path) -> Spent:
    """Time a duel from the command to its end; the CPU time is that of all its processes."""
    began, cpu = time.monotonic(), os.times()
    with arena(bot, game, num_matches, folder, "--quiet") as process:
        process.communicate()
        if process.returncode:
            raise SystemExit(f"a duel of {bot} ended with {process.returncode}")
    now = os.times()
    cpu_s = now.children_user - cpu.children_user + now.children_system - cpu.children_system
    return Spent(time.monotonic() - began, cpu_s)


def first_stored_s(game: str, folder: Path) -> float:
    """Return the seconds from the command to its first line on a match, which is stored by then."""
    began = time.monotonic()
    with arena("random", game, 100, folder) as process:
        if process.stdout is None:
            raise SystemExit("a process without an output")
        next(line for line in process.stdout if line.startswith("Finished game"))
        seconds = time.monotonic() - began
        process.communicate()
    return round(seconds, 2)


def arena(bot: str, game: str, num_matches: int, folder: Path, *more: str) -> subprocess.Popen[str]:
    store = folder / f"{bot}-{num_matches}{''.join(more)}.db"
    options = ["--concurrency", "2", "--force-concurrency", "--isolation", "T2", "--db", str(store), *more]
    path = os.pathsep.join([str(folder), str(BOTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(  # noqa: S603 - our own command
        [
            *(sys.executable, "-m", "arena", "match", bot, bot, "--game", game),
            *("--rounds", str(num_matches // 2), *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


if __name__ == "__main__":
    main()
