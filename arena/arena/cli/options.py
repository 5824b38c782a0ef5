"""Options that several commands share."""

from __future__ import annotations

import os
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from rich_click import RichOption

from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")
_Command = TypeVar("_Command", bound="Callable[..., object]")

_INSECURE = "arena.db_insecure"


def _note_insecure(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's call
    context.meta[_INSECURE] = value


def _place(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Return the place of the store, with the flag of --db-insecure, in the form other processes accept."""
    if not context.meta.get(_INSECURE):
        return value
    given = value or os.environ.get("ARENA_DB", "")
    if "://" not in given:
        raise ConfigError(
            "--db-insecure is for a store on a server: give it by --db postgresql://USER@HOST/DB"
        )
    return f"{given}{'&' if '?' in given else '?'}insecure=1"


_PLACE: dict[str, Any] = {
    "metavar": "PLACE",
    "callback": _place,
    "help": "The store: a SQLite file, or postgresql://USER@HOST/DB (default: ARENA_DB, else a file in the "
    "user's data folder).",
}
_INSECURE_FLAG: dict[str, Any] = {
    "is_flag": True,
    "is_eager": True,
    "expose_value": False,
    "callback": _note_insecure,
    "help": "Connect to a server without verifying its identity, or without encryption.",
}


def as_one(
    name: str, made: Callable[..., object]
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Return a decorator that passes several options to a command as one value.

    Args:
        name: the parameter of the command.
        made: creates the value; each of its parameters is filled from the option of the same name.
    """
    parts = tuple(signature(made).parameters)

    def gather(command: Callable[..., _Result]) -> Callable[..., _Result]:
        @wraps(command)
        def with_one(*given: object, **named: object) -> _Result:
            one = made(**{part: named.pop(part) for part in parts})
            return command(*given, **named, **{name: one})

        return with_one

    return gather


def db_option(command: _Command) -> _Command:
    """Add the options that choose the store; the command receives the value of --db as `db`."""
    return click.option("--db", **_PLACE)(click.option("--db-insecure", **_INSECURE_FLAG)(command))


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "csv"]),
    default="table",
    show_default=True,
    help="Output format.",
)


class RunOptions(NamedTuple):
    """The options of one run of a tournament that are not part of its definition."""

    db: str | None
    fast: bool
    strict: bool
    quiet: bool
    form: str
    """Output format, text or ndjson."""
    pgnout: Path | None = None
    """The file to which the matches are written as PGN when the run ends."""


class StartOptions(NamedTuple):
    """The options for starting a new tournament."""

    config: Path | None
    """A TOML file with the tournament's definition, which options override."""
    dry_run: bool
    """Whether only the plan is printed."""
    tui: bool
    """Whether the tournament is played in the background while the dashboard shows it."""


_start = as_one("start", StartOptions)
_field = partial(click.option, cls=RichOption, panel="Matches")
_limit = partial(click.option, cls=RichOption, panel="Limits")
_machine = partial(click.option, cls=RichOption, panel="Machine")
_end = partial(click.option, cls=RichOption, panel="Ends")
_output = partial(click.option, cls=RichOption, panel="Output")

_GAME = (
    _field("--game", metavar="SPEC", help="The game, as in gomoku:size=6,k=4.  [default: connect-four]"),
)
_ROUNDS = (
    _field(
        "--rounds", type=int, metavar="N", help="Rounds; each pair of bots meets once a round.  [default: 10]"
    ),
    _field("--games", type=click.Choice(["1", "2"]), help="Matches per encounter and round.  [default: 2]"),
    _field(
        "--no-swap",
        is_flag=True,
        default=None,
        help="Do not swap sides: the bot named first always moves first.",
    ),
)
_REVERSE = _field("--reverse", is_flag=True, default=None, help="The bot named second moves first.")
_STOP_WHEN = _end("--stop-when", metavar="error=E", help="Stop when every rating is within E Elo.")
_NAME = _output(
    "--name", metavar="ID", help="Name of the tournament; by default its type and a number, as in rr-1."
)
_TUI = _output("--tui", is_flag=True, help="Play in the background and open the dashboard; q leaves it.")
MACHINES = (
    _machine(
        "--executor",
        metavar="WHERE",
        help="local: worker processes; inline: this process; dask:tls://HOST:PORT: worker machines.  "
        "[default: local]",
    ),
    _machine(
        "--keys",
        metavar="FILE",
        help="This machine's key for dask:tls://; arena cluster keys makes it.  "
        "[default: that of the scheduler started here]",
    ),
    _machine(
        "--cluster", metavar="local:N", help="A scheduler and N slots for this run only, on this machine."
    ),
)
"""Options that choose where matches are played, and where trainings play."""
_EVENT = (
    _field(
        "--openings",
        metavar="PLAN",
        help="auto:plies=,balance=,order=,start= or file:PATH or none.  [default: auto]",
    ),
    _field(
        "--srand", type=int, metavar="SEED", help="Tournament seed; drawn, printed and stored by default."
    ),
    _limit("--tc", metavar="CLOCK", help="Game clock moves/time+inc: 60+0.6, 40/60+0.5, 2:30+1, inf."),
    _limit("--st", type=float, metavar="S", help="Seconds per move.  [default: 5]"),
    _limit("--nodes", type=int, metavar="N", help="Search nodes per move; a playout counts as one."),
    _limit("--timemargin", type=int, metavar="MS", help="How late an answer may be.  [default: 50]"),
    _limit("--bank", type=float, metavar="S", help="Seconds per match in addition to --st."),
    _limit("--init-time", type=float, metavar="S", help="Seconds a bot may take to start.  [default: 60]"),
    _machine(
        "--isolation",
        type=click.Choice(["auto", "none", "T1", "T2", "T3"]),
        help="Isolation of bots.  [default: auto]",
    ),
    _machine(
        "--require-tier", type=click.Choice(["T0", "T1", "T2", "T3"]), help="Refuse to run below this tier."
    ),
    _machine(
        "--require-limits",
        type=click.Choice(["kernel", "polled"]),
        help="kernel: refuse to run unless the kernel enforces the limits.  [default: polled]",
    ),
    *MACHINES,
    _machine(
        "--speed",
        type=click.Choice(["pin", "scale", "ignore"]),
        help="pin: use only worker machines within 10 % of each other's speed; scale: use all, with more "
        "seconds on slow ones and fewer on fast ones, in a rating pool of its own; ignore: use all.  "
        "[default: pin; ignore with --nodes alone]",
    ),
    _machine(
        "--concurrency",
        type=int,
        metavar="N",
        help="Matches at once; 0 = cores - 1, -k = k fewer.  [default: 0]",
    ),
    _machine(
        "--force-concurrency", is_flag=True, default=None, help="Allow more matches at once than cores."
    ),
    _end(
        "--adjudicate",
        type=click.Choice(["off", "solver"]),
        help="Who may end a match early.  [default: off]",
    ),
    _end("--max-time", type=float, metavar="S", help="Begin no match after S seconds."),
    _end("--no-recover", is_flag=True, default=None, help="The first fault of a bot stops the run."),
    _output(
        "--score-interval",
        type=int,
        metavar="N",
        help="Matches between score lines; 0 = at the end.  [default: 1]",
    ),
    _output(
        "--rating-interval",
        type=int,
        metavar="N",
        help="Matches between tables; 0 = at the end.  [default: 10]",
    ),
    _output(
        "--log",
        is_flag=True,
        default=None,
        help="Keep the messages of all matches with bots in ARENA_HOME/logs, not only those of faults.",
    ),
    _output(
        "--bot-output",
        type=click.Choice(["all", "faults", "none"]),
        help="The matches whose bot output is kept.  [default: all of up to 50, else faults]",
    ),
    _output("--event", metavar="TEXT", help="Name of the event in PGN files."),
    _output("--site", metavar="TEXT", help="Site in PGN files."),
    _output("--dry-run", is_flag=True, help="Print the plan and play nothing."),
    _output(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A TOML file; its keys are these option names.",
    ),
)
_TEST = (
    _field(
        "--sprt",
        is_flag=False,
        flag_value="gain",
        metavar="TEST",
        help="Stop when a sequential test decides: gain ([0, 30] nElo), non-regression ([-30, 0]) or "
        "elo0=,elo1=,alpha=,beta=,model=normalized|logistic.",
    ),
    _field(
        "--pairs",
        type=int,
        metavar="N",
        help="With --sprt: maximum number of pairs.  [default: as many as openings]",
    ),
    _field(
        "--then-rate",
        type=int,
        metavar="N",
        help="With --sprt: play N rated pairs after the decision.  [default: 0; arena test: 32]",
    ),
    _field(
        "--rated",
        is_flag=True,
        default=None,
        help="With --sprt: rate its matches, too, although it stopped when a bot was ahead.",
    ),
)
_RUN = (
    _machine("--fast", is_flag=True, help="Do not wait for the disk: a power cut can lose the last matches."),
    _machine("--db", **_PLACE),
    _machine("--db-insecure", **_INSECURE_FLAG),
    _end("--strict", is_flag=True, help="Exit 4 when bots forfeited or warnings were printed."),
    _output("--quiet", is_flag=True, help="Print the final tables only."),
    _output(
        "--pgnout",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write all its matches as PGN when the run ends or is stopped; FILE is replaced.",
    ),
    _output(
        "--format",
        "form",
        type=click.Choice(["text", "ndjson"]),
        default="text",
        show_default=True,
        help="How events are printed.",
    ),
)


def tournament_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options that define a tournament, and those for starting it, passed as `start`."""
    return _with(_start(command), *_GAME, *_ROUNDS, _REVERSE, *_EVENT, _STOP_WHEN, _NAME, _TUI)


def encounter_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options of a match of two bots, which may be a sequential test, and those for starting it."""
    return _with(_start(command), *_GAME, *_ROUNDS, *_TEST, _REVERSE, *_EVENT, _STOP_WHEN, _NAME, _TUI)


def sprt_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options of a sequential test and those for starting it; it sets its own number of rounds."""
    return _with(_start(command), *_GAME, *_TEST, _REVERSE, *_EVENT, _NAME, _TUI)


def event_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options that any type of tournament has, and the options for starting it."""
    return _with(_start(command), *_GAME, *_EVENT, _TUI)


def machine_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options that choose where matches are played."""
    return _with(command, *MACHINES)


def _with(
    command: Callable[..., _Result], *options: Callable[[Callable[..., _Result]], Callable[..., _Result]]
) -> Callable[..., _Result]:
    for option in reversed(options):
        command = option(command)
    return command


def run_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options of one run, which the command gets as `options`."""
    return _with(as_one("options", RunOptions)(command), *_RUN)
