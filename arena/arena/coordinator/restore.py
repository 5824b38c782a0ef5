"""Restores the plan of a stored tournament, each bot with its original content, and adds bots that joined."""

from __future__ import annotations

import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from arena.coordinator.config import parse_toml
from arena.coordinator.plan import Plan, choose_tier, first_openings, tournament_limit
from arena.coordinator.run_events import BotWithdrawn
from arena.entrants import Competitor, LeftOut, as_entered, entered, entered_spec, resolve, short
from arena.errors import ArenaError, ConfigError, PluginError, StoreError
from arena.results.corrections import author
from arena.sandbox.limits.exact import check_limits
from arena_db.errors import LockedError, RefusedError
from arena_db.records import MatchFilter
from arena_plugins import Outcome, load_game
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from arena.coordinator.config import TournamentConfig
    from arena_db.records import Entrant, PlannedMatch, TournamentRecord
    from arena_db.store import Store

_PAGE = 256
"""Number of rows of a stored plan per query."""
_PAIR = 2
_MAX_REASON: Final = 1000
"""Maximum number of characters of a stored reason: it may quote the output of a bot."""
_ANEW: Final = "restore the old version, or start a new tournament"
_LEAVE: Final = "restore the old version, or play on without it: arena entrants withdraw {} --reason WHY"
"""What an operator can do about a tournament that lacks one of its bots."""


def restore_plan(store: Store, tournament: TournamentRecord) -> Plan:
    """Restore the plan of a stored tournament.

    A bot that no longer takes part may be missing, since it plays no more. A newcomer that cannot be started
    here is listed in `Plan.aside`, because one such bot must not keep all others from playing.

    Raises:
        ConfigError: a bot has changed since it was entered, or a person played.
        PluginError: a bot cannot be found again.
        ArenaError: the tier or the limits it requires are not available.
    """
    if tournament.type == "play":
        raise ConfigError(
            f"{tournament.name} was played by a person, so no bot can continue it; "
            f"arena play --attach {tournament.name} continues it"
        )
    config = parse_toml(tournament.config, f"the stored configuration of {tournament.name}")
    listed = store.tournaments.entrants(tournament.id)
    new = newcomers(store, tournament)
    num_playing = sum(was.state == "playing" for was in listed)
    competitors: list[Competitor] = []
    aside: list[LeftOut] = []
    for was in listed:
        text = _text_of(was, config)
        found = _find_again(text, was, margin_ms=config.timemargin, in_place=config.isolation == "none")
        if isinstance(found, Competitor):
            competitors.append(found)
            continue
        # A bot with results is more likely missing because of a wrong ARENA_HOME than gone for good, so the
        # run is refused; only a newcomer is withdrawn.
        if was.state == "playing" and was.seat not in new:
            words = f"{shlex.quote(tournament.name)} {shlex.quote(was.label)}"
            raise _error(found, was, tournament.name, _LEAVE.format(words) if num_playing > _PAIR else _ANEW)
        competitors.append(_absent(was))
        if was.state == "playing":
            aside.append(LeftOut(was.seat, was.label, _reason_of(found, was)))
    present = [bot for bot in competitors if not bot.is_absent]
    unhashed = [bot.label for bot in present if not bot.record.content]
    note = f"{', '.join(unhashed)}: code was not hashed when {tournament.name} began, so it may have changed"
    game = load_game(tournament.game)
    # Absent bots play no match, so they place no demand on the tier.
    tier = choose_tier(config.isolation, config.require_tier, present)
    check_limits(config.require_limits, tier)
    return Plan(
        config,
        game,
        competitors,
        tournament_limit(config),
        tier,
        openings=first_openings(_stored_plan(store, tournament.id), len(competitors)),
        notes=(note,) if unhashed else (),
        aside=tuple(aside),
    )


def _text_of(was: Entrant, config: TournamentConfig) -> str:
    """Return the spec of an entrant, with absolute paths of its files if they are known."""
    if was.seat < len(config.bots):
        return config.bots[was.seat]
    # The bot joined later, so it is not in the configuration.
    return entered_spec(was.bot) or was.bot.spec


def newcomers(store: Store, tournament: TournamentRecord) -> set[int]:
    """Return the seats of the bots that joined a tournament, take part and have no result yet."""
    joined = {
        each.seat
        for each in store.tournaments.entrants(tournament.id)
        if each.joined and each.state == "playing"
    }
    if not joined:
        return joined
    played = store.sums.tallies(MatchFilter(tournament=tournament.name, rated_only=False))
    known = {
        seat
        for tally in played
        for seat in (tally.first_seat, tally.second_seat)
        if tally.outcome != Outcome.VOID
    }
    return joined - known


def _stored_plan(store: Store, tournament: int) -> Iterator[PlannedMatch]:
    """Yield the planned matches of a tournament, read page by page."""
    after = 0
    while page := store.plans.planned(tournament, after=after, limit=_PAGE):
        yield from page
        after = page[-1].number


class _Missing(NamedTuple):
    """Why a bot that was entered cannot be started here."""

    error: ArenaError | None
    """Why its files cannot be found or copied; None if they are found and differ."""
    difference: str = ""
    """The difference in words."""


def _find_again(text: str, was: Entrant, *, margin_ms: int, in_place: bool) -> Competitor | _Missing:
    """Return a competitor with the content it was entered with, even if its files have changed since.

    Args:
        text: its spec, with the files it names by absolute paths.
        was: the stored entrant.
        margin_ms: the margin of the time limit set by its spec, in milliseconds.
        in_place: whether it runs in this process, from where it is installed; then it must be unchanged.
    """
    # A bot in this process is imported from where it is installed, so a kept copy of it would not be played.
    competitor = None if in_place else entered(was.bot, was.label)
    if competitor is not None:
        return competitor
    try:
        (now,) = resolve([text], margin_ms=margin_ms, in_place=in_place)
    except (ConfigError, PluginError, StoreError) as error:
        return _Missing(error)
    competitor = as_entered(now, was.bot)
    if competitor is None:
        before = (
            f"content {short(was.bot.content)}, now" if was.bot.content else "code that was not hashed; now"
        )
        return _Missing(
            None,
            f"it was {was.bot.distribution} {was.bot.version}, now {now.record.version}, with {before} "
            f"{short(now.content)}",
        )
    return msgspec.structs.replace(competitor, label=was.label)


def restore_competitor(
    text: str, was: Entrant, tournament: str, *, margin_ms: int, in_place: bool = False
) -> Competitor:
    """Return a competitor with the content it was entered with, as `_find_again` does.

    Args:
        text: its spec, with the files it names by absolute paths.
        was: the stored entrant.
        tournament: the name of the tournament it was entered in.
        margin_ms: the margin of the time limit set by its spec, in milliseconds.
        in_place: whether it runs in this process, from where it is installed; then it must be unchanged.

    Raises:
        ConfigError: its content is no longer kept, and its files have changed.
        PluginError: its content is no longer kept, and its files are gone.
        StoreError: its content cannot be written.
    """
    found = _find_again(text, was, margin_ms=margin_ms, in_place=in_place)
    if isinstance(found, _Missing):
        raise _error(found, was, tournament, _ANEW)
    return found


def _absent(was: Entrant) -> Competitor:
    """Return a competitor that only holds the seat of an entrant; no match of it can be played."""
    return Competitor(label=was.label, record=was.bot, spec=was.bot.spec, entry="", options={}, limit=None)


def _reason_of(missing: _Missing, was: Entrant) -> str:
    """Return the reason why a newcomer is withdrawn, as stored."""
    content = (
        f"the coordinator has no copy of its content {short(was.bot.content)}, and "
        if was.bot.content
        else ""
    )
    if missing.error is None:
        return f"{content}its files have changed: {missing.difference}"
    return clean_text(f"{content}cannot enter it again: {missing.error}", _MAX_REASON)


def _error(missing: _Missing, was: Entrant, tournament: str, way_out: str) -> ArenaError:
    """Return the error that refuses to continue a tournament without one of its bots."""
    if missing.error is None:
        return ConfigError(
            f"{was.label} has changed since {tournament} began: {missing.difference}; {way_out}"
        )
    if isinstance(missing.error, PluginError):
        return PluginError(f"{was.label} of {tournament} cannot be found again: {missing.error}; {way_out}")
    return missing.error


class Newcomers:
    """Keeps the competitors of a plan as complete as the entrants of its tournament.

    A bot can join from a machine or an ARENA_HOME whose files the coordinator does not have. Such a bot is
    withdrawn, with the reason, before it is paired; all others play on.
    """

    def __init__(
        self, store: Store, tournament: TournamentRecord, plan: Plan, *, withdraws_lost: bool = False
    ) -> None:
        """Withdraw the newcomers that were found missing when the plan was restored.

        Args:
            store: contains the tournament; it holds its lease.
            tournament: its record.
            plan: its plan; bots that join are added to its competitors.
            withdraws_lost: whether a bot whose files are lost during play is withdrawn; otherwise its matches
                stay void, and a resume plays them.
        """
        self._withdraws_lost = withdraws_lost
        self._store = store
        self._tournament = tournament.id
        self._plan = plan
        self._withdrawn: list[BotWithdrawn] = []
        for bot in plan.aside:
            self._withdraw(bot.seat, bot.bot, bot.why)

    def seat(self, entrants: Iterable[Entrant]) -> bool:
        """Add the bots that joined or returned as competitors; return whether all of them can be started."""
        competitors = self._plan.competitors
        is_whole = True
        for was in entrants:
            # Entrants come by seat, so a new one has the seat after the last. A competitor's place in the
            # list is its seat, which a bot keeps even if it cannot be started.
            is_new = was.seat == len(competitors)
            if is_new:
                competitors.append(_absent(was))
            if was.state != "playing" or not competitors[was.seat].is_absent:
                continue
            found = self._find(was)
            if isinstance(found, _Missing):
                self._withdraw(was.seat, was.label, _reason_of(found, was))
                is_whole = False
            else:
                competitors[was.seat] = found
        return is_whole

    def find_anew(self, labels: Collection[str]) -> dict[str, Competitor]:
        """Look again for bots whose matches could not be played; return those that were found, by label.

        Args:
            labels: their labels.
        """
        competitors = self._plan.competitors
        there: dict[str, Competitor] = {}
        for was in self._store.tournaments.entrants(self._tournament) if labels else ():
            if was.label not in labels or was.state != "playing" or was.seat >= len(competitors):
                continue
            found = self._find(was)
            if not isinstance(found, _Missing):
                # An unchanged competitor stays the same object, because a pool sends each only once.
                if found != competitors[was.seat]:
                    competitors[was.seat] = found
                there[was.label] = competitors[was.seat]
            elif self._withdraws_lost:
                # While the store is locked it stays, and is looked for again after its next void match.
                with suppress(LockedError):
                    self._withdraw(was.seat, was.label, _reason_of(found, was))
                    competitors[was.seat] = _absent(was)
        return there

    def withdraw(self, label: str, why: str) -> None:
        """Withdraw a bot, if it still plays; while another process keeps the store locked, do nothing."""
        for was in self._store.tournaments.entrants(self._tournament):
            if was.label == label and was.state == "playing":
                with suppress(LockedError):
                    self._withdraw(was.seat, label, why)

    def take_withdrawn(self) -> list[BotWithdrawn]:
        """Return the bots that were withdrawn since the last call."""
        withdrawn, self._withdrawn = self._withdrawn, []
        return withdrawn

    def _find(self, was: Entrant) -> Competitor | _Missing:
        config = self._plan.config
        return _find_again(
            _text_of(was, config), was, margin_ms=config.timemargin, in_place=config.isolation == "none"
        )

    def _withdraw(self, seat: int, label: str, reason: str) -> None:
        """Withdraw a bot, unless another process did so meanwhile.

        Raises:
            LockedError: another process keeps the store locked.
        """
        with suppress(RefusedError):
            self._store.changes.leave(self._tournament, seat, reason=reason, who=author())
            self._withdrawn.append(BotWithdrawn(label, reason))
