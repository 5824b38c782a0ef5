"""Restores the plan of a stored tournament, each bot with the content it was entered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.config import parse_toml
from arena.coordinator.plan import Plan, choose_tier, first_openings, tournament_limit
from arena.entrants import Competitor, as_entered, entered, resolve, short
from arena.errors import ConfigError, PluginError
from arena.sandbox.limits.exact import check_limits
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_db.records import Entrant, PlannedMatch, TournamentRecord
    from arena_db.store import Store

_PAGE = 256
"""Rows of a stored plan that are read at once."""


def restore_plan(store: Store, tournament: TournamentRecord) -> Plan:
    """Restore the plan of a stored tournament.

    Raises:
        ConfigError: a bot has changed since it was entered, or a person played.
        ArenaError: the tier or the limits it requires are not available.
    """
    if tournament.type == "play":
        raise ConfigError(
            f"{tournament.name} was played by a person, so no bot can continue it; "
            f"arena play --attach {tournament.name} continues it"
        )
    config = parse_toml(tournament.config, f"the stored configuration of {tournament.name}")
    listed = store.entrants(tournament.id)
    # Bots that joined later are not in the configuration.
    texts = (*config.bots, *(entrant.bot.spec for entrant in listed[len(config.bots) :]))
    competitors = [
        restore_competitor(
            text,
            was,
            tournament.name,
            margin_ms=config.timemargin,
            in_place=config.isolation == "none",
        )
        for text, was in zip(texts, listed, strict=True)
    ]
    unhashed = [bot.label for bot in competitors if not bot.record.content]
    note = f"{', '.join(unhashed)}: code was not hashed when {tournament.name} began, so it may have changed"
    game = load_game(tournament.game)
    tier = choose_tier(config.isolation, config.require_tier, competitors)
    check_limits(config.require_limits, tier)
    return Plan(
        config,
        game,
        competitors,
        tournament_limit(config),
        tier,
        openings=first_openings(_stored_plan(store, tournament.id), len(competitors)),
        notes=(note,) if unhashed else (),
    )


def _stored_plan(store: Store, tournament: int) -> Iterator[PlannedMatch]:
    """Yield the planned matches of a tournament, read page by page."""
    after = 0
    while page := store.planned(tournament, after=after, limit=_PAGE):
        yield from page
        after = page[-1].number


def restore_competitor(
    text: str, was: Entrant, tournament: str, *, margin_ms: int, in_place: bool = False
) -> Competitor:
    """Return a competitor with the content it was entered with, even if its files have changed since.

    Args:
        text: its spec, with the files it names by absolute paths.
        was: the stored entrant.
        tournament: the name of the tournament it was entered in.
        margin_ms: the margin of the time limit set by its spec, in milliseconds.
        in_place: whether it runs in this process, from where it is installed; then it must be unchanged.

    Raises:
        ConfigError: its content is no longer kept, and its files have changed.
        PluginError: its content is no longer kept, and its files are gone.
    """
    competitor = None if in_place else entered(was.bot, was.label)
    if competitor is not None:
        return competitor
    way_out = "restore the old version, or start a new tournament"
    try:
        (now,) = resolve([text], margin_ms=margin_ms, in_place=in_place)
    except PluginError as error:
        raise PluginError(f"{was.label} of {tournament} cannot be found again: {error}; {way_out}") from error
    competitor = as_entered(now, was.bot)
    if competitor is None:
        before = (
            f"content {short(was.bot.content)}, now" if was.bot.content else "code that was not hashed; now"
        )
        raise ConfigError(
            f"{was.label} has changed since {tournament} began: it was {was.bot.distribution} "
            f"{was.bot.version}, now {now.record.version}, with {before} {short(now.content)}; {way_out}"
        )
    return msgspec.structs.replace(competitor, label=was.label)
