"""What the web pages of bots and of head-to-heads show; what all of them rest on is computed once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from arena.errors import NotFoundError
from arena.results.addresses import address_of
from arena.results.boards import Boards
from arena.results.bot_history import version_ratings
from arena.results.bot_page import VersionRow, bot_page, unrated_page, version_rows
from arena.results.corrections import ending_of
from arena.results.forfeits import count_forfeits
from arena.results.versus import EventMeetings
from arena.watching.page_views import BotFacts, BotListPage, BotProfile, VersusPage
from arena.watching.stored import row_of
from arena_db.called import MARK
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store

MAX_UNRATED: Final = 50
"""Matches that the page of a bot without a rated match lists, the newest."""
MAX_OPENINGS: Final = 30
"""Openings that a page lists, those with most matches; its twin has all."""


class Profiles:
    """Makes pages of bots; the store stays open as long as it is asked, and is read as it was first."""

    def __init__(self, store: Store) -> None:
        """Begin; tables are fitted when a page needs them."""
        self._store = store
        self._versions: dict[str, tuple[VersionRow, ...]] = {}

    @cached_property
    def boards(self) -> Boards:
        """The leaderboards of the store."""
        return Boards(self._store)

    @cached_property
    def identities(self) -> tuple[str, ...]:
        """The bots that have a page: all of the store, in the order of their names."""
        names = self.boards.names
        return tuple(sorted(names, key=lambda identity: (names[identity].casefold(), names[identity])))

    @cached_property
    def _rated(self) -> frozenset[str]:
        """Bots with a rated match."""
        return frozenset(bot for tally in self.boards.tallies for bot in (tally.first, tally.second))

    def identity_of(self, digits: str) -> str:
        """Return the whole identity of a bot.

        Args:
            digits: its first ones, at least so many as an address has.

        Raises:
            NotFoundError: no bot has them, or several do.
        """
        found = [identity for identity in self.identities if digits and identity.startswith(digits)]
        if len(found) != 1:
            raise NotFoundError(
                f'no bot has the identity "{digits}", or several have; the page of bots lists all'
            )
        return found[0]

    def pairs(self, tournament: int) -> list[tuple[str, str]]:
        """Return the identities of each two bots with rated matches in a tournament, most matches first.

        Args:
            tournament: its id.
        """
        num: Counter[tuple[str, str]] = Counter()
        for tally in self.boards.tallies:
            if tally.tournament == tournament:
                is_first_lower = tally.first_seat < tally.second_seat
                pair = (tally.first, tally.second) if is_first_lower else (tally.second, tally.first)
                num[pair] += tally.num_matches
        return [pair for pair, _ in num.most_common()]

    def bots(self) -> BotListPage:
        """Return all bots."""
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
        """Return the page of a bot of the store; without a rated match it has its newest other ones."""
        name, record = f"{MARK}{identity}", self.boards.bots[identity]
        unrated: list[StoredMatch] = []
        if identity in self._rated:
            page = bot_page(self._store, name, boards=self.boards)
        else:
            page = unrated_page(self._store, identity, self.boards)
            unrated = self._store.matches(MatchFilter(bot=name, rated_only=False), limit=MAX_UNRATED)
        newest = {fault.newest: fault.termination for fault in page.faults if fault.newest is not None}
        samples = [one.match for one in page.openings[:MAX_OPENINGS]]
        found = self._store.matches_with([*newest, *samples])
        return BotProfile(
            name=self.boards.names[identity],
            identity=identity,
            spec=record.spec,
            distribution=record.distribution,
            version=record.version,
            content=record.content,
            files=json.loads(record.files),
            page=page,
            versions=self._versions_of(record.name),
            unrated=tuple(map(row_of, unrated)),
            endings={newest[number]: ending_of(match) for number, match in found.items() if number in newest},
            addresses=_addresses(found.values()),
        )

    def _versions_of(self, name: str) -> tuple[VersionRow, ...]:
        if name not in self._versions:
            self._versions[name] = version_rows(version_ratings(self._store, self.boards, name))
        return self._versions[name]


class EventProfiles:
    """Makes the pages of the head-to-heads of a tournament."""

    def __init__(self, store: Store, record: TournamentRecord, boards: Boards | None = None) -> None:
        """Read who met whom; see `EventMeetings`."""
        self._store = store
        self._record = record
        self._labels = {entrant.bot.identity: entrant.label for entrant in store.entrants(record.id)}
        self._meetings = EventMeetings(store, record, boards)
        self.expected = self._meetings.expected

    def versus(self, one: str, other: str) -> VersusPage:
        """Return two bots, given by their identities, head to head.

        Raises:
            NotFoundError: they have no rated match in the tournament.
        """
        meeting = self._meetings.of(one, other)
        found = self._store.matches_with([each.match for each in meeting.openings[:MAX_OPENINGS]])
        return VersusPage(
            tournament=self._record.name,
            labels=(self._labels[one], self._labels[other]),
            meeting=meeting,
            addresses=_addresses(found.values()),
        )

    def identity_of(self, digits: str) -> str:
        """Return the whole identity of an entrant by its first digits.

        Raises:
            NotFoundError: no entrant has them, or several do.
        """
        found = [identity for identity in self._labels if digits and identity.startswith(digits)]
        if len(found) != 1:
            raise NotFoundError(f'no bot of {self._record.name} has the identity "{digits}"')
        return found[0]


def _addresses(matches: Iterable[StoredMatch]) -> dict[str, str]:
    """Return addresses by the store's numbers, which are text as all keys of JSON are."""
    return {str(match.id): address_of(match) for match in sorted(matches, key=lambda match: match.id)}
