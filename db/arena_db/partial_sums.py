"""Recomputes the stored sums of some encounters after matches became void or count again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from sqlalchemy import delete, func, select, union_all, update

from arena_db.cold.thawing import list_cold, thawed
from arena_db.counted import parts, read_counted
from arena_db.kept import clusters, encounters, strays
from arena_db.models import entrants, matches, tournaments
from arena_db.resumming import BATCH, first_unsummed, list_pruned, restore
from arena_db.summing import Summing, encounter_ids
from arena_db.sums import SUMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import CompoundSelect, Connection

    from arena_db.cold.thawing import ColdTournament
    from arena_db.counted import CountedMatch
    from arena_db.summing import Key

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
    for bots, keys in wanted.items():
        _add(connection, bots, keys, ids, mark, pool_of)


def _clear(connection: Connection, ids: list[int]) -> None:
    """Set the sums of encounters to 0; their rows stay, because open stores cache the ids."""
    for some in parts(ids):
        for table in (strays, clusters):
            connection.execute(delete(table).where(table.c.encounter_id.in_(some)))
        connection.execute(update(encounters).where(encounters.c.id.in_(some)).values(_NOTHING))


def _add(  # noqa: PLR0913, PLR0917 - what two bots played, and where it goes
    connection: Connection,
    bots: _Bots,
    keys: set[Key],
    ids: dict[Key, int],
    mark: int,
    pool_of: dict[int, int],
) -> None:
    """Add the matches of two bots in a pool with ids below `mark` to the given encounters, cold ones too."""
    pool, *both = bots
    start = 1
    while True:
        between = _between(both[0], both[1], start, mark - 1).order_by("id").limit(BATCH).subquery()
        last = connection.scalar(select(func.max(between.c.id)))
        if last is None:
            break
        sums = Summing()
        for match, partner in read_counted(connection, start, last, bots=(both[0], both[1])):
            if pool_of[match.tournament] == pool:
                sums.add(pool, match, partner)
        sums.apply(connection, dict(ids), only=keys)
        start = last + 1
    for cold in _cold_with(connection, both):
        if pool_of[cold.id] == pool:
            sums = Summing()
            with thawed(connection, cold):
                for match, partner in read_counted(connection, 1, mark - 1, bots=(both[0], both[1])):
                    sums.add(pool, match, partner)
            sums.apply(connection, dict(ids), only=keys)


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
