"""`arena watch` and `arena replay`: the dashboard, and the same as plain lines."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click
from rich_click import RichCommand, RichOption

from arena.cli.options import db_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.tui.glyphs import GlyphName
    from arena.tui.screens.app import Dashboard, Options
    from arena_db.records import TournamentRecord

_Result = TypeVar("_Result")
_PANEL = "Screen"
_LOOK = (
    click.option(
        "--ascii", "is_ascii", cls=RichOption, panel=_PANEL, is_flag=True, help="Draw with ASCII alone."
    ),
    click.option(
        "--theme", cls=RichOption, panel=_PANEL, metavar="NAME", default="", help="Colours; T lists them."
    ),
    click.option(
        "--reduce-motion", cls=RichOption, panel=_PANEL, is_flag=True, help="Nothing slides, fades or blinks."
    ),
)


class Look(NamedTuple):
    """How the dashboard looks."""

    is_ascii: bool
    theme: str
    reduce_motion: bool

    def options(self) -> Options:
        """Give it as the options of the dashboard."""
        glyphs: GlyphName | None = "ascii" if self.is_ascii or os.environ.get("ARENA_ASCII") else None
        return {"glyphs": glyphs, "theme": self.theme, "reduce_motion": self.reduce_motion}


def look_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options of the screen."""
    for option in reversed(_LOOK):
        command = option(command)
    return command


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
    if plain or not _has_screen():
        from arena.cli.plain_watch import print_events

        print_events(db, record)
        return
    look = Look(is_ascii, theme, reduce_motion)
    _check_toolkit()
    from arena.tui.start import watch_app

    _run(watch_app(db, record.id, record.name, is_read_only=read_only, **look.options()))


@click.command(cls=RichCommand)
@click.argument("match", type=int)
@click.option("--plain", is_flag=True, help="Print every position, as where there is no terminal.")
@look_options
@db_option
def replay(  # noqa: PLR0913 - one parameter an option
    match: int, *, plain: bool, db: str | None, is_ascii: bool, theme: str, reduce_motion: bool
) -> None:
    """Go through a stored match, position by position."""
    from arena.cli.matches import find_match
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        found = find_match(store, match)
        if plain or not _has_screen():
            from arena.cli.showing import replay_match

            replay_match(found)
            return
    look = Look(is_ascii, theme, reduce_motion)
    _check_toolkit()
    from arena.tui.start import replay_app

    _run(replay_app(db, match, **look.options()))


def _find(tournament: str | None, db: str | None) -> TournamentRecord:
    from arena.cli.stored import find_tournament
    from arena.home import open_store

    with open_store(db, read_only=True, create=False) as store:
        return find_tournament(store, tournament, unfinished=False)


def _has_screen() -> bool:
    """Say whether a program may draw on this terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _check_toolkit() -> None:
    """Refuse a version of the toolkit that the dashboard was not made for.

    Raises:
        ConfigError: names the version and the way out.
    """
    from importlib.metadata import version

    from arena.errors import ConfigError

    found = version("textual")
    if not (8, 2, 8) <= tuple(int(part) for part in found.split(".")[:3] if part.isdecimal()) < (9,):
        raise ConfigError(
            f"the dashboard needs textual 8.2.8 or a newer 8, and {found} is installed; "
            'pip install "textual>=8.2.8,<9" mends it, --plain works without'
        )


def _run(app: Dashboard) -> None:
    """Run the dashboard to its end.

    Raises:
        Exit: with the status it failed with.
    """
    app.run()
    if app.return_code:
        raise click.exceptions.Exit(app.return_code)
