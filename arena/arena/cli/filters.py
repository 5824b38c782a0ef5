"""Options that choose matches; each stands for a term of the filter language."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

import click

from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from arena.results.condition import Condition
    from arena_db.records import MatchFilter
    from arena_db.store import Store

_Result = TypeVar("_Result")


class _Option(NamedTuple):
    """An option and the term of the filter language that it stands for."""

    flag: str
    word: str
    metavar: str
    help: str
    sign: str = ""
    """The comparison sign put before the value; empty for none."""
    is_repeated: bool = False

    @property
    def parameter(self) -> str:
        """Name of the parameter that click passes."""
        return f"where_{self.flag.strip('-').replace('-', '_')}"


_OPTIONS: Final = (
    _Option("--game", "game", "SPEC", "Only matches of this game."),
    _Option("--tournament", "tournament", "ID", "Only matches of this tournament; * and ? are wild."),
    _Option("--bot", "bot", "BOT", "Only matches of this bot, by name, spec or label; mcts* is any such."),
    _Option("--vs", "vs", "BOT", "Only matches against this bot."),
    _Option(
        "--since", "date", "TIME", "Only matches begun at or after this UTC time (2026-01-31T12:00).", ">="
    ),
    _Option("--until", "date", "TIME", "Only matches begun before this UTC time.", "<"),
    _Option("--tc", "tc", "CLOCK", "Only matches with this clock, written as for a tournament: 10+0.1."),
    _Option("--st", "st", "S", "Only matches with S seconds a move."),
    _Option("--nodes", "nodes", "N", "Only matches with N search nodes a move."),
    _Option("--pool", "pool", "NAME", "Only matches of this pool, limit and kind of run: '5/move hosted'."),
    _Option("--min-tier", "tier", "TIER", "Only matches with at least this isolation, T0 to T3.", ">="),
    _Option("--machine", "machine", "NAME", "Only matches that this worker machine played."),
    _Option(
        "--termination", "end", "KIND", "Only matches that ended like this: rules, time_move, crash, ..."
    ),
    _Option("--result", "result", "RESULT", "Only matches with this result, 1-0 if the first player won."),
    _Option(
        "--ply",
        "ply",
        "COMPARISON",
        "Only matches with this number of plies: '<20', '>=7', 42; repeatable.",
        is_repeated=True,
    ),
    _Option("--opening", "opening", "MOVES", "Only matches from this opening: 'd d', 'd*', none."),
    _Option(
        "--duration",
        "duration",
        "COMPARISON",
        "Only matches of this duration, in seconds or with a unit: '>10', '<2m'.",
        is_repeated=True,
    ),
    _Option(
        "--mistakes",
        "mistakes",
        "COMPARISON",
        "Only graded matches with this number of mistakes: '>2'.",
        is_repeated=True,
    ),
    _Option("--graded", "graded", "JUDGE", "Only matches that this judge graded; yes or no for any judge."),
)
_WHERE: Final = "Further conditions, as in 'bot:mcts* ply<20' (all terms: docs/how-to/look-at-results.md)."
_BOTS: Final[Mapping[str, str]] = {
    "--bot": "Show only the rows of this bot, by name, spec or label; ratings and ranks stay those of all.",
    "--vs": "With --refit: rate only matches against this bot.",
    "--pool": "The pool to rate, or all.  [default: the one with most matches]",
}
"""Help texts of options that mean something else in a table of ratings."""


class MatchChoice(NamedTuple):
    """The matches that the options of a command choose."""

    condition: Condition
    unrated: bool
    """Whether matches that do not count for ratings are among them."""

    def to_filter(self, store: Store) -> MatchFilter:
        """Return the choice as a filter of the store.

        Raises:
            ConfigError: the opening is legal in none of the games.
            PluginError: there is no such game.
        """
        return self.condition.to_filter(store, rated_only=not self.unrated)


def match_options(unrated: str) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Return a decorator that adds the options that choose matches.

    The command gets them as a `MatchChoice`, its first argument.

    Args:
        unrated: help text of `--unrated`.
    """

    def add(command: Callable[..., _Result]) -> Callable[..., _Result]:
        @wraps(command)
        def with_choice(condition: Condition, **given: object) -> _Result:
            return command(MatchChoice(condition, bool(given.pop("unrated"))), **given)

        return _with(click.option("--unrated", is_flag=True, help=unrated)(with_choice), _OPTIONS, {})

    return add


def table_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options that choose the matches of a rating table, passed on as one condition."""
    words = {"game", "tournament", "bot", "vs", "date", "tc", "st", "nodes", "pool", "tier", "machine"}
    return _with(command, [option for option in _OPTIONS if option.word in words], _BOTS)


def versus_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options that choose matches of two bots, passed on as one condition."""
    words = {"game", "tournament", "date", "tc", "st", "nodes", "pool", "tier", "machine"}
    return _with(command, [option for option in _OPTIONS if option.word in words], {})


def _with(
    command: Callable[..., _Result], options: Iterable[_Option], helps: Mapping[str, str]
) -> Callable[..., _Result]:
    options = tuple(options)

    @wraps(command)
    def with_condition(**given: object) -> _Result:
        typed = given.pop("where_text")
        chosen = [(option, given.pop(option.parameter)) for option in options]
        return command(_condition("" if typed is None else str(typed), chosen), **given)

    wrapped: Callable[..., _Result] = with_condition
    wrapped = click.option("--where", "where_text", metavar="FILTER", help=_WHERE)(wrapped)
    for option in reversed(options):
        wrapped = click.option(
            option.flag,
            option.parameter,
            metavar=option.metavar,
            multiple=option.is_repeated,
            help=helps.get(option.flag, option.help),
        )(wrapped)
    return wrapped


def _condition(typed: str, chosen: Iterable[tuple[_Option, object]]) -> Condition:
    """Merge all options into one condition.

    Raises:
        click.BadParameter: an option has an invalid value; the error names the option.
        ConfigError: conditions exclude each other.
    """
    from arena.results.condition import read_condition, read_pairs

    pairs: list[tuple[str, str]] = []
    for option, given in chosen:
        own = [(option.word, f"{option.sign}{text}") for text in _texts(given)]
        try:
            read_pairs(own)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint=f"'{option.flag}'") from error
        pairs += own
    try:
        pairs += read_condition(typed).pairs()
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="'--where'") from error
    return read_pairs(pairs)


def _texts(given: object) -> list[str]:
    """Return the values of an option: several if it may be repeated, none if it was not given."""
    if isinstance(given, tuple):
        return [str(text) for text in cast("tuple[object, ...]", given)]
    return [] if given is None else [str(given)]
