"""Reads the kept sums of encounters: a row for two bots, however often they met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from arena_db import resumming
from arena_db.access import Access
from arena_db.kept import encounters, pools
from arena_db.models import bots
from arena_db.sums import SUMS, EncounterSums

if TYPE_CHECKING:
    from sqlalchemy import Select


class SumsReading(Access):
    """The part of a store that reads and rebuilds sums."""

    def tournament_sums(self, tournament: int) -> list[EncounterSums]:
        """Return the sums of a tournament by its id; the lower and the higher are seats."""
        query = _select(encounters.c.low, encounters.c.high).where(encounters.c.tournament_id == tournament)
        return self._sums(query)

    def pool_sums(self, game: str | None = None, pool: str | None = None) -> list[EncounterSums]:
        """Return the sums of pools over all their tournaments; the lower and the higher are identities.

        Args:
            game: of which game alone; None for all.
            pool: name of the only pool; None for all.
        """
        low, high = bots.alias(), bots.alias()
        query = _select(low.c.identity, high.c.identity)
        query = query.join(low, low.c.id == encounters.c.low).join(high, high.c.id == encounters.c.high)
        query = query.where(encounters.c.tournament_id == 0)
        if game is not None:
            query = query.where(pools.c.game == game)
        if pool is not None:
            query = query.where(pools.c.name == pool)
        return self._sums(query)

    def repair(self) -> None:
        """Compute the sums of all encounters, and the tallies, anew from the matches, in one transaction.

        Raises:
            DamagedError: the plan of a tournament lacks some of its matches.
        """
        with self._write() as connection:
            resumming.rebuild(connection)

    def _sums(self, query: Select[*tuple[Any, ...]]) -> list[EncounterSums]:
        with self._read() as connection:
            rows = connection.execute(query).all()
        return [EncounterSums(game, pool, low, high, tuple(sums)) for game, pool, low, high, *sums in rows]


def _select(low: Any, high: Any) -> Select[*tuple[Any, ...]]:  # noqa: ANN401 - columns of two types
    found = select(pools.c.game, pools.c.name, low, high, *(encounters.c[name] for name in SUMS))
    return found.join_from(encounters, pools, pools.c.id == encounters.c.pool_id)
