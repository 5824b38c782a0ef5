"""Reads matches in a sort order: any page by its offset, or piece by piece under a filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVarTuple

from sqlalchemy import and_, or_, select

from arena_db.access import Access
from arena_db.filters import match_conditions
from arena_db.match_order import Order, OrderPlace, Piece
from arena_db.models import matches
from arena_db.queries import find_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from arena_db.records import MatchFilter, StoredMatch

_Row = TypeVarTuple("_Row")

_COLUMNS: Final[dict[Order, str]] = {
    "number": "id",
    "date": "started_at",
    "plies": "num_plies",
    "duration": "duration_ms",
}


class Browsing(Access):
    """The part of a store that lists matches for people who scroll."""

    def match_ids(self, order: Order, *, descending: bool, offset: int, limit: int) -> list[int]:
        """Return the ids of `limit` of all matches, from an offset on."""
        column = matches.c[_COLUMNS[order]]
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
        column = matches.c[_COLUMNS[order]]
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
