"""Reads very many matches by ranges of ids, packed as they are stored, for exports."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import exists, func, or_, select

from arena_db import analyses, remarks
from arena_db.access import Access
from arena_db.corrections import voids
from arena_db.dialects import driver_text_with_values
from arena_db.filters import BYTE, match_conditions, tournament_conditions
from arena_db.models import matches, planned, tournaments
from arena_db.queries import list_chosen
from arena_db.records import PackedMatch, SeededMatch, StoredMatch, Volume
from arena_db.wild import is_wild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection

    from arena_db.judgements import JudgedPly
    from arena_db.records import MatchSelection, Remark

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
