"""`arena open`: the dashboard at any address; without a terminal, a description of the address."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.options import db_option
from arena.cli.screen_options import DisplayOptions, check_toolkit, display_options, has_screen, run_app
from arena.cli.watch import find_watched

if TYPE_CHECKING:
    from arena.tui.screens.dashboard import Dashboard
    from arena.watching.places import Place


@click.command(cls=RichCommand, name="open")
@click.argument("address")
@click.option("--plain", is_flag=True, help="Describe the address, as without a terminal.")
@click.option("--read-only", is_flag=True, help="Send no commands to the tournament.")
@display_options
@db_option
def open_(  # noqa: PLR0913 - one parameter an option
    address: str,
    *,
    plain: bool,
    read_only: bool,
    db: str | None,
    is_ascii: bool,
    theme: str,
    reduce_motion: bool,
) -> None:
    """Open the dashboard at ADDRESS.

    ADDRESS is that of a tournament, spring, of one of its screens, spring/table, of a match, spring/89, an
    attempt at it, spring/89.1, or a position, spring/89:17; or of a bot: its spec, or digits of its identity
    as in ~7f3a9c. In a pipe, and with --plain, the command describes the address and names the command that
    prints it.
    """
    from arena.watching.places import read_place

    place = read_place(db, address)
    if plain or not has_screen():
        click.echo(f"{place.address}: {place.about}")
        click.echo(shlex.join(["arena", *place.command, *([] if db is None else ["--db", db])]))
        return
    check_toolkit()
    run_app(_app(db, place, DisplayOptions(is_ascii, theme, reduce_motion), is_read_only=read_only))


def _app(db: str | None, place: Place, display: DisplayOptions, *, is_read_only: bool) -> Dashboard:
    """Return the dashboard that shows a place."""
    from arena.tui.start import bot_app, watch_app

    found = None if place.kind == "bot" else find_watched(place.address, db)
    if found is None:
        return bot_app(db, place, is_read_only=is_read_only, **display.options())
    return watch_app(db, found, is_read_only=is_read_only, **display.options())
