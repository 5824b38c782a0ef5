"""Content of the web pages of bots and head-to-heads; shared data are computed once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from arena.errors import NotFoundError
from arena.results.addresses import address_of
from arena.results.boards import boards_of
from arena.results.bot_history import version_ratings
from arena.results.bot_page import VersionRow, bot_page, unrated_page, version_rows
from arena.results.corrections import ending_of
from arena.results.forfeits import count_forfeits
from arena.results.shared import once_per_state
from arena.results.versus import EventMeetings
from arena.watching.page_views import BotFacts, BotListPage, BotProfile, VersusPage
from arena.watching.stored import row_of
from arena_db.called import MARK
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.results.boards import Boards
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

MAX_UNRATED: Final = 50
"""Maximum number of matches on the page of a bot without a rated match; the newest are listed."""
MAX_OPENINGS: Final = 30
"""Maximum number of openings on a page, those with the most matches; the JSON form has all."""


class Profiles:
    """Builds pages of bots; the store must stay open, and its state at first use is kept."""

    def __init__(self, store: Store) -> None:
        """Prepare to build pages; ratings are computed when a page needs them."""
        self._store = store

    @cached_property
    def boards(self) -> Boards:
        """The leaderboards of the store."""
        return boards_of(self._store)

    @cached_property
    def identities(self) -> tuple[str, ...]:
        """Identities of all bots of the store, in the order of their names."""
        names = self.boards.names
        return tuple(sorted(names, key=lambda identity: (names[identity].casefold(), names[identity])))

    @cached_property
    def _rated(self) -> frozenset[str]:
        """Identities of the bots with a rated match."""
        return frozenset(bot for tally in self.boards.tallies for bot in (tally.first, tally.second))

    def identity_of(self, digits: str) -> str:
        """Return the full identity of a bot.

        Args:
            digits: the first digits of the identity, at least as many as in an address.

        Raises:
            NotFoundError: no bot has these digits, or several have.
        """
        found = [identity for identity in self.identities if digits and identity.startswith(digits)]
        if len(found) != 1:
            raise NotFoundError(
                f'no bot has the identity "{digits}", or several have; the page of bots lists all'
            )
        return found[0]

    def pairs(self, tournament: int) -> list[tuple[str, str]]:
        """Return the identities of all pairs of bots with rated matches in a tournament, most matches first.

        Args:
            tournament: id of the tournament.
        """
        num: Counter[tuple[str, str]] = Counter()
        for tally in self.boards.tallies:
            if tally.tournament == tournament:
                is_first_lower = tally.first_seat < tally.second_seat
                pair = (tally.first, tally.second) if is_first_lower else (tally.second, tally.first)
                num[pair] += tally.num_matches
        return [pair for pair, _ in num.most_common()]

    def bots(self) -> BotListPage:
        """Return the list of all bots."""
        games: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for tally in self.boards.tallies:
            for identity in (tally.first, tally.second):
                games[identity][tally.game] += tally.num_matches
        forfeits = count_forfeits(self.boards.tallies, lambda tally: (tally.first, tally.second))
        return BotListPage(
            bots=tuple(
                BotFacts(
                    name=self.boards.names[identity],
                    identity=identity,
                    version=self.boards.bots[identity].version,
                    num_matches=games[identity].total(),
                    num_forfeits=forfeits[identity].total() if identity in forfeits else 0,
                    games=tuple(game for game, _ in games[identity].most_common()),
                )
                for identity in self.identities
            )
        )

    def bot(self, identity: str) -> BotProfile:
        """Return the page of a bot; if it has no rated match, the page lists its newest unrated matches."""
        with self._store.at_one_moment():
            return self._bot(identity)

    def _bot(self, identity: str) -> BotProfile:
        name, record = f"{MARK}{identity}", self.boards.bots[identity]
        unrated: list[StoredMatch] = []
        if identity in self._rated:
            page = bot_page(self._store, name)
        else:
            page = unrated_page(self._store, identity)
            unrated = self._store.matches.newest(MatchFilter(bot=name, rated_only=False), limit=MAX_UNRATED)
        newest = {fault.newest: fault.termination for fault in page.faults if fault.newest is not None}
        samples = [one.match for one in page.openings[:MAX_OPENINGS]]
        found = self._store.matches.by_id([*newest, *samples])
        return BotProfile(
            name=self.boards.names[identity],
            identity=identity,
            spec=record.spec,
            distribution=record.distribution,
            version=record.version,
            content=record.content,
            files=json.loads(record.files),
            page=page,
            versions=_versions_of(self._store, record.name),
            unrated=tuple(map(row_of, unrated)),
            endings={newest[number]: ending_of(match) for number, match in found.items() if number in newest},
            addresses=_addresses(found.values()),
            met=self._met(identity),
        )

    def _met(self, identity: str) -> dict[str, str]:
        """Return the newest tournament with a rated match against each opponent of a bot, by identity."""
        newest: dict[str, int] = {}
        for tally in self.boards.tallies:
            if identity in {tally.first, tally.second}:
                other = tally.second if tally.first == identity else tally.first
                newest[other] = max(tally.tournament, newest.get(other, 0))
        records = {number: self._store.tournaments.find(number) for number in set(newest.values())}
        return {
            other: record.name
            for other, number in sorted(newest.items())
            if (record := records[number]) is not None
        }


class EventProfiles:
    """Builds the pages of a tournament's head-to-heads."""

    def __init__(self, store: Store, record: TournamentRecord) -> None:
        """Read the encounters; see `EventMeetings`."""
        self._store = store
        self._record = record
        self._labels = {
            entrant.bot.identity: entrant.label for entrant in store.tournaments.entrants(record.id)
        }
        self._meetings = EventMeetings(store, record)
        self.expected = self._meetings.expected

    def versus(self, one: str, other: str) -> VersusPage:
        """Return the head-to-head of two bots, given by their identities.

        Raises:
            NotFoundError: the bots have no rated match in the tournament.
        """
        with self._store.at_one_moment():
            meeting = self._meetings.of(one, other)
            found = self._store.matches.by_id([each.match for each in meeting.openings[:MAX_OPENINGS]])
        return VersusPage(
            tournament=self._record.name,
            labels=(self._labels[one], self._labels[other]),
            meeting=meeting,
            addresses=_addresses(found.values()),
        )

    def identity_of(self, digits: str) -> str:
        """Return the full identity of an entrant, given its first digits.

        Raises:
            NotFoundError: no entrant has these digits, or several have.
        """
        found = [identity for identity in self._labels if digits and identity.startswith(digits)]
        if len(found) != 1:
            raise NotFoundError(f'no bot of {self._record.name} has the identity "{digits}"')
        return found[0]


@once_per_state
def _versions_of(store: Store, name: str) -> tuple[VersionRow, ...]:
    """Return the ratings of all bots of a name."""
    return version_rows(version_ratings(store, name))


def _addresses(matches: Iterable[StoredMatch]) -> dict[str, str]:
    """Return addresses by ids in the store, which are text because JSON keys are."""
    return {str(match.id): address_of(match) for match in sorted(matches, key=lambda match: match.id)}
