"""The matches of a store: saving results, and reading matches one by one, page by page and in bulk."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import exists, func, or_, select

from arena_db import analyses, plan_rows, queries, remarks, saving
from arena_db.access import patient
from arena_db.corrections import voids
from arena_db.counted import read_range
from arena_db.dialects import driver_text_with_values
from arena_db.errors import LockedError
from arena_db.failures import translated
from arena_db.fence import loss_of, present_epoch
from arena_db.filters import BYTE, match_conditions, needs_matches, tournament_conditions
from arena_db.models import matches, planned, tournaments
from arena_db.queries import find_matches, list_chosen
from arena_db.records import PackedMatch, SeededMatch, StoredMatch, Volume
from arena_db.wild import is_wild

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection

    from arena_db.access import Access
    from arena_db.backend.settings import StoreSettings
    from arena_db.backend.sqlite.spool import Spool
    from arena_db.counted import CountedMatch
    from arena_db.judgements import JudgedPly
    from arena_db.match_order import Order, OrderPlace, Piece
    from arena_db.records import MatchFilter, MatchRecord, MatchSelection, PlayedMatch, Remark


class StoredMatches:
    """The matches of a store, whether their rows are stored or in files."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def save(self, records: Sequence[MatchRecord]) -> int:
        """Store matches and the rows derived from them in one transaction; return how many were new.

        A match that is stored already (same tournament, number and attempt) is skipped, and so is a final one
        whose planned match is done. A final record marks its planned match as done, any other counts as a
        void attempt. The sums that ratings are fitted to are updated later, by `Store.sums.sum_up`.

        If another process keeps the store locked for too long, the matches are written just as durably to
        files beside it, and 0 is returned; the next write by any process stores them first. A server has no
        such files: the save is retried for a minute.

        Raises:
            RefusedError: no such planned match, other bots than planned, or a field breaks a rule of the
                tables.
            LeaseLostError: this is the store of a run, and another process has taken over the tournament.
            MovedError: this is the store of a run, and its file was removed, moved or replaced.
            LockedError: the server was away, or its store locked, for a minute.
        """
        # Until they are stored: a run whose store was moved away writes these records to a rescue file.
        self._access.unsaved, spool = records, self._access.spool
        try:
            # If results wait already, the store is probably still locked: try only briefly, so that play goes
            # on.
            is_waiting = spool is not None and bool(spool.waiting())
            settings = self._access.in_a_hurry() if is_waiting else self._access.settings
            num = self._save_now(records, settings)
        except LockedError:
            if spool is None:
                num = self._access.patiently(lambda: self._save_now(records, self._access.settings))
            else:
                num = 0
                if records:
                    self._keep_waiting(spool, records)
        # Not after an error: the rescue of a run writes what its failed save had.
        self._access.unsaved = ()
        self._access.has_saved |= num > 0
        return num

    def _save_now(self, records: Sequence[MatchRecord], settings: StoreSettings) -> int:
        with self._access.write(settings, alone=False) as connection:
            return saving.save(connection, records, self._access.facts)

    def _keep_waiting(self, spool: Spool, records: Sequence[MatchRecord]) -> None:
        """Keep results in a file beside a locked store, unless their run has lost its lease.

        Raises:
            LeaseLostError: another process has taken over the tournament; the results are not kept.
        """
        fence = self._access.fence
        with translated(self._access.place):
            if fence is None:
                spool.keep(records)
                return
            self._access.backend.check_place()
            # With the epoch, because another process may have taken over before the file can be stored.
            file = spool.keep(records, fence.epoch)
            # Reading takes no lock. A claim made after this read finds the file; an earlier one is seen here.
            with self._access.read() as connection:
                epoch, _ = present_epoch(connection, fence.tournament)
                if epoch != fence.epoch:
                    spool.discard([(file, True)])
                    raise loss_of(connection, fence)
            self._access.backend.check_place()

    @property
    def num_waiting(self) -> int:
        """Number of saved matches that wait in files beside the store because it is locked."""
        return 0 if self._access.spool is None else self._access.spool.num_waiting()

    def find(self, number: int) -> StoredMatch | None:
        """Return the match with this id; None if there is none."""
        return self._access.gather([number], _by_id).get(number)

    @patient
    def find_attempt(self, tournament: int, number: int, attempt: int = 0) -> StoredMatch | None:
        """Return the record of an attempt at a planned match; None if it has no result yet."""
        with self._access.read_of(tournament) as connection:
            return queries.find_attempt(connection, tournament, number, attempt)

    def with_ids(self, ids: Sequence[int]) -> list[StoredMatch]:
        """Return the matches with these ids, in that order; unknown ids are skipped."""
        found = self._access.gather(ids, _by_id)
        return [found[number] for number in ids if number in found]

    def by_id(self, numbers: Sequence[int]) -> dict[int, StoredMatch]:
        """Return the matches with these ids that exist, with one query instead of one per match."""
        return self._access.gather(numbers, _by_id)

    def newest(self, where: MatchFilter, *, before: int | None = None, limit: int = 50) -> list[StoredMatch]:
        """Return matches with an id below `before`, newest first."""
        with self._access.read_for(where) as connection:
            return queries.list_matches(connection, where, before, limit)

    def of_tournament(self, tournament: int) -> Iterator[StoredMatch]:
        """Yield all matches of a tournament by number and attempt, void and unrated ones included.

        They are read in pages, so no transaction stays open between two pages.
        """
        after = (0, -1)
        while True:
            with self._access.read_of(tournament) as connection:
                page = queries.list_tournament_matches(connection, tournament, after)
            if not page:
                return
            yield from page
            after = (page[-1].number, page[-1].attempt)

    def page(self, tournament: int, where: MatchFilter, *, offset: int, limit: int) -> list[StoredMatch]:
        """Return matches of a tournament that fit a filter, newest first, from an offset on.

        Skipping costs a step in an index per skipped match; no skipped match is read.
        """
        own = select(matches.c.id).where(matches.c.tournament_id == tournament)
        with self._access.read_of(tournament) as connection:
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
        with self._access.read_for(where) as connection:
            found = queries.SearchOrder(order, descending)
            return queries.search_piece(connection, where, found, after=after, num=num)

    def ids(self, order: Order, *, descending: bool, offset: int, limit: int) -> list[int]:
        """Return the ids of `limit` of all matches, from an offset on."""
        page = queries.in_order(order, descending=descending).offset(offset).limit(limit)
        with self._access.read() as connection:
            return list(connection.scalars(page))

    def ids_of_seats(self, tournament: int, seats: Collection[int]) -> list[int]:
        """Return the ids of the matches of a tournament in which one of these seats played, ascending."""
        sides = (matches.c.first_seat, matches.c.second_seat)
        found = select(matches.c.id).where(
            matches.c.tournament_id == tournament, or_(*(side.in_(list(seats)) for side in sides))
        )
        with self._access.read_of(tournament) as connection:
            return list(connection.scalars(found.order_by(matches.c.id)))

    @patient
    def last_id(self, tournament: int) -> int:
        """Return the highest id of a match of a tournament; 0 if it has none."""
        with self._access.read_of(tournament) as connection:
            return plan_rows.last_match(connection, tournament)

    def count(self, where: MatchFilter) -> int:
        """Return how many matches fit a filter, void ones included; `Store.sums.tallies` counts others."""
        with self._access.read_for(where) as connection:
            return queries.count_matches(connection, where)

    def played(self, where: MatchFilter, *, after: int = 0) -> list[PlayedMatch]:
        """Return the parts of rated matches that ratings are computed from, by id.

        Stored counts include cold tournaments. If they can answer the filter, the matches of cold tournaments
        are read from their files, so that all parts of a table are about the same matches.

        Args:
            where: which matches.
            after: only those with a higher id, so that a viewer reads each match once.
        """
        with self._access.read_for(where) as connection:
            found = queries.list_played(connection, where, after)
            others = [] if needs_matches(where) else queries.find_counted_cold(connection, where, after)
        for each in others:
            with self._access.read_cold(each) as connection:
                found += queries.list_played(connection, where, after)
        return sorted(found, key=attrgetter("id")) if others else found

    def remarks(self, numbers: Sequence[int]) -> dict[int, tuple[Remark | None, ...]]:
        """Return the remarks of matches, one per action; matches without any remark are absent.

        Args:
            numbers: ids of matches.

        Raises:
            DamagedError: the stored remarks cannot be decoded.
        """
        return self._access.gather(numbers, remarks.find)


def _by_id(connection: Connection, ids: Sequence[int]) -> dict[int, StoredMatch]:
    return {match.id: match for match in find_matches(connection, ids)}


_COUNTED_PAGE: Final = 2_000
"""Number of counted matches read at once: about 2 MB in a viewer that scans an old store."""

_Match = TypeVar("_Match", PackedMatch, StoredMatch)


class BulkReading:
    """Reads matches in bulk: those that are stored when the reading begins.

    No transaction stays open between two lists of matches.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

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
            with self._access.read_of(tournament) as connection:
                rows = connection.execute(query.where(matches.c.id > last)).all()
                found = [SeededMatch._make(row) for row in rows]
            if not found:
                return
            yield found
            last = found[-1].id

    def counted_matches(self, tournament: int) -> Iterator[list[CountedMatch]]:
        """Yield the matches of a tournament that ratings count, in the order of storing, in lists.

        No transaction stays open between two lists.
        """
        last = 0
        own = matches.c.tournament_id == tournament
        while True:
            with self._access.read_of(tournament) as connection:
                page = select(matches.c.id).where(own, matches.c.id > last).order_by(matches.c.id)
                first, last = (
                    last + 1,
                    connection.scalar(select(func.max(page.limit(_COUNTED_PAGE).subquery().c.id))) or 0,
                )
                if not last:
                    return
                found = read_range(connection, first, last, tournament)
            yield found

    def remarks(self, numbers: Sequence[int]) -> dict[int, tuple[Remark | None, ...]]:
        """Return remarks as `Store.matches.remarks` does, faster for many matches with neighbouring ids.

        Args:
            numbers: ids of matches, ascending.

        Raises:
            DamagedError: the stored remarks cannot be decoded.
        """
        return self._access.gather(numbers, remarks.find_many)

    def analyses(self, numbers: Sequence[int], name: str) -> dict[int, tuple[JudgedPly, ...]]:
        """Return one judge's analyses of many matches with neighbouring ids.

        Args:
            numbers: ids of matches, ascending.
            name: the judge.

        Raises:
            DamagedError: a stored analysis cannot be decoded.
        """
        return self._access.gather(
            numbers, lambda connection, some: analyses.find_many(connection, some, name)
        )

    def volumes(self, chosen: MatchSelection) -> list[Volume]:
        """Return the numbers of selected matches and of their actions, by tournament."""
        with self._access.read_for(chosen.where) as connection:
            conditions = _conditions(connection, chosen)
            sums = select(
                matches.c.tournament_id,
                func.count().label("num_matches"),
                func.sum(func.length(matches.c.actions)).label("num_bytes"),
            ).where(*conditions)
            # Without a range of ids SQLite walks an index by tournament; with one it would sort whole rows.
            if chosen.limit is not None:
                sums = sums.where(
                    matches.c.id.between(*queries.id_range(connection, chosen.limit, conditions))
                )
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
        with self._access.read_for(chosen.where) as connection:
            conditions = _conditions(connection, chosen)
            first, last = queries.id_range(connection, chosen.limit, conditions)
        while first <= last:
            with self._access.read_for(chosen.where) as connection:
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
