"""Makes a stored tournament from a configuration."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.analysis import has_solver
from arena.coordinator.config import Refusal, TournamentConfig
from arena.coordinator.kinds import NEWEST_PLAN, first_batch, planned_beforehand, schedule_of
from arena.entrants import Competitor, LeftOut, resolve
from arena.errors import ArenaError, ConfigError
from arena.referee.timecontrol import TimeControl
from arena.sandbox.limits.exact import check_limits
from arena.sandbox.tier import Tier
from arena.sandbox.tier_grades import default_tier, grade
from arena_db.records import Entrant, NewTournament, PlannedMatch, TournamentRecord
from arena_plugins import Game, game_spec, load_game
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.coordinator.kinds import PlanSource
    from arena_db.pools import PoolRecord
    from arena_db.store import Store

_MAX_TOLD = 1_000
"""Maximum number of stored characters of a refused bot's spec, and of the reason."""
_FEWEST = 2
"""Minimum number of bots in a tournament."""


class Plan(NamedTuple):
    """A tournament that is ready to be stored or played."""

    config: TournamentConfig
    """The configuration, with all random and derived values filled in."""
    game: Game
    competitors: list[Competitor]
    limit: TimeControl
    tier: Tier
    source: PlanSource | None = None
    """The source of its matches; None for a stored tournament, whose schedule is created when needed."""
    openings: tuple[tuple[int, ...], ...] = ()
    """Opening of the first planned match of each bot, by seat; `()` if it has none yet."""
    notes: tuple[str, ...] = ()
    """Information for the screen that is not a warning."""
    left_out: tuple[LeftOut, ...] = ()
    """Bots that were refused and left out, which `--on-preflight skip` allows."""
    aside: tuple[LeftOut, ...] = ()
    """Bots that joined a stored tournament, have not played yet and cannot be started here; its run withdraws
    them."""


def make_plan(config: TournamentConfig) -> Plan:
    """Plan the matches of a tournament; nothing is stored and no bot is started.

    The returned configuration contains the seed that was drawn, and absolute paths.

    Raises:
        ConfigError: the configuration is not valid.
        PluginError: its game or one of its bots cannot be found.
        ArenaError: the tier or the limits it requires are not available.
    """
    config.check()
    config = _with_opponent(config)
    # The configuration may come from a stored tournament, which had its own refused bots.
    config = msgspec.structs.replace(config, refused=(), looks=1)
    if config.srand is None:
        # 63 bits, because the integers of a store are signed and have 64.
        config = msgspec.structs.replace(config, srand=secrets.randbits(63))
    game = load_game(config.game)
    _check_adjudication(config, game)
    config = _settled(config, game)
    left_out: list[LeftOut] = []
    competitors = _competitors(config, left_out if config.on_preflight == "skip" else None)
    # Before the schedule is made, which refers to the seats of the bots that are left.
    config = _without(config, competitors, left_out)
    # Called only for its errors, before anything is stored; `store_plan` calls it for the values.
    _anchors(config, competitors)
    source = schedule_of(config, game, len(competitors), NEWEST_PLAN)
    tier = choose_tier(config.isolation, config.require_tier, competitors)
    check_limits(config.require_limits, tier)
    if config.log and tier is Tier.T0:
        raise ConfigError(
            "--log: bots in the arena's own process exchange no messages; omit --isolation none"
        )
    if config.speed == "scale" and tier is Tier.T0:
        raise ConfigError("--speed scale needs each bot in a process of its own; omit --isolation none")
    return Plan(
        config,
        game,
        competitors,
        tournament_limit(config),
        tier,
        source,
        first_openings(planned_beforehand(source, len(competitors)), len(competitors)),
        left_out=tuple(left_out),
    )


def _with_opponent(config: TournamentConfig) -> TournamentConfig:
    """Return the configuration with the second bot of a test, if only one is named."""
    if config.sprt is None:
        return config
    from arena.coordinator.sprt_plan import with_opponent

    return with_opponent(config)


def _settled(config: TournamentConfig, game: Game) -> TournamentConfig:
    """Return the configuration with the parameters of a sequential test filled in."""
    if config.sprt is None:
        return config
    # Imported here, because it imports NumPy, which would delay the first match of other tournaments.
    from arena.coordinator.sprt_plan import settle

    return settle(config, game)


def leave_out(plan: Plan, refused: Sequence[LeftOut]) -> Plan:
    """Return the plan without some of its bots; their seats are those in `plan`.

    Raises:
        ConfigError: too few are left.
    """
    if not refused:
        return plan
    gone = {bot.seat for bot in refused}
    competitors = [each for seat, each in enumerate(plan.competitors) if seat not in gone]
    left_out = (*plan.left_out, *refused)
    config = _without(plan.config, competitors, refused)
    source = schedule_of(config, plan.game, len(competitors), NEWEST_PLAN)
    openings = first_openings(planned_beforehand(source, len(competitors)), len(competitors))
    return plan._replace(
        config=config, competitors=competitors, source=source, openings=openings, left_out=left_out
    )


def _without(
    config: TournamentConfig, competitors: Sequence[Competitor], refused: Sequence[LeftOut]
) -> TournamentConfig:
    """Return a configuration of the remaining bots; the seeds of a gauntlet stay the first ones.

    Raises:
        ConfigError: too few are left.
    """
    seeds = config.seeds - sum(bot.seat < config.seeds for bot in refused)
    if refused and (len(competitors) < _FEWEST or (seeds < 1 and config.type == "gauntlet")):
        what = "bots" if len(competitors) < _FEWEST else "seeds"
        reasons = "; ".join(f"{bot.bot}: {bot.why}" for bot in refused)
        raise ConfigError(f"too few {what} are left for a tournament; these were refused: {reasons}")
    specs = tuple(competitor.spec for competitor in competitors)
    # `check` demands at least 1, although only a gauntlet uses it.
    return msgspec.structs.replace(config, bots=specs, seeds=max(seeds, 1))


def _check_adjudication(config: TournamentConfig, game: Game) -> None:
    if config.adjudicate == "solver" and not has_solver(game):
        raise ConfigError(f"--adjudicate solver: there is no exact solver for {game_spec(game)}; omit it")


def tournament_limit(config: TournamentConfig) -> TimeControl:
    """Return the time limit of bots that have no limit of their own."""
    return TimeControl.parse(
        config.tc, config.st, config.nodes, bank=config.bank, margin_ms=config.timemargin
    )


def _competitors(config: TournamentConfig, left_out: list[LeftOut] | None) -> list[Competitor]:
    # In this process bots run from where they are installed, so no copy is needed.
    return resolve(
        config.bots,
        margin_ms=config.timemargin,
        twins=config.type == "match",
        in_place=config.isolation == "none",
        left_out=left_out,
    )


def first_openings(matches: Iterable[PlannedMatch], num_bots: int) -> tuple[tuple[int, ...], ...]:
    """Return the opening of the first match of each bot, by seat; stops reading once all are found."""
    found: dict[int, tuple[int, ...]] = {}
    for match in matches:
        for seat in (match.first, match.second):
            found.setdefault(seat, match.opening)
        if len(found) == num_bots:
            break
    return tuple(found.get(seat, ()) for seat in range(num_bots))


def _anchors(config: TournamentConfig, competitors: Sequence[Competitor]) -> dict[int, float]:
    """Return the Elo of the anchors by seat.

    Raises:
        ConfigError: an anchor matches none of the bots, or several.
    """
    found: dict[int, float] = {}
    for name, elo in config.anchor_elos():
        seats = [
            seat
            for seat, bot in enumerate(competitors)
            if name in {bot.label, bot.record.name, bot.record.spec, bot.spec}
        ]
        if len(seats) != 1:
            labels = ", ".join(bot.label for bot in competitors)
            raise ConfigError(f"--anchor {name} names {len(seats)} of the bots; name one of: {labels}")
        found[seats[0]] = elo
    return found


def choose_tier(isolation: str, require_tier: str | None, competitors: Sequence[Competitor]) -> Tier:
    """Return the isolation tier in which the bots run.

    Args:
        isolation: auto, none or a tier.
        require_tier: the minimum tier; None for the minimum that these bots need.
        competitors: the bots.

    Raises:
        ConfigError: the tier is not available on this machine, or not permitted for these bots.
        ArenaError: the tier is below the required one.
    """
    default = default_tier()
    tier = Tier({"auto": default.value, "none": "T0"}.get(isolation, isolation))
    apart = [competitor.label for competitor in competitors if competitor.folder]
    if tier is Tier.T0 and apart:
        raise ConfigError(
            f"bots from `arena bots install` always run sandboxed, so --isolation none is refused: "
            f"{', '.join(apart)}; omit --isolation none, or install bots that you trust with pip"
        )
    if not grade(tier).is_granted:
        raise ConfigError(
            f"tier {tier} is not available on this machine (arena doctor explains why); "
            f"--isolation auto would use {default}"
        )
    foreign = [competitor.label for competitor in competitors if competitor.is_foreign]
    required = require_tier or (Tier.T2 if foreign else Tier.T0)
    # Tiers are ordered as their names are.
    if tier < required:
        who = "" if require_tier else f" for {', '.join(foreign)}, which did not come with the arena"
        raise ArenaError(
            f"tier {required} is required{who}, but bots would run in {tier} (arena doctor shows the "
            f"available tiers); --require-tier {tier} accepts that"
        )
    return tier


def rating_pool(plan: Plan) -> PoolRecord:
    """Return the rating pool of a plan's matches."""
    return plan.limit.pool(is_hosted=plan.tier is not Tier.T0, is_scaled=plan.config.speed == "scale")


def new_tournament(plan: Plan) -> NewTournament:
    """Return the row of a plan's tournament, without entrants."""
    refused = tuple(
        Refusal(clean_text(bot.bot, _MAX_TOLD), clean_text(bot.why, _MAX_TOLD)) for bot in plan.left_out
    )
    return NewTournament(
        name=plan.config.name,
        type=plan.config.type,
        game=game_spec(plan.game),
        num_actions=plan.game.num_actions,
        pool=rating_pool(plan),
        seed=plan.config.srand or 0,
        # Without `keys`: a key file is for one machine, and another one may resume the tournament.
        config=msgspec.structs.replace(plan.config, refused=refused, keys=None).to_toml(),
        event=plan.config.event,
        site=plan.config.site,
        plan_version=NEWEST_PLAN,
    )


def store_plan(store: Store, plan: Plan, reserved: TournamentRecord | None = None) -> TournamentRecord:
    """Store a tournament with the first batch of its plan in one transaction.

    From then on the stored plan is authoritative. The schedule plans further batches when they are needed.

    Args:
        store: receives the tournament.
        plan: the tournament.
        reserved: its row, if that is stored already; then `store` holds its lease.

    Raises:
        ConfigError: the plan is that of a stored tournament.
    """
    if plan.source is None:
        raise ConfigError(f"{plan.config.name} is stored already")
    anchors = _anchors(plan.config, plan.competitors)
    entrants = [
        entrant_of(competitor, seat, anchors.get(seat)) for seat, competitor in enumerate(plan.competitors)
    ]
    new = new_tournament(plan)
    batch = first_batch(plan.source, [competitor.label for competitor in plan.competitors])
    if reserved is None:
        return store.tournaments.add(new, entrants, batch)
    return store.tournaments.begin(reserved.id, new.config, entrants, batch)


def entrant_of(competitor: Competitor, seat: int = 0, anchor: float | None = None) -> Entrant:
    """Return the entrant to store for a competitor, in tournaments and in sessions."""
    limit = "" if competitor.limit is None else str(competitor.limit)
    return Entrant(seat=seat, label=competitor.label, bot=competitor.record, limit=limit, anchor=anchor)
