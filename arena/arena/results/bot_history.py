"""Rating history of a bot: over time within its tournaments, and over its versions within a pool."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import NotFoundError
from arena.results.boards import boards_of
from arena.results.history import History
from arena.results.names import called, long_names
from arena.results.one_moment import at_one_moment
from arena.results.sides import Result, Sides
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arena.results.boards import Boards
    from arena.results.tables import Row
    from arena_db.points import SeatRating
    from arena_db.records import BotRecord, Entered, Tally, TournamentRecord
    from arena_db.store import Store


class Stand(NamedTuple):
    """The rating of a bot after a number of matches of a tournament."""

    num_matches: int
    """Number of rated matches of the whole tournament so far."""
    ended_at: float
    """End of the last match counted in `num_matches`, in seconds since 1970 (UTC)."""
    rating: SeatRating


class EventHistory(NamedTuple):
    """Rating history of one bot in one tournament."""

    tournament: TournamentRecord
    bot: BotRecord
    name: str
    """Display name, unique within the history."""
    games: int
    """Number of the bot's rated matches."""
    faults: int
    """Number of rated matches that the bot forfeited."""
    stands: tuple[Stand, ...]
    """The ratings, oldest first, at least one; relative to the mean of the tournament's bots, which is
    1500."""


class VersionRating(NamedTuple):
    """Rating of one identity from all its matches in one pool, so versions of a bot share a scale."""

    game: str
    pool: str
    bot: BotRecord
    name: str
    """Display name, unique within the history."""
    first_at: float
    """Start of the version's first tournament in the pool, in seconds since 1970 (UTC)."""
    table: int
    """Number of the table, from 1; bots of different tables are not connected by matches."""
    row: Row

    @property
    def faults(self) -> int:
        """Number of matches that this version forfeited."""
        return self.row.time + self.row.illegal + self.row.crash + self.row.other


class BotHistory(NamedTuple):
    """The whole rating history of a bot."""

    events: list[EventHistory]
    """The histories by tournament, oldest first."""
    versions: list[VersionRating]
    """The versions by game and pool, largest pool first; within a pool, the version that played first comes
    first."""


@at_one_moment
def bot_history(store: Store, text: str, *, can_scan: bool = True) -> BotHistory:
    """Return the rating history of a bot.

    The rating points that runs have stored are used; a tournament without them is read match by match.

    Args:
        store: the store with its matches.
        text: the bot, in any form that `names.called` accepts; all versions of a name count.
        can_scan: whether tournaments without stored points are read match by match, which takes seconds for
            200,000 matches; otherwise they are left out.

    Raises:
        NotFoundError: there is no such bot, or it has no rated match; the message names the closest one.
    """
    boards = boards_of(store)
    bots, labels = boards.bots, boards.labels
    entries = store.names.entries(called(store, text))
    by_tournament: defaultdict[int, list[Tally]] = defaultdict(list)
    for tally in boards.tallies:
        by_tournament[tally.tournament].append(tally)
    if not entries:
        known = sorted({known for bot in bots.values() for known in (bot.name, bot.spec)})
        raise NotFoundError(f'no stored bot "{text}"{nearest(text, known)} (arena leaderboard shows them)')
    rated = [entry for entry in entries if entry.tournament in by_tournament]
    identities = sorted({entry.identity for entry in rated})
    named = long_names([bots[identity] for identity in identities], labels)
    names = dict(zip(identities, named, strict=True))
    records = _records(store, rated)
    versions = list(_versions(boards, rated, records, names))
    if not versions:
        raise NotFoundError(f'"{text}" has no rated match; arena matches --unrated shows what there is')
    events: list[EventHistory] = []
    for number, record in sorted(records.items(), key=lambda pair: (pair[1].created_at, pair[0])):
        own = [entry for entry in rated if entry.tournament == number]
        history = History(store, record, seats={entry.seat for entry in own})
        history.update(store)
        if can_scan and history.needs_scan(record):
            history.scan(store, record)
        results = (Result(tally.first_seat, tally.second_seat, tally) for tally in by_tournament[number])
        sides = Sides(tuple(results))
        for entry in own:
            stands = _stands(history, entry.seat)
            if stands:
                games = sum(sides.results[entry.seat, side].total() for side in (0, 1))
                faults = sum(num for (seat, _), num in sides.faults.items() if seat == entry.seat)
                bot, name = bots[entry.identity], names[entry.identity]
                events.append(EventHistory(record, bot, name, games, faults, stands))
    return BotHistory(events, versions)


@at_one_moment
def version_ratings(store: Store, name: str) -> list[VersionRating]:
    """Return the ratings of all versions of a bot, as in `BotHistory.versions`.

    Args:
        store: the store with their matches.
        name: name of the bot, without options.
    """
    boards = boards_of(store)
    played = {tally.tournament for tally in boards.tallies}
    rated = [
        entry
        for entry in store.names.entries(name)
        if entry.tournament in played and boards.bots[entry.identity].name == name
    ]
    return list(_versions(boards, rated, _records(store, rated), boards.names))


def _records(store: Store, entries: Sequence[Entered]) -> dict[int, TournamentRecord]:
    found = {
        number: store.tournaments.find(number) for number in sorted({entry.tournament for entry in entries})
    }
    return {number: record for number, record in found.items() if record is not None}


def _stands(history: History, seat: int) -> tuple[Stand, ...]:
    return tuple(
        Stand(point.num_matches, point.ended_at, rating)
        for point in history.points
        for rating in point.ratings
        if rating.seat == seat
    )


def _versions(
    boards: Boards,
    entries: Sequence[Entered],
    records: Mapping[int, TournamentRecord],
    names: Mapping[str, str],
) -> Iterator[VersionRating]:
    first_at: dict[tuple[str, str, str], float] = {}
    for entry in entries:
        record = records[entry.tournament]
        key = record.game, record.pool.name, entry.identity
        first_at[key] = min(record.created_at, first_at.get(key, record.created_at))
    played = {(game, pool) for game, pool, _ in first_at}
    for game, pool, _ in boards.pools:
        if (game, pool) not in played:
            continue
        tables = boards.ratings(game, pool)
        found = [
            VersionRating(game, pool, boards.bots[row.identity], names[row.identity], begun, number, row)
            for number, table in enumerate(tables, 1)
            for row in table.rows
            if (begun := first_at.get((game, pool, row.identity))) is not None
        ]
        yield from sorted(found, key=lambda each: (each.first_at, each.name))
