"""`arena watch`, `replay` and `open`: the dashboard at an address, or its content as plain lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.options import db_option
from arena.cli.screen_options import check_toolkit, display_options, run_app

if TYPE_CHECKING:
    from arena.cli.screen_options import DisplayOptions
    from arena.results.addresses import Address
    from arena.tui.screens.dashboard import Dashboard
    from arena.watching.places import Place


@click.command(cls=RichCommand)
@click.argument("address", required=False, metavar="[ADDRESS]")
@click.option("--plain", is_flag=True, help="Print a line for each event, as without a terminal.")
@click.option(
    "--from-start",
    is_flag=True,
    help="Print plain lines, with one for each finished match instead of a summary.",
)
@click.option("--read-only", is_flag=True, help="Send no commands to the tournament.")
@display_options
@db_option
def watch(
    address: str | None, *, from_start: bool, read_only: bool, db: str | None, display: DisplayOptions
) -> None:
    """Watch a tournament (default: the newest): boards, standings, matches; q leaves it running.

    ADDRESS is that of a tournament, spring, of one of its matches, spring/89, or of a screen, spring/table or
    spring/matches.
    """
    found = _find_watched(address, db)
    if from_start or not display.has_screen:
        from arena.cli.plain_watch import print_events, say_how_to_begin

        if found is None:
            say_how_to_begin(db)
        else:
            print_events(db, found, from_start=from_start)
        return
    check_toolkit()
    from arena.tui.start import empty_app, watch_app

    if found is None:
        run_app(empty_app(db, is_read_only=read_only, **display.options()))
    else:
        run_app(watch_app(db, found, is_read_only=read_only, **display.options()))


@click.command(cls=RichCommand)
@click.argument("address")
@click.option("--plain", is_flag=True, help="Print every position, as without a terminal.")
@display_options
@db_option
def replay(address: str, *, db: str | None, display: DisplayOptions) -> None:
    """Go through a stored match, ADDRESS spring/89, position by position.

    spring/89:17 begins with the position after 17 plies.
    """
    from arena.home import open_store
    from arena.results.addresses import find_played

    with open_store(db, read_only=True) as store:
        match, found = find_played(store, address)
        if not display.has_screen:
            from arena.cli.showing import replay_match

            replay_match(store, match, found.ply)
            return
    check_toolkit()
    from arena.tui.start import replay_app

    run_app(replay_app(db, match.id, found.ply, **display.options()))


def _find_watched(address: str | None, db: str | None) -> Address | None:
    """Return the address to watch; None if it is the newest tournament and there is none yet.

    Raises:
        NotFoundError: the address names nothing.
    """
    from arena.home import has_store, open_store
    from arena.results.addresses import LAST, find_address
    from arena.watching.whole_objects import is_played_again

    is_newest = address in (None, LAST)
    if is_newest and not has_store(db):
        return None
    with open_store(db, read_only=True, create=False) as store:
        if is_newest and store.tournaments.last(unfinished=False) is None:
            return None
        found = find_address(store, address or LAST)
        return found._replace(match=None) if is_played_again(store, found) else found


@click.command(cls=RichCommand, name="open")
@click.argument("address")
@click.option("--plain", is_flag=True, help="Describe the address, as without a terminal.")
@click.option("--read-only", is_flag=True, help="Send no commands to the tournament.")
@display_options
@db_option
def open_(address: str, *, read_only: bool, db: str | None, display: DisplayOptions) -> None:
    """Open the dashboard at ADDRESS.

    ADDRESS is that of a tournament, spring, of one of its screens, spring/table, of a match, spring/89, an
    attempt at it, spring/89.1, or a position, spring/89:17; or of a bot: its spec, or digits of its identity
    as in ~7f3a9c. In a pipe, and with --plain, the command describes the address and names the command that
    prints it.
    """
    from arena.watching.places import read_place

    place = read_place(db, address)
    if not display.has_screen:
        click.echo(f"{place.address}: {place.about}")
        click.echo(shlex.join(["arena", *place.command, *([] if db is None else ["--db", db])]))
        return
    check_toolkit()
    run_app(_app(db, place, display, is_read_only=read_only))


def _app(db: str | None, place: Place, display: DisplayOptions, *, is_read_only: bool) -> Dashboard:
    """Return the dashboard that shows a place."""
    from arena.tui.start import bot_app, watch_app

    found = None if place.kind == "bot" else _find_watched(place.address, db)
    if found is None:
        return bot_app(db, place, is_read_only=is_read_only, **display.options())
    return watch_app(db, found, is_read_only=is_read_only, **display.options())
