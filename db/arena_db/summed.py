"""The sums of encounters, with matches saved since; some are recomputed after matches became void."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from operator import add
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import delete, func, select, text, union_all, update

from arena_db import pruning, resumming, tallying
from arena_db.access import patient
from arena_db.cold.thawing import list_cold, thawed
from arena_db.corrections import changes, removals
from arena_db.counted import COUNTS, parts, read_counted
from arena_db.errors import LockedError
from arena_db.filters import needs_matches
from arena_db.kept import clusters, encounters, pools, replays, strays
from arena_db.models import bots, entrants, matches, tournaments
from arena_db.pruning import PrunedResults
from arena_db.resumming import BATCH, first_unsummed, list_pruned, restore
from arena_db.summing import Summing, encounter_ids
from arena_db.sums import FIRST_PAIR, SUMS, EncounterSums, Moment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import CompoundSelect, Connection, Select

    from arena_db.access import Access
    from arena_db.cold.thawing import ColdTournament
    from arena_db.counted import CountedMatch
    from arena_db.records import MatchFilter, PoolCounts, Tally
    from arena_db.summing import Key

__all__ = ["StoredSums"]

_MARK: Final = select(
    *(
        func.coalesce(query.scalar_subquery(), 0)
        for query in (
            # Matches, decisions about them and removed tournaments: all have ids that only grow.
            select(func.max(matches.c.id)),
            select(func.max(changes.c.id)),
            select(func.max(removals.c.id)),
            select(func.max(tournaments.c.id)),
            # Entrants are inserted after their tournament, and are never deleted with it still there.
            select(func.count()).select_from(entrants),
            select(func.count()).select_from(replays),
            select(func.sum(replays.c.match_id)),
        )
    )
)
"""Query for the numbers that `StoredSums.results_mark` returns."""


class StoredSums:
    """The sums and tallies of encounters, by tournament and by pool."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def of_tournament(self, tournament: int) -> list[EncounterSums]:
        """Return the sums of a tournament by its id; low and high are seats."""
        with self._access.read() as connection:
            return _of_tournament(connection, tournament)

    def moment(self, tournament: int) -> Moment | None:
        """Return the sums of a tournament's rated matches now; None before the first match."""
        newest = select(matches.c.id).where(matches.c.tournament_id == tournament, text(COUNTS))
        with self._access.read_of(tournament) as connection:
            last = connection.scalar(newest.order_by(matches.c.id.desc()).limit(1))
            sums = _of_tournament(connection, tournament)
        if last is None:
            return None
        return Moment(sum(sum(each.sums[:FIRST_PAIR]) for each in sums), last, sums)

    def of_pools(self, game: str | None = None, pool: str | None = None) -> list[EncounterSums]:
        """Return the sums of pools over all their tournaments; low and high are identities.

        Args:
            game: spec of the only game; None for all.
            pool: name of the only pool; None for all.
        """
        own = select(pools)
        if game is not None:
            own = own.where(pools.c.game == game)
        if pool is not None:
            own = own.where(pools.c.name == pool)
        with self._access.read() as connection:
            found = {row.id: (row.game, row.name) for row in connection.execute(own)}
            sums = _sums(connection, found.keys(), 0)
            named = {row[0]: row[1] for row in connection.execute(select(bots.c.id, bots.c.identity))}
        # By names: the order of rows differs from store to store, and on a server from query to query.
        return sorted(
            EncounterSums(*found[number], named[low], named[high], row)
            for (number, _, low, high), row in sums.items()
        )

    def results_mark(self) -> tuple[int, ...]:
        """Return numbers that differ after every change of results, bots or their labels; cheap to poll.

        Unlike `Store.data_version`, they do not change with events, leases, commands or gradings. Within
        `Store.at_one_moment` they belong to its snapshot.
        """
        with self._access.read() as connection:
            return tuple(connection.execute(_MARK).one())

    @patient
    def tallies(self, where: MatchFilter) -> list[Tally]:
        """Return how often bots met with each result, by tournament, seats, outcome and termination.

        Conditions on time, tier and termination are counted match by match; all others use stored counts.
        """
        # The counts of cold tournaments are stored; only counting match by match reads their files.
        with self._access.read_for(where) if needs_matches(where) else self._access.read() as connection:
            return tallying.list_tallies(connection, where)

    @patient
    def pool_counts(self, where: MatchFilter) -> PoolCounts:
        """Return how often bots met with each result, added up over the tournaments of each pool.

        Conditions are read as in `tallies`.
        """
        with self._access.read_for(where) if needs_matches(where) else self._access.read() as connection:
            return tallying.count_pools(connection, where)

    def sum_up(self, *, batches: int | None = None) -> None:
        """Add the matches saved since the last call to the stored sums.

        A save leaves this to its caller, because many matches at once cost less than each by itself, and a
        run has time for it between two saves. Sums are exact before it, too, but a reader then has to read
        every match saved since. If another process keeps the store locked for a second, the next call does
        it.

        Args:
            batches: maximum number of transactions of 10,000 matches each; None for all that is needed.
        """
        sum_up(self._access, batches)

    def prune(self, chosen: Sequence[int] | None = None, *, dry_run: bool = False) -> list[PrunedResults]:
        """Remove the clusters of ended tournaments; ratings and tables that users see do not change.

        Args:
            chosen: ids of tournaments; None for all. Those that have not ended, are being run or have no
                clusters are left out.
            dry_run: remove nothing, and return what would be removed.
        """
        with self._access.read() if dry_run else self._access.write() as connection:
            found: list[PrunedResults] = []
            for number, name in pruning.list_prunable(connection, chosen):
                num = pruning.num_rows(connection, number) if dry_run else pruning.prune(connection, number)
                found.append(PrunedResults(name, num))
        return [each for each in found if each.num_rows]


def sum_up(access: Access, batches: int | None = None) -> None:
    """Add the matches saved since the last call to the stored sums; see `Store.sums.sum_up`."""
    # A power cut may take the newest sums together with their mark; a sync would cost more than
    # recomputing them.
    settings = replace(access.in_a_hurry(), fast=True)
    num, is_done = 0, False
    with suppress(LockedError):
        with access.read() as connection:
            start = resumming.first_unsummed(connection)
            is_done = resumming.last_match(connection) < start
        # A transaction each, so that other writers get their turn.
        while not is_done and (batches is None or num < batches):
            with access.transaction(settings) as connection:
                is_done = resumming.step(connection, access.facts.encounters)
            num += 1
    # Only when all is summed: after a second of waiting for the lock in vain, the next call tries again.
    access.has_saved = access.has_saved and not is_done


def _of_tournament(connection: Connection, tournament: int) -> list[EncounterSums]:
    own = select(pools).join_from(pools, tournaments).where(tournaments.c.id == tournament)
    found = {row.id: (row.game, row.name) for row in connection.execute(own)}
    sums = _sums(connection, found.keys(), tournament)
    return sorted(EncounterSums(*found[pool], low, high, row) for (pool, _, low, high), row in sums.items())


def _sums(connection: Connection, pool_ids: Collection[int], tournament: int) -> dict[Key, tuple[int, ...]]:
    """Return the sums of a tournament, or over all tournaments (0) of some pools, by encounter."""
    here = encounters.c.tournament_id == tournament
    names = ("id", "pool_id", "low", "high", *SUMS)
    query: Select[*tuple[Any, ...]] = select(*(encounters.c[name] for name in names))
    query = query.where(here, encounters.c.pool_id.in_(list(pool_ids)))
    sums: dict[Key, tuple[int, ...]] = {}
    ids: dict[Key, int] = {}
    for row in connection.execute(query):
        number, pool, low, high, *values = tuple(row)
        ids[pool, tournament, low, high] = number
        sums[pool, tournament, low, high] = tuple(values)
    start, newest = resumming.first_unsummed(connection), resumming.last_match(connection)
    # Nothing was saved since the last call of `sum_up`.
    if start > newest:
        return _played(sums)
    if tournament in resumming.list_pruned(connection):
        # Without its clusters, the share of a new match is unknown.
        sums, ids, start = {}, {}, 1
    since = Summing()
    resumming.fill(connection, since, start, newest, tournament or None)
    # A match belongs to two encounters, in its tournament and in its pool; a table shows one kind.
    wanted = [key for key in since.encounters() if key[0] in pool_ids and key[1] == tournament]
    for changed, new in since.totals(connection, ids, wanted).sums.items():
        before = sums.get(changed)
        sums[changed] = new if before is None else tuple(map(add, before, new))
    return _played(sums)


def _played(sums: dict[Key, tuple[int, ...]]) -> dict[Key, tuple[int, ...]]:
    """Leave out the encounters whose matches are all void, as if they had never been played."""
    return {key: row for key, row in sums.items() if any(row[:FIRST_PAIR])}


_Bots: TypeAlias = tuple[int, int, int]
"""A pool and the ids of two bots, the lower one first."""
_NOTHING: Final = dict.fromkeys(SUMS, 0)


def recompute(connection: Connection, changed: Iterable[CountedMatch]) -> None:
    """Recompute the sums of all encounters of the changed matches, from the matches that count now.

    The share of an opening is not linear in its matches, so a match cannot be subtracted from the sums; its
    encounters, in the tournament and in the pool, are read again instead. Matches that the sums do not
    include yet need nothing: they are evaluated when they are added.

    Args:
        connection: holds the write lock.
        changed: matches that no longer count, or count again.
    """
    mark = first_unsummed(connection)
    changed = list(changed)
    for tournament in {match.tournament for match in changed}.intersection(list_pruned(connection)):
        restore(connection, tournament, mark - 1)
    pool_of = {row[0]: row[1] for row in connection.execute(select(tournaments.c.id, tournaments.c.pool_id))}
    wanted: dict[_Bots, set[Key]] = {}
    for match in changed:
        # Others are not in the sums yet.
        if match.id < mark:
            pool = pool_of[match.tournament]
            # Taken from `Summing`, so that only one rule says which encounters a match belongs to.
            one = Summing()
            one.add(pool, match, None)
            both = sorted((match.first_bot, match.second_bot))
            wanted.setdefault((pool, both[0], both[1]), set()).update(one.encounters())
    ids: dict[Key, int] = {}
    for keys in wanted.values():
        ids |= encounter_ids(connection, keys, {})
    _clear(connection, list(ids.values()))
    for pair, keys in wanted.items():
        _add(connection, pair, {key: ids[key] for key in keys}, mark, pool_of)


def _clear(connection: Connection, ids: list[int]) -> None:
    """Set the sums of encounters to 0; their rows stay, because open stores cache the ids."""
    for some in parts(ids):
        for table in (strays, clusters):
            connection.execute(delete(table).where(table.c.encounter_id.in_(some)))
        connection.execute(update(encounters).where(encounters.c.id.in_(some)).values(_NOTHING))


def _add(
    connection: Connection, bots: _Bots, ids: dict[Key, int], mark: int, pool_of: dict[int, int]
) -> None:
    """Add the matches of two bots in a pool with ids below `mark` to the given encounters, cold ones too."""
    pool, *both = bots
    start = 1
    # In batches: two bots may have met a million times.
    while True:
        between = _between(both[0], both[1], start, mark - 1).order_by("id").limit(BATCH).subquery()
        last = connection.scalar(select(func.max(between.c.id)))
        if last is None:
            break
        sums = Summing()
        for match, partner in read_counted(connection, start, last, bots=(both[0], both[1])):
            if pool_of[match.tournament] == pool:
                sums.add(pool, match, partner)
        # Only these: the matches also belong to encounters that were not cleared.
        sums.apply(connection, dict(ids), only=ids)
        start = last + 1
    for cold in _cold_with(connection, both):
        if pool_of[cold.id] == pool:
            sums = Summing()
            with thawed(connection, cold):
                for match, partner in read_counted(connection, 1, mark - 1, bots=(both[0], both[1])):
                    sums.add(pool, match, partner)
            sums.apply(connection, dict(ids), only=ids)


def _cold_with(connection: Connection, both: Sequence[int]) -> list[ColdTournament]:
    """Return the cold tournaments in which two bots took part."""
    found = list_cold(connection)
    seats = select(entrants.c.tournament_id, entrants.c.bot_id).where(entrants.c.bot_id.in_(list(both)))
    known = {(row[0], row[1]) for row in connection.execute(seats)} if found else set[tuple[int, int]]()
    return [cold for cold in found if all((cold.id, bot) in known for bot in both)]


def _between(one: int, other: int, first: int, last: int) -> CompoundSelect[int]:
    """Return the query for the ids of matches between two bots, which uses the index of each side."""
    sides = {(one, other), (other, one)}
    return union_all(
        *(
            select(matches.c.id).where(
                matches.c.first_bot == first_bot,
                matches.c.second_bot == second_bot,
                matches.c.id.between(first, last),
            )
            for first_bot, second_bot in sorted(sides)
        )
    )
