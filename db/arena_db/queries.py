"""Reads matches in pages: newest first, by number within a tournament, or in another order."""

from __future__ import annotations

from functools import cache
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVarTuple

from sqlalchemy import and_, func, or_, select, text, tuple_

from arena_db.codec import unpack_actions, unpack_claims, unpack_times
from arena_db.cold.thawing import list_cold
from arena_db.cold_tables import cold_tournaments
from arena_db.corrections import changes, voids
from arena_db.counted import COUNTS
from arena_db.durations import DURATION_CLASS, class_of
from arena_db.filters import (
    common_conditions,
    is_named,
    match_conditions,
    needs_matches,
    tournament_conditions,
)
from arena_db.match_filter import SIGNS
from arena_db.match_order import Order, OrderPlace, Piece
from arena_db.models import bots, entrants, matches, planned, tallies, tournaments, versions
from arena_db.records import PlayedMatch, StoredMatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from arena_db.cold.thawing import ColdTournament
    from arena_db.records import MatchFilter

PAGE: Final = 500
"""Number of matches of a tournament that are read at once: a caller that stops early has read no more."""

_MOST_WALKS: Final = 64
"""Maximum number of index scans that find a page of matches, each for one bot on one side or for one
tournament. If more were needed, one scan over all matches finds the page: some of so many bots or tournaments
probably have recent matches."""


_FEW: Final = 10_000
"""If at most this many matches began after `since`, the oldest of them bounds the page; if there are more,
the newest fill a page soon."""


def list_matches(
    connection: Connection, where: MatchFilter, before: int | None, limit: int
) -> list[StoredMatch]:
    """Return a page of matches, newest first, at a cost that depends on the page and not on the table."""
    # The stored counts bound the page, which ends the search after the last match.
    limit = min(limit, _most(connection, where))
    ids: list[int] = []
    if limit > 0:
        page = (
            select(matches.c.id)
            .where(*match_conditions(connection, where))
            .order_by(matches.c.id.desc())
            .limit(limit)
        )
        if before is not None:
            page = page.where(matches.c.id < before)
        page = page.where(*_places(connection, where))
        walks = _walks(connection, where) or [None]
        for walk in walks:
            ids += connection.scalars(page if walk is None else page.where(walk))
    # Each walk returns a page of its own, and a match of two of the bots is found by two of them.
    found = find_matches(connection, nlargest(limit, set(ids)))
    return sorted(found, key=lambda match: -match.id)


def count_matches(connection: Connection, where: MatchFilter) -> int:
    """Return how many matches fit a filter, void ones included."""
    if not needs_matches(where):
        return _most(connection, where)
    return (
        connection.scalar(
            select(func.count()).select_from(matches).where(*match_conditions(connection, where))
        )
        or 0
    )


def _most(connection: Connection, where: MatchFilter) -> int:
    """Return how many matches fit the conditions that the stored counts can evaluate."""
    # Tallies of cold tournaments stay, but their matches are in no list of stored ones.
    is_warm = tallies.c.tournament_id.not_in(select(cold_tournaments.c.tournament_id))
    kept = select(func.sum(tallies.c.num_matches)).where(is_warm, *common_conditions(tallies, where))
    # Tallies exclude void matches, of which there are few.
    are_void = select(func.count()).select_from(matches)
    are_void = are_void.where(
        matches.c.id.in_(select(voids.c.match_id).where(voids.c.undone_change.is_(None))),
        *common_conditions(matches, where),
    )
    return (connection.scalar(kept) or 0) + (connection.scalar(are_void) or 0)


def find_matches(connection: Connection, numbers: Sequence[int]) -> list[StoredMatch]:
    """Return the matches with these ids, in any order."""
    rows = connection.execute(_select_matches().where(matches.c.id.in_(numbers)))
    return list(map(_stored_match, rows))


def find_attempt(connection: Connection, tournament: int, number: int, attempt: int) -> StoredMatch | None:
    """Return the record of an attempt at a planned match; None if there is none."""
    own = (matches.c.tournament_id == tournament) & (matches.c.number == number)
    row = connection.execute(_select_matches().where(own, matches.c.attempt == attempt)).first()
    return None if row is None else _stored_match(row)


def list_tournament_matches(
    connection: Connection, tournament: int, after: tuple[int, int]
) -> list[StoredMatch]:
    """Return a page of the matches of a tournament after a number and attempt."""
    place = tuple_(matches.c.number, matches.c.attempt)
    page = _select_matches().where(matches.c.tournament_id == tournament, place > tuple_(*after))
    rows = connection.execute(page.order_by(matches.c.number, matches.c.attempt).limit(PAGE))
    return [_stored_match(row) for row in rows]


def list_chosen(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], limit: int
) -> list[StoredMatch]:
    """Return the first `limit` matches that fit all conditions, by id."""
    # The conditions refer to `tournaments`, which a query that joins it would correlate with its own.
    ids = connection.scalars(select(matches.c.id).where(*conditions).order_by(matches.c.id).limit(limit))
    chosen = _select_matches().where(matches.c.id.in_(ids.all())).order_by(matches.c.id)
    return [_stored_match(row) for row in connection.execute(chosen)]


def list_played(connection: Connection, where: MatchFilter, after: int) -> list[PlayedMatch]:
    """Return the rated matches with a higher id that fit a filter, by id."""
    # The conditions refer to `tournaments`, which a query that joins it would correlate with its own.
    fits = select(matches.c.id).where(
        matches.c.id > after, text(COUNTS), *match_conditions(connection, where)
    )
    query = (
        select(
            *(matches.c.id, matches.c.tournament_id, planned.c.encounter, planned.c.match_no),
            *(matches.c.first_seat, matches.c.second_seat, matches.c.outcome),
            *(matches.c.opening_hash, matches.c.match_hash),
        )
        .join_from(
            matches,
            planned,
            (planned.c.tournament_id == matches.c.tournament_id) & (planned.c.number == matches.c.number),
        )
        .where(matches.c.id.in_(fits))
        .order_by(matches.c.id)
    )
    return [PlayedMatch._make(row) for row in connection.execute(query)]


def find_counted_cold(connection: Connection, where: MatchFilter, after: int) -> list[ColdTournament]:
    """Return the cold tournaments with counted matches that fit a filter, and with ids above `after`."""
    cold = [each for each in list_cold(connection) if each.last_match > after]
    if not cold:
        return []
    fitting = select(tallies.c.tournament_id).where(*common_conditions(tallies, where)).distinct()
    wanted = set(connection.scalars(fitting))
    return [each for each in cold if each.id in wanted]


def _walks(connection: Connection, where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return one condition per index range to scan for a page; an empty list for all matches."""
    chosen = tournament_conditions(where)
    walks: list[ColumnElement[bool]] = []
    if chosen:
        # One more than are used, which shows that there are too many.
        found = connection.scalars(select(tournaments.c.id).where(*chosen).limit(_MOST_WALKS + 1))
        walks = [matches.c.tournament_id == tournament for tournament in found]
    name = where.bot if where.bot is not None else where.vs
    if name is not None and not 0 < len(walks) <= _MOST_WALKS:
        named = (
            select(bots.c.id).distinct().join(entrants, entrants.c.bot_id == bots.c.id).where(is_named(name))
        )
        found = connection.scalars(named.limit(_MOST_WALKS + 1)).all()
        walks = [column == bot for bot in found for column in (matches.c.first_bot, matches.c.second_bot)]
    return walks if len(walks) <= _MOST_WALKS else []


def _places(connection: Connection, where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return bounds on the ids of matches of a time span: ids follow starting times only roughly."""
    places: list[ColumnElement[bool]] = []
    if where.until is not None:
        # `+ 0` keeps SQLite from walking the primary key from the highest id down to the first that fits.
        last = select(func.max(matches.c.id + 0)).where(matches.c.started_at < where.until)
        places.append(matches.c.id <= last.scalar_subquery())
    if where.since is not None:
        since = select(matches.c.id).where(matches.c.started_at >= where.since).limit(_FEW + 1)
        found = connection.scalars(since).all()
        if len(found) <= _FEW:
            places.append(matches.c.id >= min(found, default=0))
    return places


@cache
def _select_matches() -> Select[*tuple[Any, ...]]:
    # Cached: creating aliases of four tables takes longer than the query itself.
    first, second = entrants.alias(), entrants.alias()
    first_bot, second_bot = bots.alias(), bots.alias()
    here = matches.c.tournament_id
    return (
        select(
            matches,
            versions.c.content.label("versions"),
            tournaments.c.game,
            tournaments.c.num_actions,
            tournaments.c.name.label("tournament_name"),
            planned.c.encounter,
            planned.c.match_no,
            first.c.label.label("first_label"),
            second.c.label.label("second_label"),
            first_bot.c.identity.label("first"),
            second_bot.c.identity.label("second"),
            changes.c.reason.label("void_reason"),
        )
        .join_from(matches, tournaments, tournaments.c.id == here)
        .join(versions, versions.c.id == matches.c.versions_id)
        .join(planned, (planned.c.tournament_id == here) & (planned.c.number == matches.c.number))
        .join(first, (first.c.tournament_id == here) & (first.c.seat == matches.c.first_seat))
        .join(second, (second.c.tournament_id == here) & (second.c.seat == matches.c.second_seat))
        .join(first_bot, first_bot.c.id == matches.c.first_bot)
        .join(second_bot, second_bot.c.id == matches.c.second_bot)
        .outerjoin(voids, and_(voids.c.match_id == matches.c.id, voids.c.undone_change.is_(None)))
        .outerjoin(changes, changes.c.id == voids.c.change_id)
    )


def _stored_match(row: Row[*tuple[Any, ...]]) -> StoredMatch:
    actions = unpack_actions(row.actions, row.num_actions)
    return StoredMatch(
        id=row.id,
        tournament=row.tournament_id,
        number=row.number,
        attempt=row.attempt,
        first=row.first,
        second=row.second,
        outcome=row.outcome,
        termination=row.termination,
        reason=row.reason,
        rated=bool(row.rated),
        is_final=bool(row.is_final),
        actions=actions,
        num_opening=row.num_opening,
        times_ms=unpack_times(row.times, len(actions)),
        values=unpack_claims(row.claims, len(actions)),
        match_hash=row.match_hash.hex(),
        seed_first=row.seed_first,
        seed_second=row.seed_second,
        started_at=row.started_at,
        duration_ms=row.duration_ms,
        tier=row.tier,
        fault=row.fault,
        versions=row.versions,
        idle_cpu_first_ms=row.idle_cpu_first_ms,
        idle_cpu_second_ms=row.idle_cpu_second_ms,
        limits=row.limits or "",
        runtime_first=row.runtime_first or "",
        runtime_second=row.runtime_second or "",
        game=row.game,
        tournament_name=row.tournament_name,
        encounter=row.encounter,
        match_no=row.match_no,
        first_seat=row.first_seat,
        second_seat=row.second_seat,
        first_label=row.first_label,
        second_label=row.second_label,
        void_reason=row.void_reason or "",
    )


_Row = TypeVarTuple("_Row")

_ORDER_COLUMNS: Final[dict[Order, str]] = {
    "number": "id",
    "date": "started_at",
    "plies": "num_plies",
    "duration": "duration_ms",
}


def in_order(order: Order, *, descending: bool) -> Select[int]:
    """Return the query for the ids of all matches in an order."""
    return _sorted(select(matches.c.id), matches.c[_ORDER_COLUMNS[order]], descending=descending)


class SearchOrder(NamedTuple):
    """The order in which matches are searched."""

    by: Order
    descending: bool
    """Whether the newest, latest or longest come first."""


def search_piece(
    connection: Connection, where: MatchFilter, order: SearchOrder, *, after: OrderPlace | None, num: int
) -> Piece:
    """Search the next `num` matches of an order after a place, and return those that fit a filter."""
    column, descending = matches.c[_ORDER_COLUMNS[order.by]], order.descending
    bounds = [] if after is None else [_behind(column, after, descending=descending)]
    places = _sorted(select(column, matches.c.id), column, descending=descending).where(*bounds)
    # By number the end of the piece is computed; in another order an index is read to find it.
    if order.by == "number":
        first = connection.execute(places.limit(1)).first()
        end, searched = _end_of_numbers(first, num, descending=descending)
    else:
        row = connection.execute(places.offset(num - 1).limit(1)).first()
        end, searched = (None if row is None else OrderPlace(*row)), num
    if end is not None:
        bounds.append(_up_to(column, end, descending=descending))
    ids = _sorted(select(matches.c.id), column, descending=descending)
    fits = ids.where(*bounds, *match_conditions(connection, where))
    return Piece(tuple(connection.scalars(fits)), searched, end)


def _sorted(query: Select[*_Row], column: ColumnElement[Any], *, descending: bool) -> Select[*_Row]:
    keys: list[ColumnElement[Any]] = [matches.c.id] if column is matches.c.id else [column, matches.c.id]
    if column is matches.c.duration_ms:
        # The index is in the order of classes; only the matches of one class are sorted.
        keys.insert(0, DURATION_CLASS)
    return query.order_by(*(key.desc() if descending else key.asc() for key in keys))


def _behind(column: ColumnElement[Any], place: OrderPlace, *, descending: bool) -> ColumnElement[bool]:
    """Return whether a match comes after a place."""
    if column is matches.c.id:
        return column < place.id if descending else column > place.id
    own = matches.c.id
    beyond, beside = (
        (column < place.key, own < place.id) if descending else (column > place.key, own > place.id)
    )
    # The first condition follows from the second, but only the first can be evaluated by an index.
    return and_(*_on_side(column, place.key, "<=" if descending else ">="), or_(beyond, beside))


def _up_to(column: ColumnElement[Any], place: OrderPlace, *, descending: bool) -> ColumnElement[bool]:
    """Return whether a match comes before a place or is there; the opposite of `_behind`."""
    own = matches.c.id
    if column is own:
        return column >= place.id if descending else column <= place.id
    before, beside = (
        (column > place.key, own >= place.id) if descending else (column < place.key, own <= place.id)
    )
    return and_(*_on_side(column, place.key, ">=" if descending else "<="), or_(before, beside))


def _on_side(column: ColumnElement[Any], key: float, sign: str) -> list[ColumnElement[bool]]:
    """Return conditions for one side of a sort key, itself included, which an index can evaluate."""
    conditions: list[ColumnElement[bool]] = [SIGNS[sign](column, key)]
    if column is matches.c.duration_ms:
        conditions.append(SIGNS[sign](DURATION_CLASS, class_of(int(key))))
    return conditions


def _end_of_numbers(first: Any, num: int, *, descending: bool) -> tuple[OrderPlace | None, int]:  # noqa: ANN401 - a row
    """Return the end of a piece of `num` ids from the first existing one, and the number of ids in it."""
    if first is None:
        return None, 0
    end = first.id - num + 1 if descending else first.id + num - 1
    # Descending, the ids end at 1. Ascending, only an empty piece shows that there are no more matches.
    return (None, first.id) if end <= 1 and descending else (OrderPlace(end, end), num)


def id_range(
    connection: Connection, most: int | None, conditions: Sequence[ColumnElement[bool]]
) -> tuple[int, int]:
    """Return the first and the last id of the newest `most` matches that fit conditions; None for all."""
    last = connection.scalar(select(func.max(matches.c.id))) or 0
    if most is None:
        return 1, last
    found = select(matches.c.id).where(*conditions, matches.c.id <= last)
    nth = found.order_by(matches.c.id.desc()).limit(1).offset(most - 1)
    return connection.scalar(nth) or 1, last
