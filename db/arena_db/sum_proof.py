"""Proves in one pass, without sorting or writing, that the stored sums are those of their matches.

Matches and stored clusters are compared as multisets of move sequences by polynomial fingerprints: each item
is mapped to a number in a prime field, and the product of all numbers of an encounter must be equal on both
sides. The map is drawn at random for each check, so unequal multisets have equal products with a probability
below 1e-15 (the difference is a polynomial in the drawn numbers, with as many factors as there are matches).
A failed proof names no fault: `sum_faults` then recomputes the sums and compares them row by row.
"""

from __future__ import annotations

from operator import itemgetter
from secrets import randbelow
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from arena_db import numbering
from arena_db.counted import HALF_POINTS
from arena_db.dialects import stream
from arena_db.errors import DatabaseError
from arena_db.failures import ODD
from arena_db.kept import clusters, strays, summing
from arena_db.models import tournaments
from arena_db.resumming import all_sums, counted_sums, list_pruned
from arena_db.summing import is_low_first
from arena_db.sums import FIRST_PAIR, FIRST_SHARE, FIRST_SINGLE, NO_SUMS, SUMS, share_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

    from arena_db.summing import Key

# A Mersenne prime above all 64-bit numbers of the store, so that different ones stay different in the field.
# Matches and clusters are compared as products of random linear forms over this field (R. J. Lipton,
# Fingerprinting Sets, 1989). Products that differ come out equal with a probability of at most their degree
# in the drawn numbers over 2^89 (Schwartz-Zippel lemma), and each match adds a small constant to the degree.
_PRIME: Final = (1 << 89) - 1
_MOST_PENDING: Final = 100_000
"""Number of matches that may wait for the other one of their pair; beyond it the proof is abandoned, to bound
its memory."""
_MOST_OPENINGS: Final = 4096
"""Number of openings whose field elements are cached: matches of one round share an opening."""
_RESULTS: Final = 3
"""Number of different results: loss, draw and win."""
_NO_SIDE: Final = (0,) * 5
"""Values of a side that was not played: matches, half points, moves, same and most."""

_SHARED_BY: Final = itemgetter(1, 2, 4, 5, 6, 8, 9, 10, 11)
"""Extracts from a kind of cluster the arguments of `share_of`."""

_Course: TypeAlias = tuple[int, int, int]
"""Side, moves and times of a move sequence that is not the first one of its side."""


class ProvedEncounter:
    """The matches between two seats of a tournament: their sums and their product."""

    __slots__ = ("bots", "key", "product", "sums")

    def __init__(self, key: Key, bots: tuple[int, int]) -> None:
        self.key = key
        self.bots = bots
        """Ids of the bots; first the one in the lower seat of the key."""
        self.sums = [0] * FIRST_SHARE
        self.product = 1


class Half(NamedTuple):
    """The shared part of matches of one kind, for the sums."""

    unit: ProvedEncounter
    side: int
    """0 if the lower bot moved first."""
    half_points: int
    """Half points of the lower bot."""


class _Numbers(NamedTuple):
    """Field elements of one opening."""

    course: tuple[int, int]
    """By side: the element to which the moves are added."""
    half_points: tuple[tuple[int, int, int], tuple[int, int, int]]
    """By side and half points of a match: the factor of its result."""
    pair: tuple[int, ...]
    """By half points of a pair: its factor."""


class SumProof:
    """Accepts every match of a store, then reports whether the stored sums agree with them."""

    def __init__(self, connection: Connection) -> None:
        """Read the mark of the sums and the pools of tournaments."""
        self.mark: int = connection.scalar(select(summing.c.next_match)) or 0
        """The id below which the sums include all matches."""
        self.is_open = 1 <= self.mark <= numbering.last_match(connection) + 1
        """Whether the proof is still possible: nothing was found that it does not cover."""
        self._pools = dict(map(tuple, connection.execute(select(tournaments.c.id, tournaments.c.pool_id))))
        self._units: dict[Key, ProvedEncounter] = {}
        self._pending: dict[tuple[int, int, int], tuple[int, Half, int]] = {}
        self._numbers: dict[int, _Numbers] = {}
        # Drawn for each check, so that no stored data can be built to defeat the proof.
        self._moves, *self._factors = (1 + randbelow(_PRIME - 1) for _ in range(6))
        self._sides = tuple(randbelow(_PRIME) for _ in range(6))

    def half(
        self, tournament: int, seats: tuple[int, int], bots: tuple[int, int], outcome: str
    ) -> Half | None:
        """Return the shared part of matches of these bots with this outcome; None if they do not count.

        Args:
            tournament: its id.
            seats: seats of the bot that moved first and of the other.
            bots: their ids.
            outcome: outcome of the match.
        """
        half_points = HALF_POINTS.get(outcome)
        if half_points is None:
            return None
        pool = self._pools.get(tournament)
        if pool is None:
            self.is_open = False
            return None
        side = 0 if is_low_first(*seats, *bots) else 1
        if side:
            # From the view of the lower bot, as in the stored sums.
            seats, bots, half_points = (seats[1], seats[0]), (bots[1], bots[0]), 2 - half_points
        key = (pool, tournament, *seats)
        unit = self._units.get(key)
        if unit is None:
            unit = self._units[key] = ProvedEncounter(key, bots)
        elif unit.bots != bots:
            self.is_open = False
        return Half(unit, side, half_points)

    def add(self, half: Half, place: tuple[int, int, int], opening: int, moves: int) -> None:
        """Add a match that counts.

        Args:
            half: what `half` returned.
            place: tournament, encounter of the plan, number within it.
            opening: hash of its opening.
            moves: hash of its moves.
        """
        unit, side, points = half
        sums = unit.sums
        numbers = self._numbers.get(opening) or self._number(opening)
        # A random linear form of the item; factors of side, points and opening are drawn independently.
        product = (numbers.course[side] + moves * self._moves) % _PRIME * numbers.half_points[side][points]
        sums[_RESULTS * side + points] += 1
        tournament, encounter, match_no = place
        # Matches 2k and 2k + 1 of an encounter are a pair.
        pair = (tournament, encounter, match_no >> 1)
        other = self._pending.pop(pair, None)
        if other is None:
            self._pending[pair] = match_no, half, opening
            sums[FIRST_SINGLE + _RESULTS * side + points] += 1
            # Matches of a pair lie close together in a sound store.
            if len(self._pending) > _MOST_PENDING:
                self.is_open = False
        else:
            other_no, (other_unit, other_side, other_points), other_opening = other
            if other_no == match_no:
                self.is_open = False
            # Two matches form a pair only if the bots swapped sides.
            if other_unit is unit and other_side != side:
                sums[FIRST_SINGLE + _RESULTS * other_side + other_points] -= 1
                sums[FIRST_PAIR + points + other_points] += 1
                if other_opening < opening:
                    numbers = self._numbers.get(other_opening) or self._number(other_opening)
                product = product % _PRIME * numbers.pair[points + other_points]
            else:
                sums[FIRST_SINGLE + _RESULTS * side + points] += 1
        # Multiplication commutes, so the order of matches does not matter.
        unit.product = unit.product * (product % _PRIME) % _PRIME

    def holds(self, connection: Connection) -> bool:
        """Return whether the stored sums are those of the added matches.

        False proves nothing: damage that is not foreseen here is left to the slow comparison.
        """
        if not self.is_open:
            return False
        try:
            return self._compare(connection)
        except (*ODD, DBAPIError, DatabaseError):
            return False

    def _compare(self, connection: Connection) -> bool:
        keys = connection.exec_driver_sql(
            "SELECT id, pool_id, tournament_id, low, high FROM encounters"
        ).all()
        ids: dict[Key, int] = {(row[1], row[2], row[3], row[4]): row[0] for row in keys}
        played = self._by_encounter()
        # A key twice, or matches without a row, is damage that the products below would not show.
        if len(ids) != len(keys) or not played.keys() <= ids.keys():
            return False
        products = dict.fromkeys(ids.values(), 1)
        kinds: dict[tuple[int, ...], int] = {}
        if not self.read_clusters(connection, products, kinds):
            return False
        shares = {number: [0] * (len(SUMS) - FIRST_SHARE) for number in products}
        for kind, times in kinds.items():
            share = shares[kind[0]]
            for place, value in enumerate(share_of(*_SHARED_BY(kind))):
                share[place] += times * value
        kept = all_sums(connection)
        pruned = set(list_pruned(connection))
        return all(
            products[number] == (there.product if (there := played.get(key)) else 1)
            and kept[key] == (*(there.sums if there else NO_SUMS[:FIRST_SHARE]), *shares[number])
            for key, number in ids.items()
            if key[1] not in pruned
        ) and all(self._are_counted(connection, tournament, kept) for tournament in pruned)

    def _are_counted(
        self, connection: Connection, tournament: int, kept: dict[tuple[int, ...], tuple[int, ...]]
    ) -> bool:
        """Return whether the sums of a tournament without clusters are those of its matches."""
        counted: dict[tuple[int, ...], tuple[int, ...]] = dict(
            counted_sums(connection, tournament, self.mark - 1).items()
        )
        own = {key for key in kept if key[1] == tournament}
        return all(kept.get(key, NO_SUMS) == counted.get(key, NO_SUMS) for key in own | counted.keys())

    def _by_encounter(self) -> dict[Key, ProvedEncounter]:
        """Return the added matches by encounter, in the tournament and in the pool."""
        found: dict[Key, ProvedEncounter] = dict(self._units)
        for unit in self._units.values():
            # A bot against itself counts for its two seats, but not in the pool.
            if unit.bots[0] != unit.bots[1]:
                key = (unit.key[0], 0, *unit.bots)
                whole = found.get(key)
                if whole is None:
                    whole = found[key] = ProvedEncounter(key, unit.bots)
                whole.sums = [one + other for one, other in zip(whole.sums, unit.sums, strict=True)]
                whole.product = whole.product * unit.product % _PRIME
        return found

    def read_clusters(
        self, connection: Connection, products: dict[int, int], kinds: dict[tuple[int, ...], int]
    ) -> bool:
        """Read the stored clusters: multiply their field elements by encounter, and count equal clusters.

        Args:
            connection: reads one snapshot of the store.
            products: the product of each encounter, by its number in the clusters; updated.
            kinds: number of clusters of each kind, which have the same share in the sums; updated.

        Returns:
            Whether each row agrees with the move sequences of its cluster.
        """
        others = _grouped(_rows(connection, strays))
        place, courses = next(others, _END)
        last = _FIRST
        numbers_of, moves_factor = self._numbers, self._moves
        for row in _rows(connection, clusters):
            opening, number = here = row[:2]
            one, other = row[2:7], row[7:12]
            own: list[_Course] = []
            if place == here:
                own = courses
                place, courses = next(others, _END)
            kind = (number, *one[:2], *one[3:], *other[:2], *other[3:], *row[12:], bool(own))
            times = kinds.get(kind, 0)
            # Clusters of one kind without other move sequences are all consistent if one of them is.
            # A kind leaves out the moves, which must be 0 on a side that was not played.
            is_known = times and not own and (one[0] or not one[2]) and (other[0] or not other[2])
            # In ascending order, as in a sound table: a cluster that is stored twice would otherwise count
            # twice.
            if here <= last or not (is_known or follows(one, other, row[12], own)):
                return False
            last = here
            kinds[kind] = times + 1
            numbers = numbers_of.get(opening) or self._number(opening)
            product = products[number]
            for side, (matches, points, moves, same, _) in enumerate((one, other)):
                if matches:
                    course = (numbers.course[side] + moves * moves_factor) % _PRIME
                    product = product * (course if same == 1 else pow(course, same, _PRIME)) % _PRIME
                    product = product * _power(numbers.half_points[side], points) % _PRIME
            for side, moves, num in own:
                course = (numbers.course[side] + moves * moves_factor) % _PRIME
                product = product * (course if num == 1 else pow(course, num, _PRIME)) % _PRIME
            if row[13] or row[14]:
                product = product * _power_of_pairs(numbers, row[13], row[14]) % _PRIME
            products[number] = product
        # A stray that is left over belongs to no stored cluster.
        return place == _END[0]

    def _number(self, opening: int) -> _Numbers:
        # Never 0: one such number would make the products of all that contain it equal.
        first, second, *rest = (
            # The first factor counts twice: opening, side and moves make one linear form for both sides.
            (opening * factor + shift) % _PRIME or 1
            for factor, shift in zip((self._factors[0], *self._factors), self._sides, strict=True)
        )
        one, other, pair, points = rest
        found = _Numbers(
            (first, second),
            ((1, one, one * one % _PRIME), (1, other, other * other % _PRIME)),
            tuple(pair * pow(points, half, _PRIME) % _PRIME for half in range(5)),
        )
        if len(self._numbers) >= _MOST_OPENINGS:
            # All at once, which is cheaper than knowing which were used last; they can be computed again.
            self._numbers.clear()
        self._numbers[opening] = found
        return found


_FIRST: Final = (-1 << 64, 0)
_END: Final[tuple[tuple[int, int], list[_Course]]] = ((1 << 64, 0), [])


def _power(powers: tuple[int, int, int], exponent: int) -> int:
    return powers[exponent] if 0 <= exponent < len(powers) else pow(powers[1], exponent, _PRIME)


def _power_of_pairs(numbers: _Numbers, pairs: int, half_points: int) -> int:
    if pairs == 1 and 0 <= half_points < len(numbers.pair):
        return numbers.pair[half_points]
    # `pair[h]` is the number of a pair times that of a half point to the power `h`, so the product of several
    # pairs depends only on their count and the sum of their half points, which are all that is stored.
    one_point = numbers.pair[1] * pow(numbers.pair[0], -1, _PRIME)
    return pow(numbers.pair[0], pairs, _PRIME) * pow(one_point, half_points, _PRIME)


def follows(one: tuple[int, ...], other: tuple[int, ...], different: int, courses: list[_Course]) -> bool:
    """Return whether the counts of a cluster agree with its move sequences.

    Args:
        one: matches, half points, moves, same and most of one side, with its first move sequence.
        other: those of the other side.
        different: stored number of move sequences.
        courses: all move sequences but the first of each side.
    """
    num = 0
    for side, (matches, _, moves, same, most) in enumerate((one, other)):
        here = {moves: same} | {each[1]: each[2] for each in courses if each[0] == side}
        if len(here) != 1 + sum(each[0] == side for each in courses):
            return False
        if not matches:
            if (one, other)[side] != _NO_SIDE or len(here) > 1:
                return False
            continue
        if min(here.values()) < 1 or sum(here.values()) != matches or max(here.values()) != most:
            return False
        num += len(here)
    return 0 < num == different


def _rows(connection: Connection, table: Table) -> Iterator[tuple[int, ...]]:
    """Yield the rows of a table in key order, as tuples of the driver."""
    names = ", ".join(column.name for column in table.c)
    key = ", ".join(column.name for column in table.primary_key)
    for rows in stream(connection, f"SELECT {names} FROM {table.name} ORDER BY {key}", 1000):  # noqa: S608 - our own names
        yield from rows


def _grouped(rows: Iterator[tuple[int, ...]]) -> Iterator[tuple[tuple[int, int], list[_Course]]]:
    """Yield the further move sequences of each cluster.

    Raises:
        ValueError: the rows are not in key order, as in a damaged table.
    """
    last: tuple[int, ...] = ()
    place: tuple[int, int] | None = None
    courses: list[_Course] = []
    for row in rows:
        opening, number, side, moves, times = row
        if row[:4] <= last:
            raise ValueError(row)
        last = row[:4]
        if (opening, number) != place:
            if place is not None:
                yield place, courses
            place, courses = (opening, number), []
        courses.append((side, moves, times))
    if place is not None:
        yield place, courses
