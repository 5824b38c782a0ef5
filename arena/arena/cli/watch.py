"""`arena watch` and `arena replay`: the dashboard, and the same as plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.options import db_option
from arena.cli.screen import Look, check_toolkit, has_screen, look_options, run_app

if TYPE_CHECKING:
    from arena_db.records import TournamentRecord


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ID]")
@click.option("--plain", is_flag=True, help="Print a line for each event, as where there is no terminal.")
@click.option("--read-only", is_flag=True, help="Ask nothing of the tournament, only look.")
@look_options
@db_option
def watch(  # noqa: PLR0913 - one parameter an option
    tournament: str | None,
    *,
    plain: bool,
    read_only: bool,
    db: str | None,
    is_ascii: bool,
    theme: str,
    reduce_motion: bool,
) -> None:
    """Watch a tournament (default: the newest): boards, standings, matches; q leaves it as it runs."""
    record = _find(tournament, db)
    if plain or not has_screen():
        from arena.cli.plain_watch import print_events, say_how_to_begin

        if record is None:
            say_how_to_begin(db)
        else:
            print_events(db, record)
        return
    options = Look(is_ascii, theme, reduce_motion).options()
    check_toolkit()
    from arena.tui.start import empty_app, watch_app

    if record is None:
        run_app(empty_app(db, is_read_only=read_only, **options))
    else:
        run_app(watch_app(db, record.id, record.name, is_read_only=read_only, **options))


@click.command(cls=RichCommand)
@click.argument("match", type=int)
@click.option("--plain", is_flag=True, help="Print every position, as where there is no terminal.")
@look_options
@db_option
def replay(  # noqa: PLR0913 - one parameter an option
    match: int, *, plain: bool, db: str | None, is_ascii: bool, theme: str, reduce_motion: bool
) -> None:
    """Go through a stored match, position by position."""
    from arena.cli.stored import find_match
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        found = find_match(store, match)
        if plain or not has_screen():
            from arena.cli.showing import replay_match

            replay_match(found)
            return
    look = Look(is_ascii, theme, reduce_motion)
    check_toolkit()
    from arena.tui.start import replay_app

    run_app(replay_app(db, match, **look.options()))


def _find(tournament: str | None, db: str | None) -> TournamentRecord | None:
    """Find what is to be watched; None where the newest is, and there is none yet."""
    from arena.cli.stored import LAST, find_tournament
    from arena.home import has_store, open_store

    is_newest = tournament in (None, LAST)
    if is_newest and not has_store(db):
        return None
    with open_store(db, read_only=True, create=False) as store:
        if is_newest and store.last_tournament(unfinished=False) is None:
            return None
        return find_tournament(store, tournament, unfinished=False)
