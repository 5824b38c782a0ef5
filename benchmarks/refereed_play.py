"""Measures refereed play in process, in matches of random bots per second of CPU, beside other frameworks.

python benchmarks/refereed_play.py --peers --peer-python /path/to/a/python/with/pettingzoo
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from random import random
from typing import TYPE_CHECKING

from arena.match import play_matches
from arena.referee.timecontrol import TimeControl
from arena_plugins import PlayResult, load_game

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena_plugins import Bot, Game, Limit, State

    Play = Callable[[int], float]

GAMES = ("connect-four", "tic-tac-toe")
PEERS = Path(__file__).parent / "peers" / "random_play.py"
CHUNK_S = 0.1
"""CPU seconds of one measurement. Short ones alternate often, so other load affects all contestants alike."""
CONTROL = TimeControl.parse(None, 20, None)
READY = tuple(map(PlayResult, range(9)))
"""One prepared answer for each action."""


class ReadyBot:
    """The cheapest possible bot: draws an action and returns an answer made in advance."""

    def new_match(self, seed: int) -> None:
        """Do nothing: the random numbers need not be repeatable here."""

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose an action."""
        del limit
        legal = state.legal_actions
        return READY[legal[int(random() * len(legal))]]  # noqa: S311 - play needs no secrets


class FreshBot(ReadyBot):
    """Makes an answer for every move, like most bots."""

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose an action."""
        del limit
        legal = state.legal_actions
        return PlayResult(legal[int(random() * len(legal))])  # noqa: S311 - play needs no secrets


class TellingBot(ReadyBot):
    """Also reports its expected result, which the referee then checks."""

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Choose an action."""
        del limit
        legal = state.legal_actions
        return PlayResult(legal[int(random() * len(legal))], value=0.0)  # noqa: S311 - play needs no secrets


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="number of rounds; the result is the median")
    parser.add_argument("--peers", action="store_true", help="measure other frameworks between our rounds")
    parser.add_argument(
        "--peer-python", action="append", default=[], help="another interpreter that has some of them"
    )
    chosen = parser.parse_args()
    pin()
    with ExitStack() as stack:
        pythons = (sys.executable, *chosen.peer_python) if chosen.peers else ()
        peers = [Peers(python, stack) for python in pythons]
        figures = {game: measure(own_plays(game), peers_plays(peers, game), chosen.rounds) for game in GAMES}
    print(json.dumps({"benchmark": "refereed_play", "rounds": chosen.rounds, "games": figures}))


def pin() -> None:
    """Keep the process on one core, because cores differ in speed."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def own_plays(game_name: str) -> dict[str, Play]:
    """Return our contestants by name: each takes a number of matches and returns seconds of CPU."""
    game = load_game(game_name)

    def timed(play: Callable[[Game, int], None]) -> Play:
        def run(num_matches: int) -> float:
            began = time.process_time()
            play(game, num_matches)
            return time.process_time() - began

        return run

    return {
        "rules_alone": timed(play_rules),
        "refereed": timed(partial(referee, ReadyBot())),
        "refereed_fresh_answers": timed(partial(referee, FreshBot())),
        "refereed_with_values": timed(partial(referee, TellingBot())),
    }


def referee(bot: Bot, game: Game, num_matches: int) -> None:
    """Play matches exactly as the arena does in process."""
    for result in play_matches(game, (bot, bot), num_matches, control=CONTROL):
        if result.fault is not None:
            raise SystemExit(f"{result.reason}: {result.fault}")


def play_rules(game: Game, num_matches: int) -> None:
    """Play without bots, referee and clock."""
    for _ in range(num_matches):
        state = game.initial_state()
        while not state.is_terminal:
            legal = state.legal_actions
            state = state.child(legal[int(random() * len(legal))])  # noqa: S311 - play needs no secrets


class Peers:
    """The frameworks that one interpreter has, in a process of their own."""

    def __init__(self, python: str, stack: ExitStack) -> None:
        """Start the process; closing `stack` ends it."""
        self._process = stack.enter_context(
            subprocess.Popen(  # noqa: S603 - an interpreter the user names
                [python, str(PEERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        stack.callback(self._process.terminate)
        self.games: dict[str, list[str]] = json.loads(self._answer())

    def play(self, name: str, game: str, num_matches: int) -> float:
        """Return the seconds of CPU that some matches take."""
        print(name, game, num_matches, file=self._process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> str:
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{PEERS} failed, see above")
        return line


def peers_plays(peers: Sequence[Peers], game: str) -> dict[str, Play]:
    """Return how the peers play `game`; if two interpreters have a framework, the first one's counts."""
    return {
        name: partial(one.play, name, game)
        for one in reversed(peers)
        for name, games in one.games.items()
        if game in games
    }


def measure(own: dict[str, Play], others: dict[str, Play], num_rounds: int) -> dict[str, object]:
    """Run all contestants in turn, round after round.

    Returns:
        Matches per second of CPU, the median of the rounds; and our speed relative to each peer, as
        [median, 10th, 90th percentile] of the quotients within a round.
    """
    plays = own | others
    sizes = {name: chunk(play) for name, play in plays.items()}
    rates: dict[str, list[float]] = {name: [] for name in plays}
    for _ in range(num_rounds):
        for name, play in plays.items():
            rates[name].append(sizes[name] / play(sizes[name]))
    return {
        "matches_per_cpu_s": {name: round(statistics.median(rate)) for name, rate in rates.items()},
        "times_as_fast_as": {
            peer: {name: spread(rates[name], rates[peer]) for name in own} for peer in others
        },
    }


def chunk(play: Play) -> int:
    """Return the number of matches that take about `CHUNK_S`."""
    play(1)  # load what the first match loads
    num_matches = 1
    while (seconds := play(num_matches)) < CHUNK_S / 4:
        num_matches *= 4
    return max(1, round(num_matches * CHUNK_S / seconds))


def spread(ours: list[float], theirs: list[float]) -> list[float]:
    """Return median, 10th and 90th percentile of the quotients."""
    quotients = sorted(our / their for our, their in zip(ours, theirs, strict=True))
    last = len(quotients) - 1
    return [round(quotients[round(last * part)], 3) for part in (0.5, 0.1, 0.9)]


if __name__ == "__main__":
    main()
