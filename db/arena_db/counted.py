"""Reads the matches that ratings count in the order of storing, each with the other one of its pair."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import text

from arena_db.dialects import driver_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

HALF_POINTS: Final = {"first": 2, "draw": 1, "second": 0}
"""Half points of the bot that moved first, by outcome."""
CHUNK: Final = 512
"""Number of rows per statement."""

_Item = TypeVar("_Item")
_Place: TypeAlias = tuple[int, int, int]
"""Tournament, encounter of its plan, and number within that encounter."""


class CountedMatch(NamedTuple):
    """A final, rated match with a result."""

    tournament: int
    """Id of the tournament."""
    first_seat: int
    """Seat of the bot that moved first."""
    second_seat: int
    first_bot: int
    """Id of the bot that moved first."""
    second_bot: int
    outcome: str
    opening_hash: int
    match_hash: bytes
    encounter: int
    """Index of the encounter in the plan."""
    match_no: int
    """Index within the encounter; 2 k and 2 k + 1 are a pair."""
    id: int
    """Id of the match."""


def read_counted(
    connection: Connection,
    first: int,
    last: int,
    tournament: int | None = None,
    bots: tuple[int, int] | None = None,
) -> list[tuple[CountedMatch, CountedMatch | None]]:
    """Return the matches that count among those with ids in `[first, last]`, by id.

    Args:
        connection: only read from.
        first: lowest id.
        last: highest id.
        tournament: id of the only tournament; None for all.
        bots: ids of the two bots that met; None for any.

    Returns:
        Each match with the other one of its pair, or None if that is not counted or has a higher id.
    """
    rows = read_range(connection, first, last, tournament, bots)
    # By index, not by name: this runs for each match of a store, and an attribute of a named tuple costs
    # more.
    here = {(row[0], row[8], row[9]): row for row in rows}
    wanted = [place for number, encounter, no in here if (place := (number, encounter, no ^ 1)) not in here]
    earlier = _read_earlier(connection, wanted, first)
    seen: dict[_Place, CountedMatch] = {}
    pairs: list[tuple[CountedMatch, CountedMatch | None]] = []
    for row in rows:
        number, encounter, no = row[0], row[8], row[9]
        # Matches 2k and 2k + 1 are a pair, so the other one differs in the last bit.
        other = (number, encounter, no ^ 1)
        # The other one is attached to the later of the two, so that each pair is counted once.
        pairs.append((row, seen.get(other) or earlier.get(other)))
        seen[number, encounter, no] = row
    return pairs


def read_range(
    connection: Connection,
    first: int,
    last: int,
    tournament: int | None = None,
    bots: tuple[int, int] | None = None,
) -> list[CountedMatch]:
    """Return the matches of `read_counted` alone, without the others of their pairs."""
    own, values = "", [first, last]
    if tournament is not None:
        own += " AND matches.tournament_id = :tournament"
        values.append(tournament)
    if bots is not None:
        own += _BETWEEN
        values += [*bots, first, last, *reversed(bots), first, last]
    query = _range_text(connection.dialect.name, own)
    # All at once: fetching row by row costs three times as much in SQLAlchemy.
    return [CountedMatch(*row) for row in connection.exec_driver_sql(query, tuple(values)).all()]


def parts(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """Yield items in pieces of `CHUNK`."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def padded(keys: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    """Return the values of keys in one sequence, and the number of keys.

    They are padded with -1, which matches nothing. The number is rounded up to a power of two, so that few
    statements are compiled; each takes a millisecond.
    """
    num = 1 << (len(keys) - 1).bit_length()
    return (*chain.from_iterable(keys), *(-1,) * (len(keys[0]) * (num - len(keys)))), num


def wanted_text(columns: int, num: int) -> str:
    """Return a table `wanted` of `num` rows of placeholders, with columns `column1`, `column2` and so on.

    Joined rather than used in `(a, b) IN (VALUES …)`, for which SQLite scans the whole other table.
    """
    rows = (", ".join(f":v{row}_{column}" for column in range(columns)) for row in range(num))
    return f"(VALUES {', '.join(f'({row})' for row in rows)}) AS wanted"


def _read_earlier(
    connection: Connection, places: Sequence[_Place], before: int
) -> dict[_Place, CountedMatch]:
    """Return the counted matches at these places of a plan with ids below `before`."""
    found: dict[_Place, CountedMatch] = {}
    for chunk in parts(places):
        values, num = padded(chunk)
        query = _earlier_text(connection.dialect.name, num)
        for row in connection.exec_driver_sql(query, (*values, before)):
            match = CountedMatch(*row)
            found[match.tournament, match.encounter, match.match_no] = match
    return found


_OUTCOMES: Final = ", ".join(f"'{outcome}'" for outcome in HALF_POINTS)
IS_VOID: Final = (
    "EXISTS (SELECT 1 FROM voids WHERE voids.match_id = matches.id AND voids.undone_change IS NULL)"
)
"""SQL condition for a match to be void."""
COUNTS: Final = (
    f"matches.rated = 1 AND matches.is_final = 1 AND matches.outcome IN ({_OUTCOMES}) AND NOT {IS_VOID}"
)
"""SQL condition for a match to count in ratings."""
_SIDE: Final = (
    "SELECT met.id FROM matches AS met WHERE met.first_bot = :{0}_first AND met.second_bot = :{0}_second "
    "AND met.id BETWEEN :{0}_from AND :{0}_to"
)
_BETWEEN: Final = f" AND matches.id IN ({_SIDE.format('one')} UNION ALL {_SIDE.format('other')})"
"""Two index searches, one per side: an OR would read every match of the range."""
_COLUMNS: Final = ", ".join(
    f"{'planned' if name in {'encounter', 'match_no'} else 'matches'}.{name}"
    for name in ("tournament_id", *CountedMatch._fields[1:])
)


@cache
def _range_text(dialect: str, own: str) -> str:
    query = (
        f"SELECT {_COLUMNS} FROM matches JOIN planned "  # noqa: S608 - our own names
        "ON planned.tournament_id = matches.tournament_id AND planned.number = matches.number "
        f"WHERE matches.id BETWEEN :first AND :last{own} AND {COUNTS} ORDER BY matches.id"
    )
    return driver_text(text(query), dialect)


@cache
def _earlier_text(dialect: str, num: int) -> str:
    query = (
        f"SELECT {_COLUMNS} FROM {wanted_text(3, num)} CROSS JOIN planned CROSS JOIN matches "  # noqa: S608
        "WHERE planned.tournament_id = wanted.column1 AND planned.encounter = wanted.column2 "
        "AND planned.match_no = wanted.column3 AND matches.tournament_id = planned.tournament_id "
        f"AND matches.number = planned.number AND {COUNTS} AND matches.id < :before"
    )
    return driver_text(text(query), dialect)
