"""Lets a bot play against every reply there is, each line to its end: a proof that it wins, or never loses.

    python benchmarks/every_reply.py alphazero:weights=best.onnx,simulations=400
    python benchmarks/every_reply.py solver --game tic-tac-toe --side second --lots

At each position that can come up against this bot, every legal reply is tried; nothing that a search claims
is believed. A position is asked about once, with a seed made from it, as if a match began there: what the bot
would keep from move to move takes no part. The last stone belongs to the position, as some nets look at it,
unless --stones-only says that this bot does not. A bot that draws lots, as `minimax` and `solver` do, is
followed for what it drew; with --lots for every action that its policy names.

One JSON line: the positions asked about, the distinct final ones by their result for the bot, the first lines
that it lost and drew, one of the shortest each; `proof` is true if it won all. A walk that was not finished
claims nothing.
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
"""Positions; those of one ply are in memory, with about a quarter of a kilobyte each."""
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
    parser.add_argument("--most-positions", type=_count, default=_MOST, help="more are an error")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stones-only", action="store_true", help="the last stone makes no difference")
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
    """Follow every reply; give what is printed."""
    game = load_game(chosen.game)
    (entrant,) = resolve([chosen.bot], margin_ms=0)
    setup = Setup(chosen.game, chosen.bot, chosen.seed, chosen.lots)
    # Made here too, even where others ask: what is wrong with a bot is seen before anything starts.
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
    """Give what was found, lines as moves."""
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
    """Show on stderr how the asking goes: a bar on a terminal, and a line for each ply that is done."""
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
