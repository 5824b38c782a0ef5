"""Brings the kept sums up to date with the matches: in batches, after an upgrade, for a repair; checks them.

The sums hold the matches with ids below a mark (`summing.next_match`), which moves in the transaction that
adds them. Ids only grow, so each match is added exactly once; `partial_sums` adds some of them again.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, case, delete, func, insert, select, text, update
from sqlalchemy.schema import CreateTable

from arena_db import numbering
from arena_db.counted import COUNTS, read_counted
from arena_db.dialects import driver_text
from arena_db.engine import make_engine, writing
from arena_db.errors import DamagedError
from arena_db.filters import BYTE
from arena_db.kept import clusters, encounters, pools, strays, summing
from arena_db.models import bots, entrants, matches, tallies, tournaments
from arena_db.planning import pool_record
from arena_db.summing import Key, Summing, hash_opening
from arena_db.sums import FIRST_PAIR, SUMS
from arena_db.tallying import KEYS, recount

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sqlalchemy import Connection, Select

    from arena_db.engine import Settings

BATCH: Final = 10_000
"""Matches of one transaction."""
_REPAIR: Final = "`arena db repair` rebuilds them"
_KEPT: Final = (strays, clusters, encounters)


def is_unfinished(raw: Any) -> bool:  # noqa: ANN401 - a connection of one of two libraries
    """Return whether an upgrade of this store still has to count matches."""
    return raw.execute("SELECT 1 FROM summing WHERE upgrading = 1").fetchone() is not None


def go_on(settings: Settings) -> None:
    """Count the matches that an upgrade has not counted yet, one batch in each transaction.

    It may be interrupted at any moment; whoever opens the store next goes on. Several processes take turns.

    Raises:
        DamagedError: in the end the sums do not hold as many matches as there are.
    """
    engine = make_engine(settings)
    try:
        is_done = False
        while not is_done:
            with writing(engine, settings) as connection:
                is_done = step(connection)
    finally:
        engine.dispose()


def first_unsummed(connection: Connection) -> int:
    """Return the lowest id of a match that the kept sums do not hold.

    Raises:
        DamagedError: the mark is missing.
    """
    found = connection.scalar(select(summing.c.next_match))
    if found is None:
        raise DamagedError(f"the mark of the kept sums is missing; {_REPAIR}")
    return found


def last_match(connection: Connection) -> int:
    """Return the highest id of a match; 0 without any."""
    return connection.scalar(select(func.max(matches.c.id))) or 0


def step(connection: Connection, known_ids: dict[Key, int] | None = None) -> bool:
    """Add the next batch of matches to the sums; return whether none is left.

    Args:
        connection: holds the write lock.
        known_ids: ids of encounters that earlier transactions found; it is added to.

    Raises:
        DamagedError: an upgrade ends and the sums do not hold as many matches as there are; no mark.
    """
    start = first_unsummed(connection)
    is_upgrade = connection.scalar(select(summing.c.upgrading)) == 1
    last = _last_of_batch(connection, start)
    if last is None:
        if is_upgrade:
            _compare_counts(connection)
            connection.execute(update(summing).values(upgrading=0))
        return True
    if is_upgrade:
        _derive(connection, start, last)
    _count(connection, start, last, {} if known_ids is None else known_ids)
    connection.execute(update(summing).values(next_match=last + 1))
    return False


def rebuild(connection: Connection) -> list[str]:
    """Compute all sums and tallies anew within one transaction, for the readers of a store that is in use.

    Returns:
        What is no longer as it was, one sentence each.

    Raises:
        DamagedError: see `go_on`.
    """
    num_columns = sum(1 for _ in _wrong_columns(connection))
    start = connection.scalar(select(summing.c.next_match)) or 1
    sums, counts = _all_sums(connection), _all_tallies(connection)
    for table in (*_KEPT, summing, tallies):
        connection.execute(delete(table))
    connection.execute(insert(tallies).from_select([*KEYS, "num_matches"], recount([])))
    connection.execute(insert(summing).values(id=1, next_match=1, upgrading=1))
    while not step(connection):
        pass
    done = (
        [f"plies and openings of {num_columns} matches are noted as they were played"] if num_columns else []
    )
    if num := len(counts ^ _all_tallies(connection)):
        done.append(f"{num} kept counts were wrong or missing")
    after = _all_sums(connection)
    # Sums that lag behind the matches are not wrong.
    if start > last_match(connection):
        num = sum(sums.get(key) != after.get(key) for key in sums.keys() | after.keys())
        done += [f"the kept sums of {num} encounters were wrong or missing"] if num else []
    return done


def find_faults(connection: Connection) -> Iterator[str]:
    """Compare what is kept with what the matches say; one sentence for each contradiction."""
    yield from _wrong_columns(connection)
    yield from _wrong_pools(connection)
    names = _Names(connection)
    before = _all_sums(connection)
    mark = connection.scalar(select(summing.c.next_match))
    newest = numbering.last_match(connection)
    if mark is None or not 1 <= mark <= newest + 1:
        yield f"the mark of the kept sums is {mark}, and the last match is #{newest}; {_REPAIR}"
        return
    ids: dict[Key, int] = {}
    with _scratch(connection):
        for first, last in _batches(connection, 1, mark - 1):
            _count(connection, first, last, ids)
        counted = _all_sums(connection)
        torn = {tuple(row) for row in connection.exec_driver_sql(_OTHERS)}
    for key in sorted(torn):
        yield f"the clusters of {names.say(key)} are not those of their matches; {_REPAIR}"
    for key in sorted(before.keys() | counted.keys()):
        if before.get(key, _NOTHING) != counted.get(key, _NOTHING):
            wrong = [
                name
                for name, kept, right in zip(
                    SUMS, before.get(key, _NOTHING), counted.get(key, _NOTHING), strict=True
                )
                if kept != right
            ]
            yield (
                f"the kept sums of {names.say(key)} are not those of their matches "
                f"({', '.join(wrong[:3])}); {_REPAIR}"
            )


_NOTHING: Final = (0,) * len(SUMS)


_ENCOUNTER: Final = ", ".join(f"encounters.{name}" for name in ("pool_id", "tournament_id", "low", "high"))


def _clusters_of(schema: str) -> str:
    """Return the query for clusters with the keys of their encounters, without courses of play."""
    # Which course came first, and stands in the row, follows from the batches in which matches were added.
    told = [column.name for column in clusters.c if not column.name.endswith(("_moves_hash", "_same"))]
    names = ", ".join(f"own.{name}" for name in told if name != "encounter_id")
    return (
        f"SELECT {_ENCOUNTER}, {names} FROM {schema}.clusters AS own "  # noqa: S608 - our own names
        f"JOIN {schema}.encounters AS encounters ON encounters.id = own.encounter_id"
    )


def _courses_of(schema: str) -> str:
    """Return the query for how often each course of play came, wherever it stands."""
    parts = [
        f"SELECT encounter_id, opening_hash, {number} AS side, "  # noqa: S608 - our own names
        f"{side}_moves_hash AS moves, {side}_same AS times FROM {schema}.clusters"
        for number, side in enumerate(("first", "second"))
    ]
    parts.append(f"SELECT encounter_id, opening_hash, side, moves_hash, times FROM {schema}.strays")  # noqa: S608
    return (
        f"SELECT {_ENCOUNTER}, own.opening_hash, own.side, own.moves, sum(own.times) "  # noqa: S608
        f"FROM ({' UNION ALL '.join(parts)}) AS own "
        f"JOIN {schema}.encounters AS encounters ON encounters.id = own.encounter_id "
        f"GROUP BY {_ENCOUNTER}, own.opening_hash, own.side, own.moves"
    )


_OTHERS: Final = " UNION ".join(
    f"SELECT pool_id, tournament_id, low, high FROM ({rows_of(one)} EXCEPT {rows_of(other)})"  # noqa: S608
    for rows_of in (_clusters_of, _courses_of)
    for one, other in (("main", "temp"), ("temp", "main"))
)
"""Encounters of which the kept clusters or courses of play differ from those that were counted."""


def _last_of_batch(connection: Connection, start: int) -> int | None:
    ids = select(matches.c.id).where(matches.c.id >= start).order_by(matches.c.id).limit(BATCH).subquery()
    return connection.scalar(select(func.max(ids.c.id)))


def _batches(connection: Connection, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last id of batches of matches within `[first, last]`.

    By the matches and not by numbers: a damaged page may name a last match that billions are missing before.
    """
    while first <= last:
        end = _last_of_batch(connection, first)
        if end is None:
            return
        yield first, min(end, last)
        first = end + 1


def _derive(connection: Connection, first: int, last: int) -> None:
    """Write the columns of matches that follow from their actions."""
    rows = [found for found in _derived(connection, first, last) if found[:2] != found[2:4]]
    if rows:
        values = [(*row[:2], row[4]) for row in rows]
        connection.exec_driver_sql(_derive_text(connection.dialect.name), values)


def _derived(connection: Connection, first: int, last: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield number of plies and hash of the opening of matches, both as they are stored, and the id."""
    names = ("id", "tournament_id", "actions", "num_opening", "num_plies", "opening_hash")
    own = matches.c.id.between(first, last)
    found: Select[*tuple[Any, ...]] = select(*(matches.c[name] for name in names)).where(own)
    width = {
        number: 1 if num_actions <= BYTE else 2
        for number, num_actions in connection.execute(select(tournaments.c.id, tournaments.c.num_actions))
    }
    hashes: dict[bytes, int] = {}
    for number, tournament, actions, num_opening, num_plies, opening_hash in connection.execute(found):
        opening = actions[: num_opening * width[tournament]]
        right = hashes.get(opening)
        if right is None:
            right = hashes[opening] = hash_opening(opening)
        yield len(actions) // width[tournament], right, num_plies, opening_hash, number


@cache
def _derive_text(dialect: str) -> str:
    own = update(matches).where(matches.c.id == 0)
    return driver_text(own.values(num_plies=0, opening_hash=0), dialect)


def _count(connection: Connection, first: int, last: int, known_ids: dict[Key, int]) -> None:
    """Add the matches with ids in `[first, last]` to the kept sums."""
    sums = Summing()
    fill(connection, sums, first, last)
    sums.apply(connection, known_ids)


def fill(connection: Connection, sums: Summing, first: int, last: int, tournament: int | None = None) -> None:
    """Add the matches with ids in `[first, last]`, of one tournament or of all."""
    pool_ids: dict[int, int] = {}
    # In pieces: after a large import was killed, a reader may meet a million matches.
    for start, end in _batches(connection, first, last):
        for match, partner in read_counted(connection, start, end, tournament):
            pool = pool_ids.get(match.tournament)
            if pool is None:
                found = select(tournaments.c.pool_id).where(tournaments.c.id == match.tournament)
                pool = pool_ids[match.tournament] = connection.execute(found).scalar_one()
            sums.add(pool, match, partner)


def _compare_counts(connection: Connection) -> None:
    """Compare the numbers of matches in the sums with those of the matches, by tournament and by pool."""
    results = sum((encounters.c[name] for name in SUMS[1:FIRST_PAIR]), encounters.c[SUMS[0]])
    of = encounters.c.tournament_id
    summed = select(encounters.c.pool_id, of, func.sum(results)).group_by(encounters.c.pool_id, of)
    kept = {(pool, tournament): num for pool, tournament, num in connection.execute(summed)}
    counted: dict[tuple[int, int], int] = {}
    is_between = matches.c.first_bot != matches.c.second_bot
    one_by_one = (
        select(
            tournaments.c.pool_id, tournaments.c.id, func.count(), func.sum(case((is_between, 1), else_=0))
        )
        .join_from(matches, tournaments, tournaments.c.id == matches.c.tournament_id)
        .where(text(COUNTS))
        .group_by(tournaments.c.pool_id, tournaments.c.id)
    )
    for pool, tournament, num, num_between in connection.execute(one_by_one):
        counted[pool, tournament] = num
        counted[pool, 0] = counted.get((pool, 0), 0) + num_between
    if kept != {key: num for key, num in counted.items() if num}:
        raise DamagedError(
            "the sums of encounters do not hold as many matches as are stored; `arena db restore` puts the "
            "backup of before the upgrade in the place of this store"
        )


@contextmanager
def _scratch(connection: Connection) -> Generator[None]:
    """Replace the tables of sums by empty temporary ones, in which a reader may write."""
    for table in reversed(_KEPT):
        made = CreateTable(table, include_foreign_key_constraints=[])
        text_of = str(made.compile(connection)).replace("CREATE TABLE", "CREATE TEMP TABLE", 1)
        connection.exec_driver_sql(text_of)
    try:
        yield
    finally:
        for table in _KEPT:
            connection.exec_driver_sql(f"DROP TABLE temp.{table.name}")


def _all_sums(connection: Connection) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return the sums by pool, tournament or 0, and both seats or bots."""
    names = ("pool_id", "tournament_id", "low", "high", *SUMS)
    rows = connection.execute(select(*(encounters.c[name] for name in names)))
    return {tuple(row[:4]): tuple(row[4:]) for row in rows}


def _all_tallies(connection: Connection) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in connection.execute(select(tallies))}


def _wrong_columns(connection: Connection) -> Iterator[str]:
    for first, last in _batches(connection, 1, last_match(connection)):
        for plies, opening, *stored, number in _derived(connection, first, last):
            if [plies, opening] != stored:
                yield (
                    f"match #{number} is noted with other plies or another opening than it has; "
                    "`arena db repair` corrects it"
                )


def _wrong_pools(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(pools)):
        if row.name != (name := pool_record(row).name):
            yield f"the pool {row.name} of {row.game} has the limit of {name}"
    other = and_(pools.c.id == tournaments.c.pool_id, pools.c.game != tournaments.c.game)
    for name in connection.scalars(select(tournaments.c.name).join_from(tournaments, pools, other)):
        yield f"tournament {name} is in a pool of another game"


class _Names:
    """Says which encounter a key of the sums is."""

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
