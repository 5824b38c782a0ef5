"""Compares the stored sums of encounters with the matches they are computed from."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, select
from sqlalchemy.schema import CreateTable

from arena_db import numbering
from arena_db.cold.thawing import list_cold
from arena_db.cold_tables import pruned_tournaments
from arena_db.kept import clusters, encounters, pools, strays, summing
from arena_db.models import bots, entrants, tournaments
from arena_db.planning import pool_record
from arena_db.resumming import KEPT, REPAIR, all_sums, batches, count, count_cold, wrong_columns
from arena_db.server_rows import go_on_after
from arena_db.sums import NO_SUMS, SUMS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sqlalchemy import Connection, CursorResult, Table

    from arena_db.match_faults import MatchReading
    from arena_db.summing import Key

_CHECKED: Final = 50_000
"""Number of matches that a check adds up at once: larger blocks read and write fewer clusters twice."""


def find_faults(connection: Connection, reading: MatchReading) -> Iterator[str]:
    """Compare the stored sums with the matches; yield one sentence for each contradiction.

    Args:
        connection: only read from.
        reading: a pass over all matches; if it proves the sums, they are not computed again.
    """
    yield from _wrong_pools(connection)
    if reading.is_lacking:
        return
    if reading.proves_sums(connection):
        return
    yield from wrong_columns(connection)
    names = _EncounterNames(connection)
    before = all_sums(connection)
    # Sums may lag behind the matches: only those up to the mark are in them.
    mark = connection.scalar(select(summing.c.next_match))
    newest = numbering.last_match(connection)
    if mark is None or not 1 <= mark <= newest + 1:
        yield f"the mark of the kept sums is {mark}, and the last match is #{newest}; {REPAIR}"
        return
    ids: dict[Key, int] = {}
    with _scratch(connection):
        for first, last in batches(connection, 1, mark - 1, _CHECKED):
            count(connection, first, last, ids)
        for cold in list_cold(connection):
            count_cold(connection, cold, mark - 1, ids)
        # Pruned tournaments keep no clusters, so those counted again have nothing to be compared with.
        for table in (strays, clusters):
            _run(connection, f"DELETE FROM temp.{table.name} WHERE encounter_id IN ({_PRUNED})")  # noqa: S608
        counted = all_sums(connection)
        torn = _torn(connection)
    for key in sorted(torn):
        yield f"the clusters of {names.say(key)} are not those of their matches; {REPAIR}"
    for key in sorted(before.keys() | counted.keys()):
        if before.get(key, NO_SUMS) != counted.get(key, NO_SUMS):
            wrong = [
                name
                for name, kept, right in zip(
                    SUMS, before.get(key, NO_SUMS), counted.get(key, NO_SUMS), strict=True
                )
                if kept != right
            ]
            yield (
                f"the kept sums of {names.say(key)} are not those of their matches "
                f"({', '.join(wrong[:3])}); {REPAIR}"
            )


_ENCOUNTER: Final = ", ".join(f"encounters.{name}" for name in ("pool_id", "tournament_id", "low", "high"))
_PRUNED: Final = (
    "SELECT id FROM main.encounters WHERE tournament_id IN "
    "(SELECT tournament_id FROM main.pruned_tournaments)"
)
"""Encounters without clusters."""
_SUSPECT: Final = "WHERE encounter_id IN (SELECT encounter_id FROM temp.suspects)"


def _torn(connection: Connection) -> set[tuple[int, ...]]:
    """Return the keys of encounters whose stored clusters or move sequences differ from those counted.

    Rows with the same key are compared first, which needs no sorting. They may differ without a fault: the
    order of batches decides which move sequence came first and is therefore in the row of its cluster.
    """
    _run(connection, f"CREATE TEMP TABLE suspects AS {_DIFFERING}")
    try:
        for table in (clusters, strays):
            kept, counted = (
                _run(connection, f"SELECT count(*) FROM {schema}.{table.name}").scalar_one()  # noqa: S608
                for schema in ("main", "temp")
            )
            # In a damaged table an index lookup may find one row where there are two.
            if kept != counted:
                _run(
                    connection,
                    f"INSERT INTO temp.suspects SELECT DISTINCT encounter_id FROM main.{table.name} "  # noqa: S608
                    f"UNION SELECT encounter_id FROM temp.{table.name}",
                )
        if _run(connection, "SELECT 1 FROM temp.suspects").first() is None:
            return set()
        return {tuple(row) for row in _run(connection, _OTHERS)}
    finally:
        _run(connection, "DROP TABLE temp.suspects")


def _run(connection: Connection, query: str) -> CursorResult[*tuple[Any, ...]]:
    """Run a query that names the stored tables `main.NAME`, and temporary ones `temp.NAME`."""
    if connection.dialect.name == "postgresql":
        query = query.replace("main.", "public.").replace("temp.", "pg_temp.")
    return connection.exec_driver_sql(query)


def _without_twin(table: Table, one: str, other: str) -> str:
    """Return the query for encounters with a row in one schema's table that the other schema lacks."""
    same = " AND ".join(f"twin.{column.name} = own.{column.name}" for column in table.c)
    return (
        f"SELECT encounter_id FROM {one}.{table.name} AS own "  # noqa: S608 - our own names
        f"WHERE NOT EXISTS (SELECT 1 FROM {other}.{table.name} AS twin WHERE {same})"
    )


_DIFFERING: Final = " UNION ".join(
    _without_twin(table, one, other)
    for table in (clusters, strays)
    for one, other in (("main", "temp"), ("temp", "main"))
)


def _clusters_of(schema: str) -> str:
    """Return the query for suspect clusters with the keys of their encounters, without move sequences."""
    told = [column.name for column in clusters.c if not column.name.endswith(("_moves_hash", "_same"))]
    names = ", ".join(f"own.{name}" for name in told if name != "encounter_id")
    return (
        f"SELECT {_ENCOUNTER}, {names} FROM {schema}.clusters AS own "  # noqa: S608 - our own names
        f"JOIN {schema}.encounters AS encounters ON encounters.id = own.encounter_id {_SUSPECT}"
    )


def _courses_of(schema: str) -> str:
    """Return the query that counts each suspect move sequence, whichever table it is stored in."""
    parts = [
        f"SELECT encounter_id, opening_hash, {number} AS side, "  # noqa: S608 - our own names
        f"{side}_moves_hash AS moves, {side}_same AS times FROM {schema}.clusters {_SUSPECT}"
        for number, side in enumerate(("first", "second"))
    ]
    parts.append(
        f"SELECT encounter_id, opening_hash, side, moves_hash, times FROM {schema}.strays {_SUSPECT}"  # noqa: S608
    )
    return (
        f"SELECT {_ENCOUNTER}, own.opening_hash, own.side, own.moves, sum(own.times) "  # noqa: S608
        # ALL, because equal rows of the two tables must be added, not merged into one.
        f"FROM ({' UNION ALL '.join(parts)}) AS own "
        f"JOIN {schema}.encounters AS encounters ON encounters.id = own.encounter_id "
        f"GROUP BY {_ENCOUNTER}, own.opening_hash, own.side, own.moves"
    )


_OTHERS: Final = " UNION ".join(
    f"SELECT pool_id, tournament_id, low, high FROM ({rows_of(one)} EXCEPT {rows_of(other)}) AS odd"  # noqa: S608
    for rows_of in (_clusters_of, _courses_of)
    for one, other in (("main", "temp"), ("temp", "main"))
)


@contextmanager
def _scratch(connection: Connection) -> Generator[None]:
    """Create temporary tables that hide the tables of sums, so that a read-only connection can count.

    The stored encounters are copied with their ids and sums of 0, so that rows can be compared by their keys.
    """
    # Without a pruned tournament: nothing is restored while all clusters are counted.
    for table in (pruned_tournaments, *reversed(KEPT)):
        made = CreateTable(table, include_foreign_key_constraints=[])
        text_of = str(made.compile(connection)).replace("CREATE TABLE", "CREATE TEMP TABLE", 1)
        connection.exec_driver_sql(text_of)
    try:
        told, nothing = "id, pool_id, tournament_id, low, high", ", 0" * len(SUMS)
        _run(
            connection,
            f"INSERT INTO temp.encounters ({told}, {', '.join(SUMS)}) "  # noqa: S608 - our own names
            f"SELECT {told}{nothing} FROM main.encounters",
        )
        if connection.dialect.name == "postgresql":
            go_on_after(connection, encounters)
        yield
    finally:
        for table in (*KEPT, pruned_tournaments):
            _run(connection, f"DROP TABLE temp.{table.name}")


def _wrong_pools(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(pools)):
        if row.name != (name := pool_record(row).name):
            yield f"the pool {row.name} of {row.game} has the limit of {name}"
    other = and_(pools.c.id == tournaments.c.pool_id, pools.c.game != tournaments.c.game)
    for name in connection.scalars(select(tournaments.c.name).join_from(tournaments, pools, other)):
        yield f"tournament {name} is in a pool of another game"


class _EncounterNames:
    """Names encounters by the keys of their sums."""

    def __init__(self, connection: Connection) -> None:
        seats = select(entrants.c.tournament_id, entrants.c.seat, entrants.c.label)
        self._labels = {(row[0], row[1]): row[2] for row in connection.execute(seats)}
        self._specs = {row[0]: row[1] for row in connection.execute(select(bots.c.id, bots.c.spec))}
        named = select(tournaments.c.id, tournaments.c.name)
        self._tournaments = {row[0]: row[1] for row in connection.execute(named)}
        known = select(pools.c.id, pools.c.game, pools.c.name)
        self._pools = {row[0]: f"{row[1]}, {row[2]}" for row in connection.execute(known)}

    def say(self, key: tuple[int, ...]) -> str:
        pool, tournament, *both = key
        if not tournament:
            low, high = (self._specs.get(bot, f"bot {bot}") for bot in both)
            return f"{low} and {high} in pool {self._pools.get(pool, str(pool))}"
        low, high = (self._labels.get((tournament, seat), f"seat {seat}") for seat in both)
        return f"{low} and {high} in tournament {self._tournaments.get(tournament, str(tournament))}"
