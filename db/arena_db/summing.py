"""Adds matches to the sums of their encounters, in the pool and in the tournament.

One computation serves the writer, which stores the new sums, and readers, which add the matches saved since
to the stored sums without storing anything.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from hashlib import sha256
from operator import add, sub
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from sqlalchemy import insert, select, text, update

from arena_db.counted import HALF_POINTS, padded, parts, wanted_text
from arena_db.dialects import driver_text, upsert
from arena_db.kept import clusters, encounters, strays
from arena_db.sums import FIRST_PAIR, FIRST_SHARE, FIRST_SINGLE, SUMS, Cluster, SideSums, share_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Table

    from arena_db.counted import CountedMatch

_RESULTS: Final = 3
"""Number of different results: loss, draw and win."""

Key: TypeAlias = tuple[int, int, int, int]
"""Pool, tournament or 0, and two seats of the tournament or bots of the pool; the lower bot id first."""
_Place: TypeAlias = tuple[int, int]
"""Opening and id of the encounter."""
_Unit: TypeAlias = tuple[int, int, int, int, int, int]
"""Pool, tournament, both seats and both bots."""
_New: TypeAlias = tuple[list[tuple[int, int, int]], list[int]]
"""Side, half points of the lower bot and moves of each match of an opening; half points of new pairs."""
_Stray: TypeAlias = tuple[int, int, int, int]
"""Opening, id of the encounter, side and moves."""


class Totals(NamedTuple):
    """The changes that matches make to the stored sums."""

    sums: dict[Key, tuple[int, ...]]
    """Amounts to add to the sums of each encounter, in the order of `SUMS`."""
    clusters: list[tuple[int, ...]]
    """Complete new rows of clusters."""
    strays: list[tuple[int, ...]]
    """Complete new rows of strays."""


class _Change:
    """The changes of one encounter by a batch."""

    __slots__ = ("openings", "sums")

    def __init__(self) -> None:
        self.sums = [0] * FIRST_SHARE
        self.openings: dict[int, _New] = {}

    def opening(self, opening_hash: int) -> _New:
        """Return the new matches and pairs of an opening; created empty if needed."""
        found = self.openings.get(opening_hash)
        if found is None:
            found = self.openings[opening_hash] = ([], [])
        return found

    def merged(self, other: _Change) -> _Change:
        """Return the union of two changes, of one bot in two seats or in several tournaments."""
        both = _Change()
        both.sums = list(map(add, self.sums, other.sums))
        for change in (self, other):
            for opening, (played, pairs) in change.openings.items():
                new = both.opening(opening)
                new[0].extend(played)
                new[1].extend(pairs)
        return both


class Summing:
    """Collects the matches of a batch in the order they are stored; `apply` adds them to the sums."""

    def __init__(self) -> None:
        """Initialise an empty batch."""
        self._changes: dict[_Unit, _Change] = {}
        self._merged: dict[Key, _Change] = {}
        """The changes grouped by encounter, computed once all matches are added."""

    def add(self, pool: int, match: CountedMatch, partner: CountedMatch | None) -> None:
        """Add a match.

        Args:
            pool: id of its pool.
            match: the match.
            partner: the other match of its pair, if it was added before, in this batch or an earlier one.
        """
        tournament, first_seat, second_seat, first_bot, second_bot, outcome, opening_hash = match[:7]
        half, moves_hash = HALF_POINTS[outcome], hash_moves(match[7])
        if is_low_first(first_seat, second_seat, first_bot, second_bot):
            side, key = 0, (pool, tournament, first_seat, second_seat, first_bot, second_bot)
        else:
            side, key = 1, (pool, tournament, second_seat, first_seat, second_bot, first_bot)
            half = 2 - half
        change = self._changes.get(key)
        if change is None:
            change = self._changes[key] = _Change()
        sums = change.sums
        sums[_RESULTS * side + half] += 1
        change.opening(opening_hash)[0].append((side, half, moves_hash))
        # Two matches form a pair only if the bots swapped sides.
        if partner is None or partner[1] != second_seat or partner[2] != first_seat:
            sums[FIRST_SINGLE + _RESULTS * side + half] += 1
            return
        # Until now the partner was counted as a single match; both become a pair.
        counterpart = HALF_POINTS[partner[5]]
        counterpart = counterpart if side else 2 - counterpart
        sums[FIRST_SINGLE + _RESULTS * (1 - side) + counterpart] -= 1
        sums[FIRST_PAIR + half + counterpart] += 1
        # Normally they are equal; if not, the choice must not depend on which bot is lower.
        change.opening(min(opening_hash, partner[6]))[1].append(half + counterpart)

    def totals(self, connection: Connection, ids: Mapping[Key, int], wanted: Collection[Key]) -> Totals:
        """Return the changes that the added matches make; nothing is written.

        Args:
            connection: its stored sums include all earlier matches, and none of the added ones.
            ids: ids of the encounters that are stored; the others have no match yet.
            wanted: the encounters to compute, some of `encounters`.
        """
        by_key = self._by_encounter()
        # No stored cluster has an id below 0, so none is found for a new encounter.
        changes = {ids.get(key, -1 - place): (key, by_key[key]) for place, key in enumerate(wanted)}
        places = [(opening, number) for number, (_, change) in changes.items() for opening in change.openings]
        places.sort()
        known = _load(connection, [place for place in places if place[1] >= 0])
        rows: list[tuple[int, ...]] = []
        all_sums: dict[Key, tuple[int, ...]] = {}
        stray_rows, repeated = _count_strays(connection, changes, known)
        # Most new clusters of a tournament are new in the pool, too, and equal there, so they are reused.
        fresh: dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        for number, (key, change) in changes.items():
            shares: list[tuple[int, ...]] = []
            for opening, new in change.openings.items():
                place = opening, number
                cluster = known.get(place)
                made = fresh.get((id(change), opening)) if cluster is None else None
                if made is None:
                    strays_here = repeated.get(place, ())
                    if cluster is None:
                        made = None if strays_here else _begin(new)
                        values, share = fresh[id(change), opening] = made or _extend(
                            Cluster(), new, strays_here
                        )
                    else:
                        before = cluster.share()
                        values, share = _extend(cluster, new, strays_here)
                        share = tuple(map(sub, share, before))
                else:
                    values, share = made
                rows.append(place + values)
                shares.append(share)
            all_sums[key] = (*change.sums, *map(sum, zip(*shares, strict=True)))
        rows.sort()
        return Totals(all_sums, rows, stray_rows)

    def encounters(self) -> Collection[Key]:
        """Return the encounters that the added matches change."""
        return self._by_encounter().keys()

    def apply(
        self, connection: Connection, known_ids: dict[Key, int], *, only: Collection[Key] | None = None
    ) -> None:
        """Add all matches to the stored sums.

        Args:
            connection: holds the write lock.
            known_ids: cache of ids of encounters that earlier transactions found; updated.
            only: only these encounters; None for all.
        """
        changed = [key for key in self.encounters() if only is None or key in only]
        if not changed:
            return
        ids = encounter_ids(connection, changed, known_ids)
        totals = self.totals(connection, ids, ids)
        dialect = connection.dialect.name
        connection.exec_driver_sql(_store_text(clusters, dialect), totals.clusters)
        if totals.strays:
            connection.exec_driver_sql(_store_text(strays, dialect), totals.strays)
        sums = [(*new, ids[key]) for key, new in totals.sums.items()]
        connection.exec_driver_sql(_add_text(dialect), sums)

    def _by_encounter(self) -> dict[Key, _Change]:
        """Return the changes by encounter, in the tournament and in the pool."""
        found = self._merged
        if found:
            return found
        for (pool, tournament, low_seat, high_seat, low_bot, high_bot), change in self._changes.items():
            found[pool, tournament, low_seat, high_seat] = change
            # A bot against itself counts for its two seats, but not in the pool.
            if low_bot != high_bot:
                key = (pool, 0, low_bot, high_bot)
                other = found.get(key)
                found[key] = change if other is None else other.merged(change)
        return found


def is_low_first(first_seat: int, second_seat: int, first_bot: int, second_bot: int) -> bool:
    """Return whether the first mover is the lower side; compared by bots, so that all tables agree."""
    return first_bot < second_bot or (first_bot == second_bot and first_seat < second_seat)


def hash_opening(actions: bytes | bytearray) -> int:
    """Return a 60-bit hash of an opening, computed from its packed actions."""
    # Python's hash of an integer up to 60 bits is the integer itself, so ratings order openings as the store
    # does.
    return int.from_bytes(sha256(actions).digest()[:8]) >> 4


def hash_moves(match_hash: bytes) -> int:
    """Return 63 bits of the hash of a match, equal for equal matches; they fit into a signed integer."""
    return int.from_bytes(match_hash[:8]) >> 1


def _begin(new: _New) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return what `_extend` returns for a new cluster with at most one match per side, faster; else None."""
    played, pairs = new
    sides = [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]
    for side, half_points, moves_hash in played:
        if sides[side][0]:
            return None
        sides[side][:] = 1, half_points, moves_hash, 1, 1
    one, other = sides
    last = (len(played), len(pairs), sum(pairs))
    return (*one, *other, *last), share_of(one[0], one[1], one[4], other[0], other[1], other[4], *last)


def _extend(
    cluster: Cluster, new: _New, repeated: Iterable[tuple[int, int, int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Add matches to a cluster; return the columns of its row after the key, and its share.

    Args:
        cluster: updated.
        new: the new matches and pairs of its opening.
        repeated: side, number of matches and number of new ones among them, for each move sequence but the
            first.
    """
    played, pairs = new
    for side, half_points, moves_hash in played:
        place = cluster.sides[side]
        if not place.matches:
            place.moves_hash = moves_hash
            cluster.num_different += 1
        place.matches += 1
        place.half_points += half_points
        if moves_hash == place.moves_hash:
            place.same += 1
            place.most = max(place.most, place.same)
    for side, times, num_new in repeated:
        cluster.sides[side].most = max(cluster.sides[side].most, times)
        cluster.num_different += times == num_new
    cluster.num_pairs += len(pairs)
    cluster.pair_half_points += sum(pairs)
    one, other = cluster.sides
    values = (
        *(one.matches, one.half_points, one.moves_hash, one.same, one.most),
        *(other.matches, other.half_points, other.moves_hash, other.same, other.most),
        *(cluster.num_different, cluster.num_pairs, cluster.pair_half_points),
    )
    return values, cluster.share()


def _count_strays(
    connection: Connection, changes: Mapping[int, tuple[Key, _Change]], known: Mapping[_Place, Cluster]
) -> tuple[list[tuple[int, ...]], dict[_Place, list[tuple[int, int, int]]]]:
    """Count the matches whose moves differ from the first match of their cluster and side.

    Returns:
        The new rows, and the same by place in the format of `_extend`.
    """
    counts = _new_strays(changes, known)
    keys = sorted(counts)
    before: dict[_Stray, int] = {}
    dialect = connection.dialect.name
    for chunk in parts(keys):
        values, num = padded(chunk)
        for opening, number, side, moves_hash, times in connection.exec_driver_sql(
            _strays_text(dialect, num), values
        ):
            before[opening, number, side, moves_hash] = times
    rows = [(*key, before.get(key, 0) + counts[key]) for key in keys]
    found: dict[_Place, list[tuple[int, int, int]]] = {}
    for key, (opening, number, side, _, times) in zip(keys, rows, strict=True):
        found.setdefault((opening, number), []).append((side, times, counts[key]))
    return rows, found


def _new_strays(
    changes: Mapping[int, tuple[Key, _Change]], known: Mapping[_Place, Cluster]
) -> Counter[_Stray]:
    counts: Counter[_Stray] = Counter()
    for number, (_, change) in changes.items():
        for opening, (played, _) in change.openings.items():
            cluster = known.get((opening, number))
            if cluster is None and len(played) == 1:
                continue
            first: list[int | None] = [None, None]
            if cluster is not None:
                first = [place.moves_hash if place.matches else None for place in cluster.sides]
            for side, _, moves_hash in played:
                if first[side] is None:
                    first[side] = moves_hash
                elif first[side] != moves_hash:
                    counts[opening, number, side, moves_hash] += 1
    return counts


@cache
def _strays_text(dialect: str, num: int) -> str:
    names = [column.name for column in strays.c]
    is_it = " AND ".join(f"strays.{name} = wanted.column{place}" for place, name in enumerate(names[:-1], 1))
    every = ", ".join(f"strays.{name}" for name in names)
    query = f"SELECT {every} FROM {wanted_text(len(names) - 1, num)} CROSS JOIN strays WHERE {is_it}"  # noqa: S608
    return driver_text(text(query), dialect)


def encounter_ids(connection: Connection, keys: Iterable[Key], known: dict[Key, int]) -> dict[Key, int]:
    """Return the ids of encounters; missing ones are inserted with sums of 0."""
    ids: dict[Key, int] = {}
    dialect = connection.dialect.name
    for key in keys:
        found = known.get(key)
        if found is None:
            found = connection.exec_driver_sql(_id_text(dialect), key).scalar()
            if found is None:
                # The insert may be rolled back, so the id is cached only when a later transaction finds it.
                found = connection.exec_driver_sql(_new_text(dialect), key + (0,) * len(SUMS)).scalar_one()
            else:
                known[key] = found
        ids[key] = found
    return ids


_KEY: Final = ("pool_id", "tournament_id", "low", "high")


@cache
def _id_text(dialect: str) -> str:
    found = select(encounters.c.id)
    for name in _KEY:
        found = found.where(encounters.c[name] == 0)
    return driver_text(found, dialect)


@cache
def _new_text(dialect: str) -> str:
    return driver_text(insert(encounters).returning(encounters.c.id), dialect, [*_KEY, *SUMS])


def _load(connection: Connection, places: Sequence[_Place]) -> dict[_Place, Cluster]:
    """Return those of these clusters that are stored."""
    found: dict[_Place, Cluster] = {}
    dialect = connection.dialect.name
    for chunk in parts(places):
        values, num = padded(chunk)
        for row in connection.exec_driver_sql(_load_text(dialect, num), values):
            opening, number, *rest = row
            sides = SideSums(*rest[:5]), SideSums(*rest[5:10])
            found[opening, number] = Cluster(sides, *rest[10:])
    return found


@cache
def _load_text(dialect: str, num: int) -> str:
    names = ", ".join(f"clusters.{column.name}" for column in clusters.c)
    query = (
        f"SELECT {names} FROM {wanted_text(2, num)} CROSS JOIN clusters "  # noqa: S608 - our own names
        "WHERE clusters.opening_hash = wanted.column1 AND clusters.encounter_id = wanted.column2"
    )
    return driver_text(text(query), dialect)


@cache
def _store_text(table: Table, dialect: str) -> str:
    """Return the statement that inserts rows or replaces those with the same key."""
    keys = [column.name for column in table.primary_key]
    statement = upsert(table, dialect)
    names = [column.name for column in table.c]
    new = {name: statement.excluded[name] for name in names if name not in keys}
    changed = statement.on_conflict_do_update(index_elements=keys, set_=new)
    return driver_text(changed, dialect, names)


@cache
def _add_text(dialect: str) -> str:
    sums = {name: encounters.c[name] + 0 for name in SUMS}
    return driver_text(update(encounters).where(encounters.c.id == 0).values(sums), dialect)
