"""Pages of stored matches, requested one at a time; with a filter, all matches are searched in pieces."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias, cast, get_args

import msgspec

from arena.errors import ConfigError
from arena.live.table_views import MatchRow
from arena.results.condition import read_condition
from arena.watching.query import Query
from arena.watching.stored import row_of, with_mistakes
from arena_db.match_order import Order, OrderPlace
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from arena.results.condition import Condition
    from arena_db.store import Store

PIECE: Final = 20_000
"""Number of matches that one statement searches, which takes 10 to 100 ms."""
ORDERS: Final[tuple[str, ...]] = get_args(Order)
"""The orders by which matches can be sorted."""


class MatchSource:
    """A `Provider` that yields pages of stored matches for one list, which requests one page at a time.

    The matches that pass a filter are kept as ids, eight bytes each; rows are not kept.
    """

    def __init__(self, tournament: str = "") -> None:
        """Start without a search; labels in conditions are those of the bots of `tournament`."""
        self.tournament = tournament
        """Name of the tournament that the dashboard shows."""
        self._search: _Search | None = None

    def renew(self) -> None:
        """Drop the search result; the next call searches all matches again."""
        self._search = None

    def __call__(self, request: PageRequest, query: Query) -> Iterator[Page]:
        """Yield a page whenever it or the number of matches changes; the last one is complete.

        Raises:
            Cancelled: the query was cancelled; the next call continues the search.
            ConfigError: the condition or the order cannot be parsed.
            StoreLost, StoreError: the store cannot be read.
        """
        condition = read_condition(request.condition)
        if request.sort not in ORDERS:
            raise ConfigError(f'matches cannot be sorted by "{request.sort}" (there are {" ".join(ORDERS)})')
        with query.store() as store:
            search = self._search
            if search is None or not search.is_for(request, self.tournament):
                search = self._search = _Search(request, self.tournament)
            bots = tuple(store.names.entrant_labels())
            ids: list[int] | None = None
            rows: tuple[MatchRow, ...] = ()
            for _ in search.steps(store, condition, query):
                before, ids = ids, search.page(store, request)
                if ids != before:
                    rows = with_mistakes(store, tuple(map(row_of, store.matches.with_ids(ids))))
                query.check()
                yield Page(
                    rows=rows,
                    total=search.total,
                    share=search.share,
                    num_newer=search.num_newer,
                    bots=bots,
                )


class _Search:
    """The matches found so far that pass a condition, in one order."""

    def __init__(self, request: PageRequest, tournament: str) -> None:
        self._key = (request.condition, request.sort, request.descending, tournament)
        self._order: Order = cast("Order", request.sort)
        self._descending = request.descending
        self._turn = Lock()
        self._num_all = self._num_first = 0
        self._ids: array[int] | None = None
        """With a filter, ids of the matches that pass it, in order; None if all matches pass."""
        self._newer = array("q")
        """Ids of matches stored since the search began, oldest first; they precede the others."""
        self._newest = 0
        """The highest id that was examined."""
        self._end: OrderPlace | None = None
        self._num_searched = 0
        self._is_begun = self._is_whole = False

    def is_for(self, request: PageRequest, tournament: str) -> bool:
        """Return whether this is the search for a request."""
        return self._key == (request.condition, request.sort, request.descending, tournament)

    @property
    def total(self) -> int:
        """Number of matches found."""
        return self._num_all if self._ids is None else len(self._newer) + len(self._ids)

    @property
    def share(self) -> float:
        """Share of matches that were searched."""
        if self._is_whole:
            return 1.0
        return min(0.99, self._num_searched / self._num_all) if self._num_all else 0.0

    @property
    def num_newer(self) -> int:
        """Number of matches added at the top since the search began."""
        if self._ids is not None:
            return len(self._newer)
        return self._num_all - self._num_first if self._key[1:3] == ("number", True) else 0

    def steps(self, store: Store, condition: Condition, query: Query) -> Iterator[None]:
        """Continue the search; yield whenever more is known, at least once."""
        every = MatchFilter(rated_only=False)
        if condition.is_empty:
            self._num_all, self._is_whole = store.matches.count(every), True
            self._num_first = self._num_first or self._num_all
            yield
            return
        where = condition.to_filter(store, tournament=self._key[-1])
        # A cancelled query may still be executing its last statement, so searches take turns.
        with self._turn:
            query.check()
            self._begin(store, where, every)
        if self._num_searched or self._is_whole:
            yield
        while not self._is_whole:
            with self._turn:
                query.check()
                self._step(store, where)
            yield

    def _begin(self, store: Store, where: MatchFilter, every: MatchFilter) -> None:
        """Start the search, or examine the matches stored since."""
        newest = next(iter(store.matches.ids("number", descending=True, offset=0, limit=1)), 0)
        # In the order of numbers, pieces are ranges of ids, so progress is measured in ids.
        self._num_all = newest if self._order == "number" else store.matches.count(every)
        if not self._is_begun:
            self._ids, self._newest, self._is_begun = array("q"), newest, True
        elif newest > self._newest and self._order == "number":
            self._look_at_new(store, where, newest)

    def _look_at_new(self, store: Store, where: MatchFilter, newest: int) -> None:
        found = array("q")
        end: OrderPlace | None = OrderPlace(self._newest, self._newest)
        while end is not None:
            piece = store.matches.search_piece(where, "number", descending=False, after=end, num=PIECE)
            found.extend(number for number in piece.ids if number <= newest)
            end = piece.end if piece.end is None or piece.end.id < newest else None
        if self._descending:
            self._newer.extend(found)
        elif self._is_whole and self._ids is not None:
            self._ids.extend(found)
        self._newest = newest

    def _step(self, store: Store, where: MatchFilter) -> None:
        piece = store.matches.search_piece(
            where, self._order, descending=self._descending, after=self._end, num=PIECE
        )
        if self._ids is not None:
            # Later matches are found by `_look_at_new`, and must not be listed twice.
            self._ids.extend(number for number in piece.ids if number <= self._newest)
        self._num_searched += piece.num_searched
        self._end, self._is_whole = piece.end, piece.end is None

    def page(self, store: Store, request: PageRequest) -> list[int]:
        """Return the ids of a page, as far as they are known."""
        begin, end = request.offset, min(request.offset + request.limit, self.total)
        if begin >= end:
            return []
        if self._ids is None:
            return self._counted(store, begin, end - begin)
        num_newer = len(self._newer)
        newer = self._newer[max(0, num_newer - end) : max(0, num_newer - begin)]
        older = self._ids[max(0, begin - num_newer) : max(0, end - num_newer)]
        return [*reversed(newer), *older]

    def _counted(self, store: Store, begin: int, limit: int) -> list[int]:
        """Return the ids of a page of all matches, using the offset from the nearer end."""
        behind = self._num_all - begin - limit
        if begin <= behind:
            return store.matches.ids(self._order, descending=self._descending, offset=begin, limit=limit)
        found = store.matches.ids(self._order, descending=not self._descending, offset=behind, limit=limit)
        return found[::-1]


PAGE_SIZE = 200
"""Number of rows on a page."""


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for rows: `limit` of them starting at `offset`, in the order given by `sort`."""

    page: int
    """Number of the page, from 0; `offset` is `page * PAGE_SIZE`."""
    sort: str = "number"
    """Order: `number`, `date`, `plies` or `duration`."""
    descending: bool = True
    condition: str = ""
    """The condition as typed; the provider parses it."""
    limit: int = PAGE_SIZE

    @property
    def offset(self) -> int:
        """Number of rows before the page."""
        return self.page * PAGE_SIZE


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request: rows, and the number of rows found so far that pass the condition."""

    rows: tuple[MatchRow, ...]
    total: int
    share: float = 1.0
    """Share of matches that were searched; below 1, more rows may follow on this and later pages."""
    num_newer: int = 0
    """Number of rows added at the top since the search began."""
    bots: tuple[str, ...] = ()
    """Names of all bots of the store, so that labels are the same on every page."""


Provider: TypeAlias = Callable[[PageRequest, Query], Iterator[Page]]
"""A function that yields a page repeatedly, each time more complete, until all matches are searched.

It may be called in different threads and may raise ArenaError.
"""
