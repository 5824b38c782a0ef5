"""What the form of a new tournament stands for, and how long it will take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.errors import ArenaError, ConfigError
from arena.home import user_config
from arena.live.labels import show_name
from arena.live.tournaments import Estimate
from arena.results.durations import Durations, read_durations
from arena.sandbox.tier import Tier
from arena.watching.query import Cancelled
from arena_plugins import OptionError, game_spec
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.coordinator.config import TournamentConfig
    from arena.live.tournaments import TournamentForm
    from arena.referee.timecontrol import TimeControl
    from arena.watching.query import Query
    from arena_plugins import Game

_LIMITS: Final = ("tc", "st", "nodes", "bank")


def estimate(query: Query, form: TournamentForm) -> Estimate:
    """Reckon how long the tournament of a form will take, from stored matches of its bots and its limit.

    Raises:
        ArenaError: it cannot be held as it is written.
    """
    from arena.coordinator.kinds import NEWEST_PLAN
    from arena.coordinator.plan import choose_tier, tournament_limit
    from arena.entrants import resolve
    from arena.executor.pools import num_workers
    from arena.pairing.schedule import FixedPlan
    from arena.sandbox.resources import num_cores
    from arena_plugins import load_game

    config = config_of(form)
    if config.type in ("swiss", "knockout", "ladder"):
        raise ConfigError(f"how long a {config.type} takes depends on its results; hold it from a shell")
    game = load_game(config.game)
    bots = resolve(config.bots, margin_ms=config.timemargin, twins=config.type == "match", keep=False)
    tier = choose_tier(config.isolation, config.require_tier, bots)
    for bot in bots:
        _check_options(bot.spec, game, tier)
    limit = tournament_limit(config)
    one_round = FixedPlan(
        kind=config.type,
        num_bots=len(bots),
        rounds=1,
        games=config.games,
        seeds=config.seeds,
        openings=[()],
        version=NEWEST_PLAN,
    )
    pairs = [
        (bots[match.first].record.identity, bots[match.second].record.identity)
        for match in one_round.matches()
    ]
    workers = num_workers(config.concurrency, num_cores())
    matches = one_round.total * config.rounds
    specs = {bot.record.identity: bot.record.spec for bot in bots}
    known = _known(query, specs, game=game_spec(game), limit=str(limit), tier=tier.value)
    seconds, is_bound = known.expect(pairs, _longest(limit, game.max_length))
    meeting = {frozenset(pair) for pair in pairs}
    return Estimate(
        matches=matches,
        workers=workers,
        # A match is played by one worker, so a few matches take as long as one.
        seconds=None if seconds is None else seconds * max(1.0, matches / workers),
        is_bound=is_bound,
        num_stored=known.num_matches,
        num_pairs=len(meeting),
        num_known=len(meeting & known.pairs.keys()),
    )


def _known(query: Query, bots: Mapping[str, str], *, game: str, limit: str, tier: str) -> Durations:
    """Return what the store says about matches of these bots; nothing where there is no store yet."""
    try:
        with query.store() as store:
            return read_durations(store, bots, game=game, limit=limit, tier=tier)
    except Cancelled:
        raise
    except ArenaError:
        return Durations({})


_checked: Final[dict[tuple[str, str, str], str]] = {}
"""Why bots refuse their options, by spec, game and tier; empty if they do not."""


def _check_options(spec: str, game: Game, tier: Tier) -> None:
    """Refuse a bot that refuses its options; it is started for that, once, in a process of its own.

    Raises:
        OptionError: says which option, and the nearest.
    """
    if not Spec.parse(spec).options:
        return
    # No bot is loaded into the dashboard, also where its matches are played without isolation.
    apart = Tier.T1 if tier is Tier.T0 else tier
    key = (spec, game_spec(game), apart.value)
    if key not in _checked:
        from arena.entrants import resolve
        from arena.executor.preflight import refused_option

        # A bot is started from its kept content, as it is when the tournament begins.
        (bot,) = resolve([spec], margin_ms=0)
        _checked[key] = refused_option(bot, game, tier=apart)
    if _checked[key]:
        raise OptionError(_checked[key])


def installed_bots() -> str:
    """Give the names of all bots that can be entered."""
    from arena.shelf.listing import list_bots

    return " ".join(map(show_name, list_bots().entries))


def config_of(form: TournamentForm) -> TournamentConfig:
    """Give the configuration that a form stands for, over the user's own file; without its further options.

    Raises:
        ConfigError: a value cannot be used.
    """
    from arena.coordinator.config import config_from, read_toml

    form.words()
    given: dict[str, object] = dict(form.options())
    for name in ("rounds", "games", "nodes", "concurrency"):
        if name in given:
            given[name] = _number(name, str(given[name]))
    if "st" in given:
        given["st"] = _seconds(str(given["st"]))
    path = user_config()
    usual = {} if path is None else read_toml(path)
    if any(name in given for name in _LIMITS):
        usual = {name: value for name, value in usual.items() if name not in _LIMITS}
    config = config_from({**usual, **given, "bots": form.bot_specs(), "type": form.type}, "the form")
    config.check()
    return config


def _longest(limit: TimeControl, plies: int) -> float | None:
    """Give the seconds that a match can take by its clocks."""
    if limit.mode == "fischer":
        periods = 1 if limit.moves is None else 1 + plies // 2 // limit.moves
        return (2 * limit.base_ms * periods + plies * limit.inc_ms) / 1000
    return (plies * limit.move_ms + 2 * limit.base_ms) / 1000


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ConfigError(f'{name}: "{text}" is no whole number') from error


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f'st: "{text}" is no number of seconds') from error
