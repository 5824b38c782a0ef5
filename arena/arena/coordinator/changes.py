"""Finds bots in a store whose code, weights or files have changed since they played."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.results.forfeits import count_matches
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.entrants import Competitor
    from arena_db.records import BotRecord, TournamentRecord
    from arena_db.store import Store

_TRAINING = "training"
"""The `event` of tournaments that trainers store; bots in training are not earlier versions."""
_PAGE = 100
"""Number of tournaments per query: each row brings its whole configuration."""


class BotChange(NamedTuple):
    """A bot that is entered as a new competitor, and the last tournament it played in as another one."""

    bot: str
    """Its label."""
    tournament: str
    """The newest tournament it played in before."""
    was: str
    """Hash of its content then; empty if its code was not hashed."""
    now: str

    def __str__(self) -> str:
        """Return the change as one line."""
        if self.was:
            return (
                f"{self.bot} changed since it played in {self.tournament}: it is entered as a new competitor"
            )
        return (
            f"{self.bot} played in {self.tournament} before its code was part of its identity: it is entered "
            "as a new competitor"
        )


class Played(NamedTuple):
    """Number of matches in a store that a bot played with one content."""

    record: BotRecord
    num_matches: int


def changes(store: Store, competitors: Sequence[Competitor]) -> list[BotChange]:
    """Return the bots that the store knows by name and options, but with other content.

    Bots whose earlier version is entered as well are left out.
    """
    known = store.names.bots()
    entered = {bot.record.identity for bot in competitors}
    before: dict[str, set[str]] = {}
    for bot in competitors:
        others = {other for other, record in known.items() if _is_alike(record, bot.record)} - entered
        if bot.record.identity not in known and others:
            before[bot.label] = others
    found: dict[str, BotChange] = {}
    now = {bot.label: bot.content for bot in competitors}
    for tournament in _tournaments(store) if before else ():
        played = {entrant.bot.identity: entrant.bot for entrant in store.tournaments.entrants(tournament.id)}
        for label in before.keys() - found.keys():
            if was := before[label] & played.keys():
                # Several earlier contents may have played there, and any of them will do. The smallest is
                # taken, because a set has no order.
                content = played[min(was)].content
                found[label] = BotChange(label, tournament.name, content, now[label])
        if len(found) == len(before):
            break
    return [found[label] for label in before if label in found]


def played_before(store: Store, bot: BotRecord) -> list[Played]:
    """Return the matches of bots with this name and options by content: its own first, then by number."""
    alike = {identity: record for identity, record in store.names.bots().items() if _is_alike(record, bot)}
    counts = count_matches(store.sums.tallies(MatchFilter(rated_only=False)))
    found = [Played(alike[identity], counts[identity]) for identity in counts if identity in alike]
    return sorted(found, key=lambda each: (each.record.identity != bot.identity, -each.num_matches))


def needed_contents(store: Store) -> set[str]:
    """Return the hashes of the contents of bots in unfinished tournaments."""
    return {
        entrant.bot.content
        for tournament in _tournaments(store)
        if tournament.state != "finished"
        for entrant in store.tournaments.entrants(tournament.id)
    } - {""}


def _is_alike(one: BotRecord, other: BotRecord) -> bool:
    return (one.name, one.spec) == (other.name, other.spec)


def _tournaments(store: Store) -> list[TournamentRecord]:
    """Return all tournaments except those of trainers, newest first."""
    found: list[TournamentRecord] = []
    while page := store.tournaments.newest(before=found[-1].id if found else None, limit=_PAGE):
        found += page
    return [tournament for tournament in found if tournament.event != _TRAINING]
