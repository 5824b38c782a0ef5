"""Reads many matches: in a sort order, page by page, and in bulk by ranges of ids."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

from sqlalchemy import and_, exists, func, or_, select

from arena_db import analyses, remarks
from arena_db.access import Access
from arena_db.corrections import voids
from arena_db.dialects import driver_text_with_values
from arena_db.filters import BYTE, match_conditions, tournament_conditions
from arena_db.match_order import Order, OrderPlace, Piece
from arena_db.models import matches, planned, tournaments
from arena_db.queries import find_matches, list_chosen
from arena_db.records import PackedMatch, SeededMatch, StoredMatch, Volume
from arena_db.wild import is_wild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from arena_db.judgements import JudgedPly
    from arena_db.records import MatchFilter, MatchSelection, Remark

_Row = TypeVarTuple("_Row")

_ORDER_COLUMNS: Final[dict[Order, str]] = {
    "number": "id",
    "date": "started_at",
    "plies": "num_plies",
    "duration": "duration_ms",
}


class Browsing(Access):
    """The part of a store that lists matches for people who scroll."""

    def match_ids(self, order: Order, *, descending: bool, offset: int, limit: int) -> list[int]:
        """Return the ids of `limit` of all matches, from an offset on."""
        column = matches.c[_ORDER_COLUMNS[order]]
        page = _sorted(select(matches.c.id), column, descending=descending).offset(offset).limit(limit)
        with self._read() as connection:
            return list(connection.scalars(page))

    def matches_of(self, ids: Sequence[int]) -> list[StoredMatch]:
        """Return the matches with these ids, in that order; unknown ids are skipped."""
        found = self._gather(ids, _by_id)
        return [found[number] for number in ids if number in found]

    def tournament_page(
        self, tournament: int, where: MatchFilter, *, offset: int, limit: int
    ) -> list[StoredMatch]:
        """Return matches of a tournament that fit a filter, newest first, from an offset on.

        Skipping costs a step in an index per skipped match; no skipped match is read.
        """
        own = select(matches.c.id).where(matches.c.tournament_id == tournament)
        with self._read_of(tournament) as connection:
            fits = own.where(*match_conditions(connection, where))
            page = fits.order_by(matches.c.id.desc()).offset(offset).limit(limit)
            found = find_matches(connection, list(connection.scalars(page)))
        return sorted(found, key=lambda match: -match.id)

    def search_piece(
        self, where: MatchFilter, order: Order, *, descending: bool, after: OrderPlace | None, num: int
    ) -> Piece:
        """Search the next `num` matches of an order, and return those that fit a filter.

        The time depends on `num`, not on how many matches fit or are stored.

        Args:
            where: the filter.
            order: the order in which matches are searched.
            descending: whether the newest, latest or longest come first.
            after: the end of the piece before; None for the first.
            num: number of matches to search; for the order by number, number of ids.
        """
        column = matches.c[_ORDER_COLUMNS[order]]
        with self._read_for(where) as connection:
            bounds = [] if after is None else [_behind(column, after, descending=descending)]
            places = _sorted(select(column, matches.c.id), column, descending=descending).where(*bounds)
            if order == "number":
                first = connection.execute(places.limit(1)).first()
                end, searched = _end_of_numbers(first, num, descending=descending)
            else:
                row = connection.execute(places.offset(num - 1).limit(1)).first()
                end, searched = (None if row is None else OrderPlace(*row)), num
            if end is not None:
                bounds.append(~_behind(column, end, descending=descending))
            ids = _sorted(select(matches.c.id), column, descending=descending)
            fits = ids.where(*bounds, *match_conditions(connection, where))
            return Piece(tuple(connection.scalars(fits)), searched, end)


def _by_id(connection: Connection, ids: Sequence[int]) -> dict[int, StoredMatch]:
    return {match.id: match for match in find_matches(connection, ids)}


def _sorted(query: Select[*_Row], column: ColumnElement[Any], *, descending: bool) -> Select[*_Row]:
    keys = [matches.c.id] if column is matches.c.id else [column, matches.c.id]
    return query.order_by(*(key.desc() if descending else key.asc() for key in keys))


def _behind(column: ColumnElement[Any], place: OrderPlace, *, descending: bool) -> ColumnElement[bool]:
    """Return whether a match comes after a place."""
    if column is matches.c.id:
        return column < place.id if descending else column > place.id
    own = matches.c.id
    # An index can evaluate only the first half of the condition.
    if descending:
        return and_(column <= place.key, or_(column < place.key, own < place.id))
    return and_(column >= place.key, or_(column > place.key, own > place.id))


def _end_of_numbers(first: Any, num: int, *, descending: bool) -> tuple[OrderPlace | None, int]:  # noqa: ANN401 - a row
    """Return the end of a piece of `num` ids from the first existing one, and the number of ids in it."""
    if first is None:
        return None, 0
    end = first.id - num + 1 if descending else first.id + num - 1
    return (None, first.id) if end <= 1 and descending else (OrderPlace(end, end), num)


_Match = TypeVar("_Match", PackedMatch, StoredMatch)


class BulkReading(Access):
    """The part of a store that reads matches in bulk: those that are stored when the reading begins.

    No transaction stays open between two lists of matches.
    """

    def packed_matches(self, chosen: MatchSelection, *, page: int = 4096) -> Iterator[list[PackedMatch]]:
        """Yield matches by id, packed as they are stored, in lists of up to `page`."""
        return self._pages(chosen, page, _packed_page)

    def whole_matches(self, chosen: MatchSelection, *, page: int = 512) -> Iterator[list[StoredMatch]]:
        """Yield complete matches by id, in lists of up to `page`."""
        return self._pages(chosen, page, list_chosen)

    def seeded_matches(self, tournament: int, *, page: int = 4096) -> Iterator[list[SeededMatch]]:
        """Yield the matches of a tournament by id, in lists of up to `page`."""
        columns: list[Any] = [matches.c[name] for name in SeededMatch._fields if name in matches.c]
        is_planned = (planned.c.tournament_id == tournament) & (planned.c.number == matches.c.number)
        query = select(*columns, planned.c.encounter, planned.c.match_no, planned.c.opening)
        query = query.join_from(matches, planned, is_planned).where(matches.c.tournament_id == tournament)
        query = query.order_by(matches.c.id).limit(page)
        last = 0
        while True:
            with self._read_of(tournament) as connection:
                rows = connection.execute(query.where(matches.c.id > last)).all()
                found = [SeededMatch._make(row) for row in rows]
            if not found:
                return
            yield found
            last = found[-1].id

    def bulk_remarks(self, numbers: Sequence[int]) -> dict[int, tuple[Remark | None, ...]]:
        """Return remarks as `remarks` does, faster for many matches with neighbouring ids.

        Args:
            numbers: ids of matches, ascending.

        Raises:
            DamagedError: the stored remarks cannot be decoded.
        """
        return self._gather(numbers, remarks.find_many)

    def bulk_analyses(self, numbers: Sequence[int], name: str) -> dict[int, tuple[JudgedPly, ...]]:
        """Return one judge's analyses of many matches with neighbouring ids.

        Args:
            numbers: ids of matches, ascending.
            name: the judge.

        Raises:
            DamagedError: a stored analysis cannot be decoded.
        """
        return self._gather(numbers, lambda connection, some: analyses.find_many(connection, some, name))

    def volumes(self, chosen: MatchSelection) -> list[Volume]:
        """Return the numbers of selected matches and of their actions, by tournament."""
        with self._read_for(chosen.where) as connection:
            conditions = _conditions(connection, chosen)
            sums = select(
                matches.c.tournament_id,
                func.count().label("num_matches"),
                func.sum(func.length(matches.c.actions)).label("num_bytes"),
            ).where(*conditions)
            # Without a range of ids SQLite walks an index by tournament; with one it would sort whole rows.
            if chosen.limit is not None:
                sums = sums.where(matches.c.id.between(*_range(connection, chosen, conditions)))
            counts = connection.execute(sums.group_by(matches.c.tournament_id)).all()
            known = select(tournaments.c.id, tournaments.c.game, tournaments.c.num_actions)
            games = {row.id: row for row in connection.execute(known)}
        return [
            Volume(
                tournament=number,
                game=games[number].game,
                num_matches=num_matches,
                num_actions=num_bytes // (1 if games[number].num_actions <= BYTE else 2),
            )
            for number, num_matches, num_bytes in sorted(map(tuple, counts))
        ]

    def _pages(
        self,
        chosen: MatchSelection,
        page: int,
        read: Callable[[Connection, Sequence[ColumnElement[bool]], int], list[_Match]],
    ) -> Iterator[list[_Match]]:
        with self._read_for(chosen.where) as connection:
            conditions = _conditions(connection, chosen)
            first, last = _range(connection, chosen, conditions)
        while first <= last:
            with self._read_for(chosen.where) as connection:
                found = read(connection, [*conditions, matches.c.id.between(first, last)], page)
            if not found:
                return
            yield found
            first = found[-1].id + 1


def _conditions(connection: Connection, chosen: MatchSelection) -> list[ColumnElement[bool]]:
    conditions = [*match_conditions(connection, chosen.where), matches.c.outcome != "void"]
    if not chosen.include_void:
        conditions.append(~exists().where(voids.c.match_id == matches.c.id, voids.c.undone_change.is_(None)))
    if chosen.terminations:
        conditions.append(or_(*(matches.c.termination == kind for kind in chosen.terminations)))
    if chosen.where.tournament is not None and not is_wild(chosen.where.tournament):
        # By id this is a range of an index; by name it would scan every match.
        own = select(tournaments.c.id).where(*tournament_conditions(chosen.where))
        conditions.append(matches.c.tournament_id == (connection.scalar(own) or 0))
    return conditions


def _range(
    connection: Connection, chosen: MatchSelection, conditions: Sequence[ColumnElement[bool]]
) -> tuple[int, int]:
    """Return the first and the last id to read."""
    last = connection.scalar(select(func.max(matches.c.id))) or 0
    if chosen.limit is None:
        return 1, last
    found = select(matches.c.id).where(*conditions, matches.c.id <= last)
    nth = found.order_by(matches.c.id.desc()).limit(1).offset(chosen.limit - 1)
    return connection.scalar(nth) or 1, last


def _packed_page(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int
) -> list[PackedMatch]:
    columns: list[Any] = [getattr(matches.c, name) for name in _COLUMNS]
    statement = select(*columns).where(*conditions).order_by(matches.c.id).limit(limit)
    # Plain tuples of the driver: SQLAlchemy's rows cost as much as all the rest of the reading.
    text, values = driver_text_with_values(statement, connection.dialect.name)
    found = connection.exec_driver_sql(text, values).all()
    # Same as `_make` without its call and its check of the length, which cost more than the tuple.
    make = partial(tuple.__new__, PackedMatch)  # pyright: ignore[reportUnknownMemberType] # tuples of anything
    return list(map(make, found))


_COLUMNS = tuple("tournament_id" if name == "tournament" else name for name in PackedMatch._fields)
