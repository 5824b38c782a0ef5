"""Reads the sums of encounters: the stored ones plus the matches saved since."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from operator import add
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, text

from arena_db import resumming
from arena_db.access import Access
from arena_db.corrections import changes, removals
from arena_db.counted import COUNTS
from arena_db.errors import DatabaseError, LockedError
from arena_db.kept import encounters, pools, replays
from arena_db.models import bots, entrants, matches, tournaments
from arena_db.summing import Summing
from arena_db.sums import FIRST_PAIR, SUMS, EncounterSums, Moment

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection, Select

    from arena_db.summing import Key


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
"""What `results_mark` returns."""


class SumsReading(Access):
    """The part of a store that reads sums, and keeps them up to date."""

    _has_saved = False
    """Whether this store saved matches that `sum_up` has not added yet."""

    def tournament_sums(self, tournament: int) -> list[EncounterSums]:
        """Return the sums of a tournament by its id; low and high are seats."""
        with self._read() as connection:
            return _of_tournament(connection, tournament)

    def moment(self, tournament: int) -> Moment | None:
        """Return the sums of a tournament's rated matches now; None before the first match."""
        newest = select(matches.c.id).where(matches.c.tournament_id == tournament, text(COUNTS))
        with self._read_of(tournament) as connection:
            last = connection.scalar(newest.order_by(matches.c.id.desc()).limit(1))
            sums = _of_tournament(connection, tournament)
        if last is None:
            return None
        return Moment(sum(sum(each.sums[:FIRST_PAIR]) for each in sums), last, sums)

    def pool_sums(self, game: str | None = None, pool: str | None = None) -> list[EncounterSums]:
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
        with self._read() as connection:
            found = {row.id: (row.game, row.name) for row in connection.execute(own)}
            sums = _sums(connection, found.keys(), 0)
            named = {row[0]: row[1] for row in connection.execute(select(bots.c.id, bots.c.identity))}
        return [
            EncounterSums(*found[number], named[low], named[high], row)
            for (number, _, low, high), row in sums.items()
        ]

    def results_mark(self) -> tuple[int, ...]:
        """Return numbers that differ after every change of results, bots or their labels; cheap to poll.

        Unlike `data_version`, they do not change with events, leases, commands or gradings. Within
        `at_one_moment` they belong to its snapshot.
        """
        with self._read() as connection:
            return tuple(connection.execute(_MARK).one())

    def sum_up(self, *, batches: int | None = None) -> None:
        """Add the matches saved since the last call to the stored sums.

        A save leaves this to its caller, because many matches at once cost less than each by itself, and a
        run has time for it between two saves. Sums are exact before it, too, but a reader then has to read
        every match saved since. If another process keeps the store locked for a second, the next call does
        it.

        Args:
            batches: maximum number of transactions of 10,000 matches each; None for all that is needed.
        """
        # A power cut may take the newest sums together with their mark; a sync would cost more than
        # recomputing them.
        settings = replace(self._in_a_hurry(), fast=True)
        num, is_done = 0, False
        with suppress(LockedError):
            with self._read() as connection:
                start = resumming.first_unsummed(connection)
                is_done = resumming.last_match(connection) < start
            while not is_done and (batches is None or num < batches):
                with self._transaction(settings) as connection:
                    is_done = resumming.step(connection, self._facts.encounters)
                num += 1
        self._has_saved = self._has_saved and not is_done

    def close(self) -> None:
        """Add the matches that this store saved to the sums, and close all connections."""
        if self._has_saved:
            # Nothing is lost: the next `sum_up` of any process adds them.
            with suppress(DatabaseError):
                self.sum_up()
        super().close()


def _of_tournament(connection: Connection, tournament: int) -> list[EncounterSums]:
    own = select(pools).join_from(pools, tournaments).where(tournaments.c.id == tournament)
    found = {row.id: (row.game, row.name) for row in connection.execute(own)}
    sums = _sums(connection, found.keys(), tournament)
    return [EncounterSums(*found[pool], low, high, row) for (pool, _, low, high), row in sums.items()]


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
    if start > newest:
        return _played(sums)
    if tournament in resumming.list_pruned(connection):
        # Without its clusters, the share of a new match is unknown.
        sums, ids, start = {}, {}, 1
    since = Summing()
    resumming.fill(connection, since, start, newest, tournament or None)
    wanted = [key for key in since.encounters() if key[0] in pool_ids and key[1] == tournament]
    for changed, new in since.totals(connection, ids, wanted).sums.items():
        before = sums.get(changed)
        sums[changed] = new if before is None else tuple(map(add, before, new))
    return _played(sums)


def _played(sums: dict[Key, tuple[int, ...]]) -> dict[Key, tuple[int, ...]]:
    """Leave out the encounters whose matches are all void, as if they had never been played."""
    return {key: row for key, row in sums.items() if any(row[:FIRST_PAIR])}
