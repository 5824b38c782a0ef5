"""Bots that join a ladder while it is held, and leave it; the store tells whoever runs it."""

from __future__ import annotations

import shlex
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from arena.coordinator.config import parse_toml
from arena.coordinator.plan import Plan, choose_tier, tournament_limit
from arena.entrants import resolve, short
from arena.errors import ConfigError
from arena.results.addresses import find_entrants, find_tournament
from arena.results.corrections import author
from arena.results.history import rate_now
from arena.results.tournaments import refuse_copy, state_of
from arena.sandbox.limits.exact import check_limits
from arena_db.records import Entrant
from arena_plugins import load_game
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from arena.entrants import Competitor
    from arena_db.records import BotRecord, TournamentRecord
    from arena_db.store import Store


class LadderStatus(NamedTuple):
    """Where a ladder stands."""

    name: str
    state: str
    """running, paused, stopped, finished, or left where its coordinator is gone."""
    playing: tuple[str, ...]
    """Labels of the bots that are paired."""
    left: tuple[str, ...]
    """Labels of those that are not any more."""
    num_matches: int
    """Matches with a result."""
    widest: float
    """Widest error of a bot that plays, Elo; infinite where one has no matches."""
    goal: float | None
    """What it is to come down to; None plays without an end."""

    def __str__(self) -> str:
        """Say it in a line or two."""
        state = "stopped, as its coordinator is gone" if self.state == "left" else self.state
        left = f"; left: {', '.join(self.left)}" if self.left else ""
        widest = "not all are rated yet" if self.widest == inf else f"widest error {self.widest:.0f} Elo"
        goal = "no goal" if self.goal is None else f"goal {self.goal:g} Elo"
        return (
            f"{self.name} is {state}: {self.num_matches} matches; {widest}, {goal}\n"
            f"{len(self.playing)} play: {', '.join(self.playing)}{left}"
        )


def ladder_status(store: Store, ladder: TournamentRecord) -> LadderStatus:
    """Return where a ladder stands by all matches that are stored now.

    Raises:
        ArenaError: no ratings fit its results.
    """
    entrants = store.entrants(ladder.id)
    playing = [entrant for entrant in entrants if entrant.state == "playing"]
    point = rate_now(store, ladder.id, len(entrants))
    errors = {} if point is None else {rating.seat: rating.error for rating in point.ratings}
    return LadderStatus(
        ladder.name,
        state_of(store, ladder),
        tuple(entrant.label for entrant in playing),
        tuple(entrant.label for entrant in entrants if entrant.state != "playing"),
        ladder.num_done,
        max((errors.get(entrant.seat, inf) for entrant in playing), default=inf),
        parse_toml(ladder.config, f"the stored configuration of {ladder.name}").error_goal(),
    )


def find_ladder(store: Store, name: str) -> TournamentRecord:
    """Return the ladder of this name.

    Raises:
        NotFoundError: there is no such tournament.
        ConfigError: it is no ladder.
    """
    record = find_tournament(store, name, unfinished=False)
    if record.type != "ladder":
        raise ConfigError(
            f"{record.name} is a {record.type}, which nobody joins or leaves; arena ladder run holds a ladder"
        )
    return record


def find_open_ladder(store: Store, name: str) -> TournamentRecord:
    """Return the ladder of this name, which bots may join or leave.

    Raises:
        NotFoundError: there is no such tournament.
        ConfigError: it is no ladder, has not begun, or came from another store by a merge.
    """
    record = find_ladder(store, name)
    refuse_copy(store, record)
    if not record.has_begun:
        raise ConfigError(
            f"{name} is {record.state} and has not begun; arena ladder run {name} BOT BOT begins it"
        )
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
    """Withdraw the bots of a name from a ladder, and return them; they keep their matches.

    Raises:
        NotFoundError: no bot of the ladder is called so.
        ConfigError: those that are have left before.
    """
    found = [entrant for entrant in find_entrants(store, ladder, name) if entrant.state == "playing"]
    if not found:
        raise ConfigError(f"{name} has left {ladder.name} before")
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
            spec = Spec.parse(text)
            named = spec._replace(options={**spec.options, "name": f"{bot.label}-2"})
            raise ConfigError(
                f"{bot.label} is the name of another bot in {ladder.name}, which keeps its matches: "
                f"{_describe(other.bot)}, and this is {_describe(bot.record)}; give it another name: "
                f"arena ladder join {ladder.name} {shlex.quote(str(named))}"
            )


def _describe(bot: BotRecord) -> str:
    return f"{bot.spec} with content {short(bot.content)}"
