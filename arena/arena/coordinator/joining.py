"""Bots that join a ladder while it is held, and leave it; the store tells whoever runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.config import parse_toml
from arena.coordinator.plan import Plan, choose_tier, tournament_limit
from arena.entrants import resolve, short
from arena.errors import ConfigError
from arena.results.addresses import find_entrants, find_tournament
from arena.results.corrections import author
from arena.sandbox.limits.exact import check_limits
from arena_db.records import Entrant
from arena_plugins import load_game

if TYPE_CHECKING:
    from arena.entrants import Competitor
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def find_ladder(store: Store, name: str) -> TournamentRecord:
    """Return the ladder of this name.

    Raises:
        NotFoundError: there is no such tournament.
        ConfigError: it is no ladder.
    """
    record = find_tournament(store, name, unfinished=False)
    if record.type != "ladder":
        raise ConfigError(f"{record.name} is a {record.type}: nobody joins or leaves it; hold a ladder for that")
    return record


def plan_join(store: Store, ladder: TournamentRecord, text: str) -> Plan:
    """Return a bot that is to join a ladder, as a plan of it alone; its content is kept from here on.

    Args:
        store: where the ladder is.
        ladder: its record.
        text: the spec of the bot.

    Raises:
        ConfigError: it takes part already, or another bot has its name there.
        PluginError: there is no such bot.
        ArenaError: the tier or the limits that the ladder requires are not available.
    """
    config = parse_toml(ladder.config, f"the stored configuration of {ladder.name}")
    (bot,) = resolve([text], margin_ms=config.timemargin, in_place=config.isolation == "none")
    _refuse_known(store, ladder, bot, text)
    tier = choose_tier(config.isolation, config.require_tier, [bot])
    check_limits(config.require_limits, tier)
    return Plan(config, load_game(ladder.game), [bot], tournament_limit(config), tier, openings=((),))


def join(store: Store, ladder: TournamentRecord, plan: Plan, *, reason: str) -> Entrant:
    """Enter the bot of a plan that `plan_join` returned; return it with its seat.

    Raises:
        StoreError: it was entered meanwhile.
    """
    (bot,) = plan.competitors
    limit = "" if bot.limit is None else str(bot.limit)
    entrant = Entrant(seat=0, label=bot.label, bot=bot.record, limit=limit)
    return store.join(ladder.id, entrant, reason=reason, who=author())


def leave(store: Store, ladder: TournamentRecord, name: str, *, reason: str) -> list[Entrant]:
    """Take the bots of a name out of a ladder, and return them; they keep their matches.

    Raises:
        NotFoundError: no bot of the ladder is called so.
        ConfigError: those that are have left before.
    """
    found = [entrant for entrant in find_entrants(store, ladder, name) if entrant.state == "playing"]
    if not found:
        raise ConfigError(f"{name} has left {ladder.name} before; arena ladder status {ladder.name} shows who plays")
    for entrant in found:
        store.leave(ladder.id, entrant.seat, reason=reason, who=author())
    return found


def _refuse_known(store: Store, ladder: TournamentRecord, bot: Competitor, text: str) -> None:
    for other in store.entrants(ladder.id):
        if other.bot.identity == bot.record.identity:
            if other.state == "playing":
                raise ConfigError(f"{other.label} takes part in {ladder.name} already")
            return
        if other.label == bot.label:
            named = f"{text}{',' if ':' in text else ':'}name={bot.label}-2"
            raise ConfigError(
                f"{bot.label} is in {ladder.name} with other content ({short(other.bot.content)}, now "
                f"{short(bot.content)}), whose matches stay its own; give the new one a name of its own: "
                f"arena ladder join {ladder.name} {named}"
            )
