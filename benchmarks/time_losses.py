"""Plays bots with 0.1 s a move, hosted as in a tournament, and counts late answers.

    python benchmarks/time_losses.py
    python benchmarks/time_losses.py --load 8 --cores 2

The opponent, minimax:depth=1, answers at once. Matches begin in positions that are nearly decided or lost,
where a search does most work between two readings of the clock.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from contextlib import closing, contextmanager
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from arena.entrants import resolve
from arena.executor.preflight import Candidate, preflight
from arena.executor.sandboxed import strongest_usual_tier
from arena.executor.worker_seats import make_seat
from arena.executor.workspace import workspace
from arena.match import MatchSetup, play_match
from arena.referee.timecontrol import TimeControl
from arena_plugins import Termination, load_game

if TYPE_CHECKING:
    from collections.abc import Generator

    from arena.entrants import Competitor
    from arena.match import MatchResult
    from arena.referee.seats import Seat
    from arena_plugins import Game, State

GAMES = ("gomoku", "gomoku:size=20", "connect-four", "gomoku:size=6,k=4")
BOTS = ("mcts:playouts=1000000000", "minimax:depth=99")
QUICK = "minimax:depth=1"
LOST = {"gomoku:size=20": "j7 h9 m7 h11 m8 h10 t17 h12", "gomoku": "a1 h8 a15 h9 o1 h10 o15 h11"}
"""Positions with an open four against the side to move."""
_MIDDLE = 4
"""On large boards openings lie at most this many rows and columns from the middle."""
_UNTIMED = TimeControl.parse(None, 60, None)
_LATE = {Termination.TIME_MOVE, Termination.TIME_GAME}


class Count(NamedTuple):
    """Results of the matches of one bot in one game."""

    matches: int = 0
    """Matches, without stalls, which a tournament plays again."""
    moves: int = 0
    """Moves of the bot on trial."""
    lost: int = 0
    """Matches that the bot on trial lost on time."""
    stalls: int = 0
    """Matches that the referee ascribed to a stall of the machine."""
    over: int = 0
    """Moves that took longer than the limit without its margin."""
    longest_ms: int = 0
    """Duration of the longest move, in milliseconds."""

    def plus(self, result: MatchResult, player: int, limit_ms: float) -> Count:
        """Count one more match, in which the bot on trial was `player`."""
        first = player ^ (result.num_opening & 1)
        times = result.times_ms[result.num_opening :][first::2]
        fault = result.fault or {}
        late = result.termination in _LATE and result.fault_player == player
        stalled = result.termination is Termination.ARENA_STALL
        if late or stalled:
            times = (*times, round(float(str(fault.get("elapsed_ms") or 0))))
        return Count(
            self.matches + (not stalled),
            self.moves + len(times),
            self.lost + late,
            self.stalls + stalled,
            self.over + sum(time > limit_ms for time in times),
            max(self.longest_ms, *times, 0),
        )


def main() -> None:
    """Print one JSON line for each bot and game."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--game", action="append", help="default: four games")
    parser.add_argument("--bot", action="append", help="default: mcts and minimax")
    parser.add_argument("--matches", type=int, default=500, help="matches of each bot in each game")
    parser.add_argument("--seconds", type=float, default=0.1, help="a move")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside the matches")
    parser.add_argument(
        "--cores", type=int, default=None, help="number of cores that the whole trial may use"
    )
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.cores and sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.cores])
    pairs = [(game, bot) for game in chosen.game or GAMES for bot in chosen.bot or BOTS]
    with workspace(), busy(chosen.load):
        for game, bot in pairs:
            count = trial(game, bot, chosen.matches, chosen.seconds, chosen.seed)
            told = {"benchmark": "time_losses", "game": game, "bot": bot, "st": chosen.seconds}
            load = [round(part, 1) for part in os.getloadavg()]
            print(json.dumps(told | count._asdict() | {"load": chosen.load, "loadavg": load}), flush=True)


def trial(spec: str, bot: str, matches: int, seconds: float, seed: int) -> Count:
    """Play matches of `bot` in the game `spec`, alternating as first and second player.

    Raises:
        SystemExit: a bot does not start.
    """
    game = load_game(spec)
    competitors = resolve([bot, QUICK], margin_ms=_UNTIMED.margin_ms)
    tier = strongest_usual_tier()
    for competitor in competitors:
        fault = preflight(Candidate(competitor, spec, TimeControl.parse(None, 1, None), tier, 300))
        if fault is not None:
            raise SystemExit(f"{competitor.label} does not start: {fault.detail.get('cause')}")
    rng, count = Random(seed), Count()  # noqa: S311 # play, no secrets
    with closing(seat(competitors[0], game)) as tried, closing(seat(competitors[1], game)) as quick:
        for number in range(matches):
            player = number & 1
            control = TimeControl.parse(None, seconds, None)
            setup = MatchSetup(
                id=f"trial-{number}",
                labels=("tried", "quick") if player == 0 else ("quick", "tried"),
                seeds=(number, number),
                controls=(control, _UNTIMED) if player == 0 else (_UNTIMED, control),
                opening=opening(game, spec, number, rng),
            )
            seats = (tried, quick) if player == 0 else (quick, tried)
            count = count.plus(play_match(game, seats, setup), player, seconds * 1000)
    return count


def seat(competitor: Competitor, game: Game) -> Seat:
    """Return the seat of a bot in the strongest tier available."""
    return make_seat(competitor, game.name, strongest_usual_tier())


def opening(game: Game, spec: str, number: int, rng: Random) -> tuple[int, ...]:
    """Return the first actions of a match: one in ten leads to a lost position, the others are random."""
    state = game.initial_state()
    if number % 10 == 0 and spec in LOST:
        for move in LOST[spec].split():
            state = state.child(game.parse_move(state, move))
        return state.history
    plies = rng.randrange(min(40, game.max_length // 3))
    while True:
        state = game.initial_state()
        for _ in range(plies):
            state = state.child(rng.choice(near_middle(game, state)))
            if state.is_terminal:
                break
        if not state.is_terminal:
            return state.history
        plies -= plies > 4  # noqa: PLR2004 # so few hardly ever end a match


def near_middle(game: Game, state: State) -> tuple[int, ...]:
    """Return the legal actions near the middle of a large board; all legal ones if there are none, or few."""
    rows, columns = game.shape
    if game.num_actions != rows * columns:
        return state.legal_actions
    near = tuple(
        action
        for action in state.legal_actions
        if max(abs(action // columns - rows // 2), abs(action % columns - columns // 2)) <= _MIDDLE
    )
    return near or state.legal_actions


@contextmanager
def busy(number: int) -> Generator[None]:
    """Keep processes busy during a `with` block."""
    context = multiprocessing.get_context("spawn")
    loads = [context.Process(target=spin, daemon=True) for _ in range(number)]
    for load in loads:
        load.start()
    try:
        yield
    finally:
        for load in loads:
            load.kill()


def spin() -> None:
    """Compute for ever."""
    # A session of its own, as other programs have: the kernel first divides CPU time among sessions.
    os.setsid()
    while True:
        pass


if __name__ == "__main__":
    main()
