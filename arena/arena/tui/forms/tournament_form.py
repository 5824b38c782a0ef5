"""The configuration of a tournament entered in a form, and the time that its matches are expected to take."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.errors import ArenaError, ConfigError
from arena.home import user_config
from arena.live.labels import show_name
from arena.live.tournament_views import Estimate
from arena.sandbox.tier import Tier
from arena.watching.query import Cancelled
from arena_db.records import MatchFilter
from arena_plugins import OptionError, game_spec
from arena_plugins.contract import Termination
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.coordinator.config import TournamentConfig
    from arena.live.tournament_views import TournamentForm
    from arena.pairing.schedule import FixedPlan
    from arena.referee.timecontrol import TimeControl
    from arena.watching.query import Query
    from arena_db.store import Store
    from arena_plugins import Game

    Pair = frozenset[str]
    """Identities of two bots; only one for a bot that plays itself."""

_LIMITS: Final = ("tc", "st", "nodes", "bank")


class _Size(NamedTuple):
    """The number of matches of a tournament."""

    matches: int | None
    """The number, in some types the minimum (`is_least`) or the expected one; None for a ladder."""
    is_least: bool = False
    note: str = ""


def estimate(query: Query, form: TournamentForm) -> Estimate:
    """Estimate how long the tournament of a form will take, from stored matches of its bots with its limit.

    Raises:
        ArenaError: the tournament cannot be run with these settings.
    """
    from arena.coordinator.plan import choose_tier, tournament_limit
    from arena.entrants import resolve
    from arena.executor.cores import num_workers
    from arena.sandbox.resources import num_cores
    from arena_plugins import load_game

    config = config_of(form)
    game = load_game(config.game)
    if config.sprt is not None:
        from arena.coordinator.sprt_plan import settle, with_opponent

        config = settle(with_opponent(config), game)
    bots = resolve(config.bots, margin_ms=config.timemargin, twins=config.type == "match", keep=False)
    tier = choose_tier(config.isolation, config.require_tier, bots)
    for bot in bots:
        _check_options(bot.spec, game, tier)
    limit = tournament_limit(config)
    identities = [bot.record.identity for bot in bots]
    pairs = [(identities[one], identities[other]) for one, other in _meetings(config, len(bots))]
    workers = num_workers(config.concurrency, num_cores())
    size = _size(config, len(bots))
    specs = {bot.record.identity: bot.record.spec for bot in bots}
    known = _known(query, specs, game=game_spec(game), limit=str(limit), tier=tier.value)
    seconds, is_bound = known.expect(pairs, _longest(limit, game.max_length))
    meeting = {frozenset(pair) for pair in pairs}
    if seconds is not None and size.matches is not None:
        # A match occupies one worker, so a few matches take as long as one.
        seconds *= max(1.0, size.matches / workers)
    return Estimate(
        matches=size.matches,
        workers=workers,
        seconds=seconds,
        is_least=size.is_least,
        note=size.note,
        is_bound=is_bound,
        num_stored=known.num_matches,
        num_pairs=len(meeting),
        num_known=len(meeting & known.pairs.keys()),
    )


def _meetings(config: TournamentConfig, num_bots: int) -> list[tuple[int, int]]:
    """Return the meetings of one round; if results decide the pairings, every pair of bots once."""
    if config.type in {"swiss", "knockout", "ladder"}:
        return list(combinations(range(num_bots), 2))
    return [(match.first, match.second) for match in _one_round(config, num_bots).matches()]


def _one_round(config: TournamentConfig, num_bots: int) -> FixedPlan:
    from arena.coordinator.kinds import NEWEST_PLAN
    from arena.pairing.schedule import FixedPlan

    kind = config.type
    if kind in ("swiss", "knockout", "ladder"):
        raise ConfigError(f"a {kind} has no plan that is fixed beforehand")
    return FixedPlan(
        kind=kind,
        num_bots=num_bots,
        rounds=1,
        games=config.games,
        seeds=config.seeds,
        openings=[()],
        version=NEWEST_PLAN,
    )


def _size(config: TournamentConfig, num_bots: int) -> _Size:
    """Return the number of matches of a tournament, as far as it is known beforehand."""
    if config.type == "ladder":
        goal = config.error_goal()
        end = "it is stopped" if goal is None else f"every rating is within {goal:g} Elo"
        return _Size(None, note=f"it plays until {end}")
    if config.type == "swiss":
        return _Size(config.rounds * (num_bots // 2) * 2 * config.encounter_pairs)
    if config.type == "knockout":
        # Each encounter eliminates a bot, or gives it the second defeat; the second final is not always
        # needed.
        num = 2 * num_bots - 2 if config.double else num_bots - 1
        num += config.third_place and num_bots > 3  # noqa: PLR2004 # semifinals take four
        return _Size(num * 2 * config.encounter_pairs, is_least=config.double or config.tie_pairs > 0)
    if config.sprt is not None:
        from arena.results.sequential import expectation
        from arena.schedules.sprt_words import parse_sprt

        test, most = parse_sprt(config.sprt), config.pairs or 0
        num = round(test.expected_pairs(0.0, most)) + config.then_rate
        return _Size(2 * num, note=f"{expectation(test, most)}; if equal, with those rated after it")
    return _Size(_one_round(config, num_bots).total * config.rounds)


def _known(query: Query, bots: Mapping[str, str], *, game: str, limit: str, tier: str) -> Durations:
    """Return the durations of stored matches of these bots; empty if there is no store yet."""
    try:
        with query.store() as store:
            return read_durations(store, bots, game=game, limit=limit, tier=tier)
    except Cancelled:
        raise
    except ArenaError:
        return Durations({})


_checked: Final[dict[tuple[str, str, str], str]] = {}
"""Error texts of bots that refuse their options, by spec, game and tier; empty for accepted options."""


def _check_options(spec: str, game: Game, tier: Tier) -> None:
    """Check that a bot accepts its options; the bot is started once for this, in a process of its own.

    Raises:
        OptionError: the bot refuses an option; the message names it and the nearest valid one.
    """
    if not Spec.parse(spec).options:
        return
    # No bot is loaded into the dashboard, even if its matches are played without isolation.
    apart = Tier.T1 if tier is Tier.T0 else tier
    key = (spec, game_spec(game), apart.value)
    if key not in _checked:
        from arena.entrants import resolve
        from arena.executor.preflight import refused_option

        # The bot is started from its kept content, which is what a tournament uses.
        (bot,) = resolve([spec], margin_ms=0)
        _checked[key] = refused_option(bot, game, tier=apart)
    if _checked[key]:
        raise OptionError(_checked[key])


def installed_bots() -> str:
    """Return the names of all bots that can be entered."""
    from arena.shelf.listing import list_bots

    return " ".join(map(show_name, list_bots().entries))


def config_of(form: TournamentForm) -> TournamentConfig:
    """Return the configuration of a form, over the user's own file; without the field of further options.

    Raises:
        ConfigError: a value cannot be used.
    """
    from arena.coordinator.config import THEN_RATE, config_from, read_toml

    form.words()
    given: dict[str, object] = dict(form.options())
    for name in ("rounds", "games", "nodes", "concurrency", "pairs", "tie-pairs", "then-rate"):
        if name in given:
            given[name] = _number(name, str(given[name]))
    given |= dict.fromkeys({"double", "third-place"} & given.keys(), True)
    if "st" in given:
        given["st"] = _seconds(str(given["st"]))
    if "until" in given:
        given["stop-when"] = given.pop("until")
    path = user_config()
    usual = {} if path is None else read_toml(path)
    if any(name in given for name in _LIMITS):
        usual = {name: value for name, value in usual.items() if name not in _LIMITS}
    kind = form.type
    if kind == "test":
        kind, given = "match", {"sprt": "gain", "then-rate": THEN_RATE, **given}
    config = config_from({**usual, **given, "bots": form.bot_specs(), "type": kind}, "the form")
    config.check()
    return config


def _longest(limit: TimeControl, plies: int) -> float | None:
    """Return the longest duration of a match in seconds that its clocks allow."""
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


_MOST: Final = 300
"""Maximum number of newest matches read per bot: enough for a mean within a few percent."""


class Expected(NamedTuple):
    """The expected duration of planned matches."""

    seconds: float | None
    """Mean seconds per match; None if a pair is unknown and no clock bounds it."""
    is_bound: bool
    """Whether the mean includes upper bounds from clocks in place of measured durations."""


class Durations(NamedTuple):
    """Durations of stored matches, used to predict others."""

    pairs: Mapping[Pair, Sequence[float]]
    """Seconds of each match, by its two bots."""

    @property
    def num_matches(self) -> int:
        """Number of matches that were read."""
        return sum(map(len, self.pairs.values()))

    def expect(self, planned: Iterable[tuple[str, str]], longest: float | None) -> Expected:
        """Return the expected duration of planned matches.

        A pair that has not met is estimated from its bots' matches against others or, if there are none, from
        the maximum that the clocks allow.

        Args:
            planned: identities of the two bots of each match.
            longest: maximum seconds that clocks allow a match; None if there is no maximum.
        """
        known = [self._of(frozenset(pair)) for pair in planned]
        is_bound = None in known
        if is_bound and longest is None:
            return Expected(None, is_bound=False)
        seconds = [longest or 0.0 if each is None else each for each in known]
        return Expected(sum(seconds) / len(seconds) if seconds else None, is_bound=is_bound)

    def _of(self, pair: Pair) -> float | None:
        met = self.pairs.get(pair) or [
            seconds for other, each in self.pairs.items() if other & pair for seconds in each
        ]
        return sum(met) / len(met) if met else None


def read_durations(store: Store, bots: Mapping[str, str], *, game: str, limit: str, tier: str) -> Durations:
    """Return the durations of matches among some bots.

    Unrated matches, such as those of people, are left out, as are other tiers, in which bots start at another
    speed, and walkovers, which are not played.

    Args:
        store: the store with the matches.
        bots: specs by identity.
        game: canonical spec.
        limit: text of the limit, as in the name of a pool.
        tier: isolation tier of the matches.
    """
    found: defaultdict[Pair, list[float]] = defaultdict(list)
    seen: set[int] = set()
    for spec in sorted(set(bots.values())):
        for match in store.matches.newest(
            MatchFilter(game=game, limit=limit, tier=tier, bot=spec), limit=_MOST
        ):
            is_among = match.first in bots and match.second in bots
            if is_among and match.id not in seen and match.termination != Termination.WALKOVER:
                seen.add(match.id)
                found[frozenset((match.first, match.second))].append(match.duration_ms / 1000)
    return Durations(found)
