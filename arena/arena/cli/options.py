"""Options that several commands share, and how options, files and defaults become one configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena.tournament.config import TournamentConfig

_Command = TypeVar("_Command", bound="Callable[..., Any]")

db_option = click.option(
    "--db", metavar="PATH", help="The store: a SQLite file (default: ARENA_DB, else the user's data folder)."
)
format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "csv"]),
    default="table",
    show_default=True,
    help="How results are printed.",
)

_FIELD = (
    click.option(
        "--game", metavar="SPEC", help="The game, as in gomoku:size=6,k=4.  [default: connect-four]"
    ),
    click.option(
        "--rounds", type=int, metavar="N", help="Rounds; each pair of bots meets once a round.  [default: 10]"
    ),
    click.option(
        "--games", type=click.Choice(["1", "2"]), help="Matches per encounter and round.  [default: 2]"
    ),
    click.option(
        "--no-swap", is_flag=True, default=None, help="Keep sides: the first-named bot always moves first."
    ),
    click.option("--reverse", is_flag=True, default=None, help="The second-named bot starts."),
    click.option(
        "--openings",
        metavar="PLAN",
        help="auto:plies=,balance=,order=,start= or file:PATH or none.  [default: auto]",
    ),
    click.option(
        "--srand", type=int, metavar="SEED", help="Tournament seed; drawn, printed and stored by default."
    ),
)
_LIMIT = (
    click.option("--tc", metavar="CLOCK", help="Game clock moves/time+inc: 60+0.6, 40/60+0.5, 2:30+1, inf."),
    click.option("--st", type=float, metavar="S", help="Seconds a move.  [default: 5]"),
    click.option("--nodes", type=int, metavar="N", help="Search nodes a move; a playout counts as one."),
    click.option("--timemargin", type=int, metavar="MS", help="How late an answer may be.  [default: 50]"),
    click.option("--bank", type=float, metavar="S", help="Seconds a match beyond --st."),
    click.option(
        "--init-time", type=float, metavar="S", help="Seconds a bot may take to start.  [default: 60]"
    ),
)
_MACHINE = (
    click.option(
        "--isolation",
        type=click.Choice(["auto", "none", "T1", "T2", "T3"]),
        help="How bots are kept apart.  [default: auto]",
    ),
    click.option(
        "--require-tier", type=click.Choice(["T0", "T1", "T2", "T3"]), help="Refuse to run below this tier."
    ),
    click.option(
        "--executor",
        type=click.Choice(["local", "inline"]),
        help="Worker processes, or this one.  [default: local]",
    ),
    click.option(
        "--concurrency",
        type=int,
        metavar="N",
        help="Matches at once; 0 = cores - 1, -k = k fewer.  [default: 0]",
    ),
    click.option(
        "--force-concurrency", is_flag=True, default=None, help="Allow more matches at once than cores."
    ),
    click.option(
        "--fast", is_flag=True, help="Do not wait for the disk: a power cut may lose the last matches."
    ),
    db_option,
)
_END = (
    click.option(
        "--adjudicate",
        type=click.Choice(["off", "solver"]),
        help="Who may end a match early.  [default: off]",
    ),
    click.option("--max-time", type=float, metavar="S", help="Begin no match after so many seconds."),
    click.option("--stop-when", metavar="error=E", help="Stop when every rating is within E Elo."),
    click.option("--no-recover", is_flag=True, default=None, help="The first fault of a bot stops the run."),
    click.option("--strict", is_flag=True, help="Exit 4 when bots forfeited or warnings were printed."),
)
_OUTPUT = (
    click.option(
        "--score-interval",
        type=int,
        metavar="N",
        help="Matches between score lines; 0 = at the end.  [default: 1]",
    ),
    click.option(
        "--rating-interval",
        type=int,
        metavar="N",
        help="Matches between tables; 0 = at the end.  [default: 10]",
    ),
    click.option("--event", help="Written into records."),
    click.option("--site", help="Written into records."),
    click.option("--name", help="What the tournament is called; rr-N and the like by default."),
    click.option("--quiet", is_flag=True, help="Print the final tables only."),
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "ndjson"]),
        default="text",
        show_default=True,
        help="How events are printed.",
    ),
    click.option("--dry-run", is_flag=True, help="Print the plan and play nothing."),
    click.option(
        "--config", type=click.Path(path_type=Path), help="A TOML file; its keys are these option names."
    ),
)


def tournament_options(command: _Command) -> _Command:
    """Add the options that tournaments and matches share."""
    for option in reversed((*_FIELD, *_LIMIT, *_MACHINE, *_END, *_OUTPUT)):
        command = option(command)
    return command


def configuration(given: Mapping[str, Any], config: Path | None) -> TournamentConfig:
    """Lay options over the `--config` file over the user's own file over the defaults.

    Raises:
        ConfigError: a file or a value cannot be used.
    """
    from arena.home import user_config
    from arena.tournament.config import config_from, read_toml

    values: dict[str, Any] = {}
    for path in (user_config(), config):
        if path is not None:
            read = read_toml(path)
            config_from(read, str(path))
            values.update(read)
    options = {
        key.replace("_", "-"): value for key, value in given.items() if value is not None and value != ()
    }
    if "games" in options:
        options["games"] = int(options["games"])
    values.update(options)
    return config_from(values, "options")


def concurrency(config: TournamentConfig) -> int:
    """Give the number of matches at once, refusing more than the machine has cores for.

    Raises:
        ConfigError: more than there are cores, without `--force-concurrency`.
    """
    from arena.executor.pools import num_cores, num_workers

    cores = num_cores()
    number = num_workers(config.concurrency, cores)
    if number > cores and not config.force_concurrency:
        raise ConfigError(
            f"--concurrency {number} is more than the {cores} cores of this machine, so bots would lose on time; "
            "add --force-concurrency to do it all the same"
        )
    return number
