"""`arena play`: a person plays a bot, on a screen or in plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichOption

from arena.cli.exits import Exit
from arena.cli.options import db_option
from arena.cli.screen_options import check_toolkit, display_options, run_app

if TYPE_CHECKING:
    from arena.cli.screen_options import DisplayOptions

_MATCH = "Match"
_MACHINE = "Machine"


@click.command(cls=RichCommand)
@click.argument("bot", required=False, metavar="[BOT]")
@click.option(
    "--game",
    cls=RichOption,
    panel=_MATCH,
    metavar="SPEC",
    default="connect-four",
    show_default=True,
    help="The game, as in gomoku:size=6,k=4.",
)
@click.option(
    "--first/--second",
    "is_first",
    cls=RichOption,
    panel=_MATCH,
    default=True,
    help="Who begins: you, or the bot.  [default: first]",
)
@click.option(
    "--clock",
    cls=RichOption,
    panel=_MATCH,
    metavar="CLOCK",
    help="Game clock of both: 5:00+3, 60+0.6.  [default: none; one hour per move for you]",
)
@click.option(
    "--st",
    type=float,
    cls=RichOption,
    panel=_MATCH,
    metavar="S",
    help="Seconds per move of the bot.  [default: 5]",
)
@click.option(
    "--nodes", type=int, cls=RichOption, panel=_MATCH, metavar="N", help="Search nodes per move of the bot."
)
@click.option(
    "--hint",
    cls=RichOption,
    panel=_MATCH,
    metavar="BOT",
    default="",
    help="The bot that gives hints.  [default: solver, or minimax for games without a solver]",
)
@click.option(
    "--rated", is_flag=True, cls=RichOption, panel=_MATCH, help="The match is rated: no undo and no hints."
)
@click.option(
    "--opening",
    cls=RichOption,
    panel=_MATCH,
    metavar="MOVES",
    default="",
    help='Moves played before the match begins, as in "4 4 3".',
)
@click.option("--name", cls=RichOption, panel=_MATCH, metavar="ID", default="", help="By default play-N.")
@click.option("--attach", cls=RichOption, panel=_MATCH, metavar="ID", help="Continue a stored session.")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "none", "T1", "T2", "T3"]),
    cls=RichOption,
    panel=_MACHINE,
    default="auto",
    show_default=True,
    help="Isolation of the bot.",
)
@click.option(
    "--require-tier",
    type=click.Choice(["T0", "T1", "T2", "T3"]),
    cls=RichOption,
    panel=_MACHINE,
    help="Refuse to play below this tier.",
)
@click.option(
    "--require-limits",
    type=click.Choice(["kernel", "polled"]),
    cls=RichOption,
    panel=_MACHINE,
    help="kernel: refuse to play unless the kernel enforces the limits.  [default: polled]",
)
@click.option("--plain", is_flag=True, help="Play in lines of text, as without a terminal.")
@click.option("--headless", is_flag=True, help="Only referee; moves are read from the store as commands.")
@display_options
@db_option
def play(
    bot: str | None,
    *,
    attach: str | None,
    headless: bool,
    db: str | None,
    display: DisplayOptions,
    **given: object,
) -> int:
    """Play against BOT, with undo and hints; every match is stored, but only --rated ones are rated."""
    if (bot is None) == (attach is None):
        raise click.UsageError("give a BOT to play (arena bots list), or --attach ID to continue a session")
    from arena.cli.playing import coordinate, play_by_lines
    from arena.coordinator.client import Link
    from arena.person.session_config import make_play, play_config, words_of

    side = "first" if given.pop("is_first") else "second"
    config = None if bot is None else play_config({**given, "bot": bot, "side": side})
    if headless:
        return coordinate(db, config, attach)
    # Errors in the options are reported here, before a process is started.
    words = Link.again(attach or "") if config is None else words_of(make_play(config))
    if not display.has_screen:
        return play_by_lines(db, words)
    check_toolkit()
    from arena.tui.start import play_app

    run_app(play_app(db, words, **display.options()))
    return Exit.COMPLETE
