"""Updates the stored sums from the matches: in batches, after an upgrade, for a repair.

The sums include the matches with ids below a mark (`summing.next_match`), which moves in the transaction that
adds them. Ids only grow, so each match is added exactly once; `summed` recomputes some sums.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import case, delete, func, insert, select, text, update

from arena_db import numbering
from arena_db.cold.thawing import find_cold, list_cold, thawed
from arena_db.cold_tables import pruned_tournaments
from arena_db.counted import COUNTS, read_counted
from arena_db.dialects import driver_text
from arena_db.errors import DamagedError
from arena_db.filters import BYTE
from arena_db.kept import clusters, encounters, strays, summing
from arena_db.models import matches, tallies, tournaments
from arena_db.summing import Key, Summing, encounter_ids, hash_opening
from arena_db.sums import FIRST_PAIR, NO_SUMS, SUMS
from arena_db.tallying import KEYS, recount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Select

    from arena_db.cold.thawing import ColdTournament

BATCH: Final = 10_000
"""Number of matches per transaction."""
_MOST_OPENINGS: Final = 10_000
"""Number of openings whose hashes are cached."""
REPAIR: Final = "`arena db repair` rebuilds them"
"""What to do if stored sums are wrong, for messages."""
KEPT: Final = (strays, clusters, encounters)
"""Tables of sums, ordered so that referring tables come first."""


def first_unsummed(connection: Connection) -> int:
    """Return the lowest id of a match that the stored sums do not include.

    Raises:
        DamagedError: the mark is missing.
    """
    found = connection.scalar(select(summing.c.next_match))
    if found is None:
        raise DamagedError(f"the mark of the kept sums is missing; {REPAIR}")
    return found


def last_match(connection: Connection) -> int:
    """Return the highest id of a match; 0 without any."""
    return connection.scalar(select(func.max(matches.c.id))) or 0


def step(connection: Connection, known_ids: dict[Key, int] | None = None) -> bool:
    """Add the next batch of matches to the sums; return whether none is left.

    Args:
        connection: holds the write lock.
        known_ids: cache of ids of encounters that earlier transactions found; updated.

    Raises:
        DamagedError: the mark is missing, or at the end of an upgrade the sums do not include all matches.
    """
    start = first_unsummed(connection)
    # The flag is in the store, so that any process can finish an upgrade that was killed.
    is_upgrade = connection.scalar(select(summing.c.upgrading)) == 1
    last = _last_of_batch(connection, start)
    if last is None:
        if is_upgrade:
            _compare_counts(connection)
            connection.execute(update(summing).values(upgrading=0))
        return True
    if is_upgrade:
        _derive(connection, start, last)
    count(connection, start, last, {} if known_ids is None else known_ids)
    # In the transaction that adds the matches, so that each is added once, whenever the process is killed.
    connection.execute(update(summing).values(next_match=last + 1))
    return False


def rebuild(connection: Connection) -> list[str]:
    """Recompute all sums and tallies in one transaction, so that readers of the store never see a part.

    Returns:
        What has changed, one sentence each.

    Raises:
        DamagedError: see `step`.
    """
    num_columns = sum(1 for _ in wrong_columns(connection))
    start = connection.scalar(select(summing.c.next_match)) or 1
    sums, counts = all_sums(connection), _all_tallies(connection)
    for table in (*KEPT, summing, tallies, pruned_tournaments):
        connection.execute(delete(table))
    connection.execute(insert(tallies).from_select([*KEYS, "num_matches"], recount([])))
    # As after an upgrade: `step` then also derives the columns of matches again and compares the counts.
    connection.execute(insert(summing).values(id=1, next_match=1, upgrading=1))
    while not step(connection):
        pass
    _rebuild_cold(connection)
    done = (
        [f"plies and openings of {num_columns} matches are recomputed from the moves"] if num_columns else []
    )
    if num := len(counts ^ _all_tallies(connection)):
        done.append(f"{num} kept counts were wrong or missing")
    after = all_sums(connection)
    # Sums that merely lag behind the matches are not wrong.
    if start > last_match(connection):
        num = sum(sums.get(key, NO_SUMS) != after.get(key, NO_SUMS) for key in sums.keys() | after.keys())
        done += [f"the kept sums of {num} encounters were wrong or missing"] if num else []
    return done


def _rebuild_cold(connection: Connection) -> None:
    """Add the matches that are in files to rebuilt sums and tallies."""
    for cold in list_cold(connection):
        count_cold(connection, cold, cold.last_match, {})
        with thawed(connection, cold):
            counted = [tuple(row) for row in connection.execute(recount([]))]
        if counted:
            names = [*KEYS, "num_matches"]
            connection.exec_driver_sql(driver_text(insert(tallies), connection.dialect.name, names), counted)
        # All matches are in the sums now, and no later one gets a lower id.
        mark = numbering.last_match(connection) + 1
        connection.execute(update(summing).values(next_match=mark))


def _last_of_batch(connection: Connection, start: int, size: int | None = None) -> int | None:
    ids = (
        select(matches.c.id)
        .where(matches.c.id >= start)
        .order_by(matches.c.id)
        .limit(size or BATCH)
        .subquery()
    )
    return connection.scalar(select(func.max(ids.c.id)))


def batches(
    connection: Connection, first: int, last: int, size: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the first and the last id of batches of matches within `[first, last]`.

    Batches follow existing matches, not numbers: a damaged page may hold an id billions above all others.
    """
    while first <= last:
        end = _last_of_batch(connection, first, size)
        if end is None:
            return
        yield first, min(end, last)
        first = end + 1


def _derive(connection: Connection, first: int, last: int) -> None:
    """Write the columns of matches that are derived from their actions."""
    # Only those that differ: an upgrade that was killed has done a part.
    rows = [found for found in _derived(connection, first, last) if found[:2] != found[2:4]]
    if rows:
        values = [(*row[:2], row[4]) for row in rows]
        connection.exec_driver_sql(_derive_text(connection.dialect.name), values)


def _derived(connection: Connection, first: int, last: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield for each match the derived plies and opening hash, the stored ones, and its id."""
    names = ("id", "tournament_id", "actions", "num_opening", "num_plies", "opening_hash")
    own = matches.c.id.between(first, last)
    found: Select[*tuple[Any, ...]] = select(*(matches.c[name] for name in names)).where(own)
    deriving = Deriving(connection)
    for number, tournament, actions, num_opening, num_plies, opening_hash in connection.execute(found):
        derived = deriving.of(tournament, actions, num_opening)
        if derived is None:
            raise DamagedError(f"match #{number} belongs to no tournament")
        yield *derived, num_plies, opening_hash, number


class Deriving:
    """Computes the columns of matches that are derived from their actions."""

    def __init__(self, connection: Connection) -> None:
        """Read how many bytes an action takes in each tournament."""
        query = select(tournaments.c.id, tournaments.c.num_actions)
        self._width = {
            number: 1 if num_actions <= BYTE else 2 for number, num_actions in connection.execute(query)
        }
        self._hashes: dict[bytes, int] = {}
        """Hashes of openings: most matches begin from one of few."""

    def of(self, tournament: int, actions: bytes, num_opening: int) -> tuple[int, int] | None:
        """Return number of plies and hash of the opening of a match; None if its tournament is unknown."""
        width = self._width.get(tournament)
        if width is None:
            return None
        opening = actions[: num_opening * width]
        opening_hash = self._hashes.get(opening)
        if opening_hash is None:
            if len(self._hashes) >= _MOST_OPENINGS:
                # All at once, which is cheaper than knowing which were used last.
                self._hashes.clear()
            opening_hash = self._hashes[opening] = hash_opening(opening)
        return len(actions) // width, opening_hash


@cache
def _derive_text(dialect: str) -> str:
    own = update(matches).where(matches.c.id == 0)
    return driver_text(own.values(num_plies=0, opening_hash=0), dialect)


def count(connection: Connection, first: int, last: int, known_ids: dict[Key, int]) -> None:
    """Add the matches with ids in `[first, last]` to the stored sums."""
    # New matches of a tournament that had ended are added to its clusters, which are needed again for that.
    pruned = list_pruned(connection)
    if pruned:
        own = matches.c.id.between(first, last) & matches.c.tournament_id.in_(pruned)
        for tournament in connection.scalars(select(matches.c.tournament_id).where(own).distinct()).all():
            restore(connection, tournament, first - 1)
    sums = Summing()
    fill(connection, sums, first, last)
    sums.apply(connection, known_ids)


def count_cold(connection: Connection, cold: ColdTournament, last: int, known_ids: dict[Key, int]) -> None:
    """Add the matches of a cold tournament with ids up to `last` to the stored sums."""
    sums = Summing()
    with thawed(connection, cold):
        fill(connection, sums, cold.first_match, min(cold.last_match, last), cold.id)
    sums.apply(connection, known_ids)


def list_pruned(connection: Connection) -> list[int]:
    """Return the tournaments whose clusters were removed after their end, by id."""
    return list(connection.scalars(select(pruned_tournaments.c.tournament_id).order_by("tournament_id")))


def restore(connection: Connection, tournament: int, last: int) -> None:
    """Store the clusters of a pruned tournament again, from its matches with ids up to `last`.

    Its sums stay: they never depended on whether the clusters they were computed from are stored.
    """
    sums = _of_tournament(connection, tournament, last)
    keys = [key for key in sums.encounters() if key[1] == tournament]
    totals = sums.totals(connection, encounter_ids(connection, keys, {}), keys)
    for table, rows in ((clusters, totals.clusters), (strays, totals.strays)):
        if rows:
            names = [column.name for column in table.c]
            connection.exec_driver_sql(driver_text(insert(table), connection.dialect.name, names), rows)
    own = pruned_tournaments.c.tournament_id == tournament
    connection.execute(delete(pruned_tournaments).where(own))


def counted_sums(connection: Connection, tournament: int, last: int) -> dict[Key, tuple[int, ...]]:
    """Return the sums of a tournament as its matches with ids up to `last` make them; nothing is stored."""
    sums = _of_tournament(connection, tournament, last)
    keys = [key for key in sums.encounters() if key[1] == tournament]
    # Without ids of encounters no stored cluster is read.
    return sums.totals(connection, {}, keys).sums


def _of_tournament(connection: Connection, tournament: int, last: int) -> Summing:
    """Collect the matches of a tournament with ids up to `last`, whether they are stored or in files."""
    sums = Summing()
    cold = find_cold(connection, tournament)
    with nullcontext() if cold is None else thawed(connection, cold):
        fill(connection, sums, 1, last, tournament)
    return sums


def fill(connection: Connection, sums: Summing, first: int, last: int, tournament: int | None = None) -> None:
    """Add the matches with ids in `[first, last]`, of one tournament or of all."""
    pool_ids: dict[int, int] = {}
    # In batches: after a large import was killed, a reader may find a million unsummed matches.
    for start, end in batches(connection, first, last):
        for match, partner in read_counted(connection, start, end, tournament):
            pool = pool_ids.get(match.tournament)
            if pool is None:
                found = select(tournaments.c.pool_id).where(tournaments.c.id == match.tournament)
                pool = pool_ids[match.tournament] = connection.execute(found).scalar_one()
            sums.add(pool, match, partner)


def _compare_counts(connection: Connection) -> None:
    """Compare the numbers of matches in the sums with those stored, by tournament and by pool.

    Raises:
        DamagedError: they differ.
    """
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
        # Tournament 0 stands for the whole pool, in which matches of a bot against itself do not count.
        counted[pool, 0] = counted.get((pool, 0), 0) + num_between
    if kept != {key: num for key, num in counted.items() if num}:
        raise DamagedError(
            "the sums of encounters do not hold as many matches as are stored; `arena db restore` puts the "
            "backup made before the upgrade in its place"
        )


def all_sums(connection: Connection) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Return the sums by pool, tournament or 0, and both seats or bots."""
    names = ("pool_id", "tournament_id", "low", "high", *SUMS)
    rows = connection.execute(select(*(encounters.c[name] for name in names)))
    return {tuple(row[:4]): tuple(row[4:]) for row in rows}


def _all_tallies(connection: Connection) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in connection.execute(select(tallies))}


def wrong_columns(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each match whose derived columns contradict its actions."""
    for first, last in batches(connection, 1, last_match(connection)):
        for plies, opening, *stored, number in _derived(connection, first, last):
            if [plies, opening] != stored:
                yield (
                    f"match #{number} has a wrong stored number of plies or opening; "
                    "`arena db repair` corrects it"
                )
