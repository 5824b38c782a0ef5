"""`arena bots show`, `arena versus` and `arena openings`: reports on bots and openings as text and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.filters import match_options, versus_options
from arena.cli.options import db_option, format_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.cli.filters import MatchChoice
    from arena.live.opening_views import BestPlay
    from arena.results.condition import Condition
    from arena.results.crosstable import Cell
    from arena.watching.page_rows import PageRow


@click.command(cls=RichCommand, name="show")
@click.argument("bot")
@format_option
@db_option
def show_bot(bot: str, *, form: str, db: str | None) -> None:
    """Show the results of BOT: opponents, worst losses, versions, mistakes, openings, tournaments, forfeits.

    BOT is a name, spec or label, as tables print it: my-bot means all its versions, my-bot@0.2.0 or
    my-bot~7f3a9c one of them. Losses are ordered by the points that the ratings expected, most first; among
    equal ones the loss with the earliest mistake by a stored grade comes first.

    --format json and ndjson print all of it as one object, csv the results against each opponent.
    """
    import msgspec

    from arena.cli.output import emit_one
    from arena.home import open_store
    from arena.results.bot_page import bot_page
    from arena.watching.page_rows import bot_rows

    with open_store(db, read_only=True) as store:
        page = bot_page(store, bot)
    if form == "table":
        _say_rows(bot_rows(page))
    elif form == "csv":
        _print_cells((row.game, row.pool, row.cell) for row in page.opponents)
    else:
        emit_one("bot-page", msgspec.to_builtins(page), form)


@click.command(cls=RichCommand)
@click.argument("bot")
@click.argument("opponent")
@versus_options
@format_option
@db_option
def versus(condition: Condition, bot: str, opponent: str, *, form: str, db: str | None) -> None:
    """Show BOT against OPPONENT: score, Elo, likelihood of superiority, openings, worst losses, matches.

    The figures of a tournament are those of its crosstable. Matches under different limits are never mixed:
    the pool with most matches is shown in full, each other pool as one line.

    --format json and ndjson print all of it as one object, csv a row for each pool and pair of versions.
    """
    import msgspec

    from arena.cli.output import emit_one
    from arena.home import open_store
    from arena.results.versus import versus as find_versus
    from arena.watching.page_rows import versus_rows

    with open_store(db, read_only=True) as store:
        found = find_versus(store, bot, opponent, condition)
    if form == "table":
        _say_rows(versus_rows(found))
    elif form == "csv":
        _print_cells((each.game, each.pool, each.cell) for each in found.meetings)
    else:
        emit_one("versus", msgspec.to_builtins(found), form)


@click.command(cls=RichCommand)
@click.argument("moves", nargs=-1)
@match_options("Include unrated matches.")
@click.option(
    "--solve",
    is_flag=True,
    help="Print only the result of every move under perfect play; needs --game, and can take long.",
)
@format_option
@db_option
def openings(chosen: MatchChoice, moves: Sequence[str], *, solve: bool, form: str, db: str | None) -> None:
    """Show what was played after MOVES in stored matches, how it scored, and the result of perfect play.

    MOVES begin at the initial position; without any, first moves are shown. Other orders of the same moves
    and mirrored or rotated positions are counted, too. Scores are those of the side to move, with 95 %
    intervals that count equal matches once. Without --game, the game with most matches is used.

    --solve reads no stored match: the exact solver judges every legal move. With --format ndjson each move is
    printed as soon as its result is known, and again when more is known.
    """
    from arena.cli.output import emit, say
    from arena.home import open_store
    from arena.live.opening_views import opening_lines
    from arena.results.opening_statistics import find_best_play, find_openings

    if solve:
        _solve(chosen.condition, " ".join(moves), form)
        return
    with open_store(db, read_only=True) as store:
        view = find_openings(store, chosen.condition, " ".join(moves), rated_only=not chosen.unrated)
    view = find_best_play(view)
    if form == "table":
        for line in opening_lines(view):
            say(line)
    else:
        from arena.watching.objects import next_move_objects

        emit("next-move", next_move_objects(view), form, {}, _MOVE_KEYS)


_MOVE_KEYS = (
    *("game", "line", "matches", "transposed", "ended", "move", "action", "twins", "games", "given", "wins"),
    *("draws", "losses", "different", "score", "score_low", "score_high", "perfect", "plies"),
)


def _solve(condition: Condition, moves: str, form: str) -> None:
    """Print the result of every move of a position under perfect play."""
    import msgspec

    from arena.cli.output import emit
    from arena.errors import ConfigError
    from arena.results.opening_statistics import solve_moves

    if not condition.game:
        raise ConfigError("--solve needs to know the game; name it, as in --game connect-four")
    printed: set[BestPlay] = set()

    def tell(known: Iterable[BestPlay]) -> None:
        fresh = [best for best in known if best not in printed]
        printed.update(fresh)
        emit("best-play", map(msgspec.to_builtins, fresh), form, _BEST_PLAY, tuple(_BEST_PLAY))

    found = solve_moves(condition.game, moves, tell if form == "ndjson" else lambda _: None)
    tell(found)


_BEST_PLAY = {"move": "Move", "action": "Action", "perfect": "Result", "plies": "Plies"}


def _say_rows(rows: Iterable[PageRow]) -> None:
    from arena.cli.output import say

    for row in rows:
        say(row.text)


def _print_cells(cells: Iterable[tuple[str, str, Cell]]) -> None:
    import msgspec

    from arena.cli.output import emit

    rows = (
        {"game": game, "pool": pool, **msgspec.structs.asdict(cell), "score": cell.score}
        for game, pool, cell in cells
    )
    emit("cell", rows, "csv", {})
