"""Adds matches to the kept sums of their encounters, in the pool and in the tournament."""

from __future__ import annotations

from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import chain
from operator import add, sub
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import insert, select, text, update

from arena_db.dialects import driver_text, upsert
from arena_db.kept import clusters, encounters, strays
from arena_db.sums import FIRST_PAIR, FIRST_SHARE, FIRST_SINGLE, SUMS, Cluster, SideSums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

HALF_POINTS: Final = {"first": 2, "draw": 1, "second": 0}
"""Of the bot that moved first."""
_CHUNK: Final = 512
"""Rows of one statement."""
_RESULTS: Final = 3
"""Loss, draw and win."""

Key: TypeAlias = tuple[int, int, int, int]
"""Pool, tournament or 0, and two seats of the tournament or bots of the pool; the lower bot id first."""
_Place: TypeAlias = tuple[int, int]
"""Opening and id of the encounter."""
_Unit: TypeAlias = tuple[int, int, int, int, int, int]
"""Pool, tournament, both seats and both bots."""
_New: TypeAlias = tuple[list[tuple[int, int, int]], list[int]]
"""Side, half points of the lower bot and moves of each match of an opening; half points of new pairs."""
_Item = TypeVar("_Item")


class Counted(NamedTuple):
    """A match with a result that is final and rated."""

    first_seat: int
    """Of the bot that moved first."""
    second_seat: int
    first_bot: int
    """Its id."""
    second_bot: int
    half_points: int
    """Of the bot that moved first."""
    opening_hash: int


class _Change:
    """What a batch adds to one encounter."""

    __slots__ = ("openings", "sums")

    def __init__(self) -> None:
        self.sums = [0] * FIRST_SHARE
        self.openings: dict[int, _New] = {}

    def opening(self, opening_hash: int) -> _New:
        """Return what is new of an opening."""
        found = self.openings.get(opening_hash)
        if found is None:
            found = self.openings[opening_hash] = ([], [])
        return found

    def merged(self, other: _Change) -> _Change:
        """Return both: of one bot in two seats, or in several tournaments."""
        both = _Change()
        both.sums = list(map(add, self.sums, other.sums))
        for change in (self, other):
            for opening, (played, pairs) in change.openings.items():
                new = both.opening(opening)
                new[0].extend(played)
                new[1].extend(pairs)
        return both


class Summing:
    """Collects matches of a batch in the order they are stored; `apply` adds them to the sums."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._changes: dict[_Unit, _Change] = {}

    def add(
        self, pool: int, tournament: int, match: Counted, moves_hash: int, partner: Counted | None
    ) -> None:
        """Add a match.

        Args:
            pool: id of its pool.
            tournament: id of its tournament.
            match: the match.
            moves_hash: equal for matches with the same moves.
            partner: the other match of its pair, if that was added before, in this batch or an earlier one.
        """
        first_seat, second_seat, first_bot, second_bot, half, opening_hash = match
        # By bots and not by seats: then the pool and the tournament see an encounter from the same side.
        if first_bot < second_bot or (first_bot == second_bot and first_seat < second_seat):
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
        # Two of one pair count together where each bot had each side.
        if partner is None or partner[:2] != (second_seat, first_seat):
            sums[FIRST_SINGLE + _RESULTS * side + half] += 1
            return
        counterpart = partner.half_points if side else 2 - partner.half_points
        sums[FIRST_SINGLE + _RESULTS * (1 - side) + counterpart] -= 1
        sums[FIRST_PAIR + half + counterpart] += 1
        # Both began from one opening; should they not, the choice may not depend on who is lower.
        change.opening(min(opening_hash, partner.opening_hash))[1].append(half + counterpart)

    def apply(self, connection: Connection, known_ids: dict[Key, int] | None = None) -> None:
        """Add all of it to the store.

        Args:
            connection: holds the write lock.
            known_ids: ids of encounters that earlier transactions found; it is added to.
        """
        if not self._changes:
            return
        by_key = self._by_encounter()
        ids = _encounter_ids(connection, by_key, {} if known_ids is None else known_ids)
        changes = {ids[key]: change for key, change in by_key.items()}
        places = [(opening, number) for number, change in changes.items() for opening in change.openings]
        places.sort()
        known = _load(connection, places)
        repeated = _count_strays(connection, changes, known)
        rows: list[tuple[int, ...]] = []
        sums: list[tuple[int, ...]] = []
        # What is new in the tournament is mostly new in the pool, too, and then the same.
        fresh: dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        for number, change in changes.items():
            shares: list[tuple[int, ...]] = []
            for opening, new in change.openings.items():
                place = opening, number
                cluster = known.get(place)
                made = fresh.get((id(change), opening)) if cluster is None else None
                if made is None:
                    before = None if cluster is None else cluster.share()
                    values, share = _extend(cluster or Cluster(), new, repeated.get(place, ()))
                    if before is None:
                        fresh[id(change), opening] = values, share
                    else:
                        share = tuple(map(sub, share, before))
                else:
                    values, share = made
                rows.append(place + values)
                shares.append(share)
            sums.append((*change.sums, *map(sum, zip(*shares, strict=True)), number))
        dialect = connection.dialect.name
        rows.sort()
        connection.exec_driver_sql(_store_text(dialect), rows)
        connection.exec_driver_sql(_add_text(dialect), sums)
        self._changes.clear()

    def _by_encounter(self) -> dict[Key, _Change]:
        """Return the changes of each encounter, in its tournament and in the pool."""
        found: dict[Key, _Change] = {}
        for (pool, tournament, low_seat, high_seat, low_bot, high_bot), change in self._changes.items():
            found[pool, tournament, low_seat, high_seat] = change
            # A bot against itself tells nothing of bots, only of seats.
            if low_bot != high_bot:
                key = (pool, 0, low_bot, high_bot)
                other = found.get(key)
                found[key] = change if other is None else other.merged(change)
        return found


def padded(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], int]:
    """Return the values of pairs in a row and how many pairs they are, filled up with -1: that fits nothing.

    Their number is a power of two: to make a statement for each number would take a millisecond.
    """
    num = 1 << (len(pairs) - 1).bit_length()
    return (*chain.from_iterable(pairs), *(-1,) * (2 * (num - len(pairs)))), num


def hash_opening(actions: bytes | bytearray) -> int:
    """Return 60 bits that tell an opening from others, made of its packed actions."""
    # Python's hash of a number of up to 60 bits is that number, so ratings order openings as the store does.
    return int.from_bytes(sha256(actions).digest()[:8]) >> 4


def hash_moves(match_hash: bytes) -> int:
    """Return 63 bits of the hash of a match, which alike matches share."""
    return int.from_bytes(match_hash[:8]) >> 1


def _extend(
    cluster: Cluster, new: _New, repeated: Iterable[tuple[int, int, int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Add matches to a cluster; return the columns of its row after the key, and its share.

    Args:
        cluster: is changed.
        new: what is new of its opening.
        repeated: side, number of matches and how many of them are new, for each course of play but the first.
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
    connection: Connection, changes: dict[int, _Change], known: dict[_Place, Cluster]
) -> dict[_Place, list[tuple[int, int, int]]]:
    """Count moves that are not those of the first match of their cluster and side, as `_play` takes them."""
    counts: Counter[tuple[int, int, int, int]] = Counter()
    for number, change in changes.items():
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
    found: dict[_Place, list[tuple[int, int, int]]] = {}
    dialect = connection.dialect.name
    for chunk in _parts(sorted(counts)):
        values = tuple(chain.from_iterable((*key, counts[key]) for key in chunk))
        rows = connection.exec_driver_sql(_strays_text(dialect, len(chunk)), values).all()
        for opening, number, side, moves_hash, times in rows:
            new = counts[opening, number, side, moves_hash]
            found.setdefault((opening, number), []).append((side, times, new))
    return found


@cache
def _strays_text(dialect: str, num: int) -> str:
    names = [column.name for column in strays.c]
    statement = upsert(strays, dialect).values([dict.fromkeys(names, 0)] * num)
    times = {"times": strays.c.times + statement.excluded["times"]}
    summed = statement.on_conflict_do_update(index_elements=names[:-1], set_=times)
    return driver_text(summed.returning(*strays.c), dialect)


def _encounter_ids(connection: Connection, keys: Iterable[Key], known: dict[Key, int]) -> dict[Key, int]:
    """Return the ids of encounters; those that are missing are made with sums of 0."""
    ids: dict[Key, int] = {}
    dialect = connection.dialect.name
    for key in keys:
        found = known.get(key)
        if found is None:
            found = connection.exec_driver_sql(_id_text(dialect), key).scalar()
            if found is None:
                # It may yet be taken back: it is known when another transaction finds it.
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
    """Return the stored ones of these clusters."""
    found: dict[_Place, Cluster] = {}
    dialect = connection.dialect.name
    for chunk in _parts(places):
        values, num = padded(chunk)
        for row in connection.exec_driver_sql(_load_text(dialect, num), values):
            opening, number, *rest = row
            sides = SideSums(*rest[:5]), SideSums(*rest[5:10])
            found[opening, number] = Cluster(sides, *rest[10:])
    return found


@cache
def _load_text(dialect: str, num: int) -> str:
    names = ", ".join(f"clusters.{column.name}" for column in clusters.c)
    marks = ", ".join(f"(:o{index}, :e{index})" for index in range(num))
    # A join and not `(opening_hash, encounter_id) IN (VALUES …)`, for which SQLite walks through the table.
    query = (
        f"SELECT {names} FROM (VALUES {marks}) AS wanted CROSS JOIN clusters "  # noqa: S608 - our own names
        "WHERE clusters.opening_hash = wanted.column1 AND clusters.encounter_id = wanted.column2"
    )
    return driver_text(text(query), dialect)


def _parts(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


@cache
def _store_text(dialect: str) -> str:
    names = [column.name for column in clusters.c]
    statement = upsert(clusters, dialect)
    new = {name: statement.excluded[name] for name in names[2:]}
    changed = statement.on_conflict_do_update(index_elements=names[:2], set_=new)
    return driver_text(changed, dialect, names)


@cache
def _add_text(dialect: str) -> str:
    sums = {name: encounters.c[name] + 0 for name in SUMS}
    return driver_text(update(encounters).where(encounters.c.id == 0).values(sums), dialect)
