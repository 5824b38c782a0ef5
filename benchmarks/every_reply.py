"""Plays a bot against every possible reply, each line to its end: proof that it wins, or never loses.

    python benchmarks/every_reply.py alphazero:weights=best.onnx,simulations=400
    python benchmarks/every_reply.py solver --game tic-tac-toe --side second --lots

At each position that can occur against this bot, every legal reply is tried; nothing relies on a claim of the
bot's search. The bot is asked about a position once, with a seed made from it, as if a match began there:
state that it would keep from move to move is not used. The last stone is part of the position, because some
nets look at it, unless --stones-only says that this bot does not. A bot that chooses at random, as `minimax`
and `solver` do, is followed for the action that it drew; with --lots for every action in its policy.

Prints one JSON line: the number of positions asked about, the distinct final positions by their result for
the bot, and a shortest line that it lost and one that it drew; `proof` is true if it won all. An unfinished
walk claims nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from replies.asking import Asker, Setup, asking
from replies.walk import TooManyError, Walk, moves
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arena.entrants import resolve
from arena.games.notation import spec_of
from arena_plugins import load_game
from arena_plugins.errors import ArenaError, BotError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from replies.walk import Ask, Found, Open

    from arena_plugins import Game

_SIDES = ("first", "second")
_MOST = 10_000_000
"""Default maximum number of positions; those of one ply are in memory, about 250 bytes each."""
_INTERRUPTED = 130


def main() -> int:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bot")
    parser.add_argument("--game", default="gomoku:size=6,k=4")
    parser.add_argument("--side", choices=_SIDES, default=_SIDES[0], help="of the bot")
    parser.add_argument("--processes", type=_count, default=2)
    parser.add_argument(
        "--most-positions", type=_count, default=_MOST, help="maximum number of positions; more are an error"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stones-only", action="store_true", help="the bot does not look at the last stone")
    parser.add_argument("--lots", action="store_true", help="follow every action of the bot's policy")
    chosen = parser.parse_args()
    try:
        print(json.dumps(prove(chosen)), flush=True)
    except KeyboardInterrupt:
        print("interrupted; nothing is claimed", file=sys.stderr)
        return _INTERRUPTED
    except TooManyError as error:
        sys.exit(f"{error}; nothing is claimed, --most-positions allows more")
    except BotError as error:
        sys.exit(f"{chosen.bot} failed {error}; nothing is claimed")
    except ArenaError as error:
        sys.exit(str(error))
    except BrokenExecutor:
        sys.exit(
            "a process that asked the bot was killed; nothing is claimed, fewer --processes need less memory"
        )
    return 0


def prove(chosen: argparse.Namespace) -> dict[str, object]:
    """Follow every reply; return the figures to print."""
    game = load_game(chosen.game)
    (entrant,) = resolve([chosen.bot], margin_ms=0)
    setup = Setup(chosen.game, chosen.bot, chosen.seed, chosen.lots)
    # Also load the bot here, even if other processes ask it: a faulty bot is found before they start.
    asker = Asker(setup)
    walk = Walk(
        game,
        _SIDES.index(chosen.side),
        sees_last=not chosen.stones_only,
        most=chosen.most_positions,
    )
    with asking(asker, setup, chosen.processes) as ask, told(walk, ask) as telling:
        found = walk.follow(telling)
    return {
        "benchmark": "every_reply",
        "game": str(spec_of(game)),
        "bot": entrant.label,
        "identity": entrant.record.identity,
        "side": chosen.side,
        "seed": chosen.seed,
        "stones_only": chosen.stones_only,
        "lots": chosen.lots,
        **figures(game, found),
    }


def figures(game: Game, found: Found) -> dict[str, object]:
    """Return the results as printed, with lines as moves."""
    first = {
        f"first_{result}": moves(game, found.first[result]) if result in found.first else None
        for result in ("lost", "drawn")
    }
    return {
        "positions": found.positions,
        "ends": found.ends,
        "longest": found.longest,
        **first,
        "proof": not found.ends["drawn"] and not found.ends["lost"],
    }


def _count(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1")
    return int(text)


@contextmanager
def told(walk: Walk, ask: Ask) -> Generator[Ask]:
    """Show the progress on stderr: a bar on a terminal, and a line for each finished ply."""
    console = Console(stderr=True, highlight=False)
    rate = TextColumn("{task.fields[rate]:.1f}/s")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        rate,
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)

    def tell(positions: Sequence[Open]) -> Iterable[tuple[int, ...]]:
        ply, count = f"ply {positions[0].ply}", len(positions)
        task, begin = progress.add_task(ply, total=count, rate=0.0), time.perf_counter()
        for number, actions in enumerate(ask(positions), 1):
            progress.update(task, completed=number, rate=number / (time.perf_counter() - begin))
            yield actions
        seconds = time.perf_counter() - begin
        progress.remove_task(task)
        console.print(f"{ply}: {count:,} positions, {count / seconds:,.1f}/s, {walk.ended:,} lines ended")

    with progress:
        yield tell


if __name__ == "__main__":
    sys.exit(main())
