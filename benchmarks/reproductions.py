"""Makes the rows of docs/explanation/reproductions.md from stored tournaments; plays the missing ones.

    python benchmarks/reproductions.py repro.db --matches 1000 --positions dev.npz
    python benchmarks/reproductions.py repro.db --only td-lambda --matches 200

Two bots meet from the empty board, `--matches` times with each of them moving first. A tournament is
identified by the identities of its bots: with new weights it is played again, otherwise it is read from the
store. Prints tables in Markdown, in percent, with 95 % intervals of the wins (Wilson, 1927), then the
commands that produced the rows.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labelled.positions import load
from move_quality import figures, play, wilson

from arena.entrants import resolve
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_db.sums import SUMS
from arena_plugins import Limit

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from labelled.positions import Positions

    from arena_db.records import Tally

FOUR, THREE, SIX = "connect-four", "tic-tac-toe", "gomoku:size=6,k=4"
OPPONENT = "three-plies"
PURE = "mcts:c_puct=5,playouts=1000,rollouts=uniform,selection=puct"
"""The paper's opponent: its own search without a net."""
_SEED = 1
_BOTS = Path(__file__).with_name("bots")
_DEADLINE_S = 36_000
_LONGEST = 40
"""Maximum length of the readable part of a name, besides identities and number; a name has 64 characters at
most."""


class Row(NamedTuple):
    """One bot against one opponent."""

    game: str
    bot: str
    opponent: str


class Held(NamedTuple):
    """The conditions of the matches: store, number, executor, and where the opponent is found."""

    store: Path
    matches: int
    executor: str
    path: str
    """Folder in which commands find the opponent."""


def _rows() -> Mapping[str, list[Row]]:
    td = [
        f"td-lambda:recipe={recipe},rules={rules}"
        for recipe in ("article", "linear", "best")
        for rules in ("off", "on", "notebook")
    ]
    keras = ((FOUR, "article"), (FOUR, "best"), (THREE, "article"), (THREE, "best"), (SIX, "best"))
    alone = [f"alphazero:recipe={recipe},simulations=0" for recipe in ("article-selfplay", "best")]
    searching = ["alphazero:c_puct=5,endings=0,recipe=article", "alphazero:recipe=best"]
    return {
        "random": [Row(game, "random", "random") for game in (FOUR, THREE, SIX)],
        "keras": [Row(game, f"keras:recipe={recipe}", "random") for game, recipe in keras],
        "td-lambda": [Row(FOUR, bot, opponent) for opponent in ("random", OPPONENT) for bot in td],
        "selfplay": [Row(FOUR, bot, "random") for bot in alone],
        "alphazero": [Row(SIX, bot, PURE) for bot in (PURE, *searching)],
    }


def main() -> None:
    """Play the missing tournaments, and print."""
    rows = _rows()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument(
        "--matches", type=int, default=1000, help="number of matches with each of the two moving first"
    )
    parser.add_argument("--only", choices=rows, nargs="+", default=list(rows))
    parser.add_argument("--executor", choices=("local", "inline"), default="local")
    parser.add_argument("--positions", type=Path, help="file of dev_set.py: also measure quality of play")
    chosen = parser.parse_args()
    positions = load(chosen.positions) if chosen.positions else None
    with offered() as path:
        for source in chosen.only:
            held = Held(chosen.store, chosen.matches, chosen.executor, path)
            for line in table(rows[source], held, positions):
                print(line, flush=True)


@contextmanager
def offered() -> Generator[str]:
    """Make the opponent discoverable in this process, and in commands that get the yielded path."""
    with tempfile.TemporaryDirectory() as folder:
        metadata = Path(folder, "three_plies-1.dist-info")
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {OPPONENT}\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[arena.bots]\n{OPPONENT} = three_plies\n")
        sys.path += [folder, str(_BOTS)]
        yield os.pathsep.join((folder, str(_BOTS)))


def table(rows: Sequence[Row], held: Held, positions: Positions | None) -> Iterator[str]:
    """Yield a table, and the commands that produced its rows."""
    commands: list[str] = []
    yield "| game | bot | against | moving first | moving second | different | quality |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        command = match_command(row, held.matches)
        hold(command, held)
        first, second, unique = results(held.store, command[-1])
        quality = ""
        if positions is not None and row.game == FOUR and row.opponent == "random":
            quality = quality_of(row.bot, positions)
        yield f"| {row.game} | `{row.bot}` | `{row.opponent}` | {first} | {second} | {unique} | {quality} |"
        commands.append(f"arena {shlex.join(command)}")
    yield ""
    yield from commands
    yield ""


def match_command(row: Row, matches: int) -> list[str]:
    """Return the command line of a row; its last argument, the name, identifies the weights."""
    found = resolve([row.bot, row.opponent], margin_ms=0, twins=True)
    identities = "-".join(bot.record.identity[:6] for bot in found)
    slug = re.sub("[^a-z0-9]+", "-", f"{row.game} {row.bot}")[:_LONGEST].strip("-")
    return [
        *("match", row.bot, row.opponent, "--game", row.game, "--rounds", str(matches)),
        *("--openings", "none", "--srand", str(_SEED), "--isolation", "none", "--require-tier", "T0"),
        *("--quiet", "--name", f"{slug}-{identities}-{matches}"),
    ]


def hold(command: Sequence[str], held: Held) -> None:
    """Play a tournament that is not stored, or resume one that was stopped."""
    store = str(held.store)
    words = [*command, "--executor", held.executor, "--db", store]
    if held.store.exists():
        with Store.open(held.store, read_only=True) as opened:
            known = opened.tournaments.find(command[-1])
        if known is not None:
            if known.is_complete:
                return
            words = ["resume", known.name, "--quiet", "--db", store]
    before = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (held.path, before)))}
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "arena", *words],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
        timeout=_DEADLINE_S,
    )


def results(store: Path, tournament: str) -> tuple[str, str, str]:
    """Return the results of the first-named bot by side, and the number of different matches."""
    with Store.open(store, read_only=True) as opened:
        tallies = opened.sums.tallies(MatchFilter(tournament=tournament))
        record = opened.tournaments.find(tournament)
        kept = [] if record is None else opened.sums.of_tournament(record.id)
    first = [tally for tally in tallies if tally.first_seat == 0]
    second = [tally for tally in tallies if tally.first_seat == 1]
    num = sum(tally.num_matches for tally in tallies)
    different = sum(each.sums[SUMS.index("num_different")] for each in kept)
    return cell(first, "first"), cell(second, "second"), f"{different} of {num}"


def cell(tallies: Sequence[Tally], own: str) -> str:
    """Format wins, draws and losses of `own` in percent, with the interval of the wins."""
    counts: Counter[str] = Counter()
    for tally in tallies:
        counts[tally.outcome] += tally.num_matches
    other = "second" if own == "first" else "first"
    num = counts.total()
    low, high = (100 * bound for bound in wilson(counts[own], num))
    won, drawn, lost = (100 * counts[name] / max(num, 1) for name in (own, "draw", other))
    return f"{won:.1f} ({low:.1f} to {high:.1f}) / {drawn:.1f} / {lost:.1f}, n {num:,}"


def quality_of(bot: str, positions: Positions) -> str:
    """Return how often a bot's move keeps the best result, on all and on the decisive positions."""
    found: dict[str, Any] = figures(positions, play(bot, positions, Limit()))
    return f"{found['all']['percent']} / {found['decisive']['percent']}"


if __name__ == "__main__":
    main()
