"""Pages of stored matches for the list: by ranges of numbers, or sorted from the newest ones."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from arena.home import has_store, open_store
from arena.live.views import RESULTS
from arena.results.condition import read_condition
from arena.watching.pages import Page
from arena.watching.stored import row_of, with_mistakes
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from arena.live.tables import MatchRow
    from arena.results.condition import Condition
    from arena.watching.pages import PageRequest
    from arena_db.store import Store

MAX_SORTED: Final = 20_000
"""Newest matches that are sorted where the store cannot do so itself; filters have no such bound."""
_CHUNK: Final = 1000
_KEYS: Final[dict[str, Callable[[MatchRow], Any]]] = {
    "number": lambda row: row.stored,
    "plies": lambda row: row.plies,
    "termination": lambda row: row.termination,
    "result": lambda row: RESULTS[row.outcome],
    "first": lambda row: row.names[0],
    "second": lambda row: row.names[1],
}


class MatchSource:
    """Gives pages of the matches of a store; one call at a time, in any thread."""

    def __init__(self, option: str | None, tournament: str = "") -> None:
        """Begin a search for what is asked.

        Args:
            option: path of the store; None for the usual place.
            tournament: the one that the dashboard watches; labels in conditions are those of its bots.
        """
        self._option = option
        self.tournament = tournament
        """Name of the tournament that the dashboard watches."""
        self._wanted: tuple[str, str, bool] | None = None
        self._total = 0
        self._rows: list[MatchRow] | None = None
        self._keys: dict[int, int | None] = {}
        self._newest = 0
        self._bots: tuple[str, ...] = ()
        self._is_whole = False
        self._where = MatchFilter(rated_only=False)
        self.is_cut = False
        """Whether older matches were not sorted."""
        self.is_quick = True
        """Whether the store knows the answer without a look at every match, so that it may be asked often."""

    def renew(self) -> None:
        """Forget what is known; the next call sees new matches."""
        self._wanted = None

    def __call__(self, request: PageRequest) -> Page:
        """Give a page.

        Raises:
            ConfigError: the condition cannot be read.
            StoreError: the store cannot be read.
        """
        condition = read_condition(request.condition)
        if not has_store(self._option):
            return Page(rows=(), total=0)
        with open_store(self._option, read_only=True, create=False) as store:
            wanted = (request.condition, request.sort, request.descending)
            if wanted != self._wanted:
                self._prepare(store, condition, request)
                self._wanted = wanted
            rows = with_mistakes(store, self._slice(store, self._where, request))
        return Page(rows=rows, total=self._total, bots=self._bots)

    def _prepare(self, store: Store, condition: Condition, request: PageRequest) -> None:
        where = self._where = condition.to_filter(store, tournament=self.tournament)
        newest = store.matches(where, limit=1)
        self._bots = tuple(store.entrant_labels())
        self._newest = newest[0].id if newest else 0
        self._total = store.num_matches(where)
        # Numbers have no gaps where nothing is left out: then every page can be found by counting.
        self._is_whole = condition.is_empty and self._total == self._newest
        self._keys = {0: None if self._newest == 0 else self._newest + 1}
        self._rows = None
        self.is_cut = False
        self.is_quick = not condition.needs_each_match
        if request.sort != "number" or not (request.descending or self._is_whole):
            self._rows = self._newest_rows(store, where)
            self._rows.sort(key=_KEYS[request.sort], reverse=request.descending)
            self._total = len(self._rows)
            self.is_quick = False

    def _newest_rows(self, store: Store, where: MatchFilter) -> list[MatchRow]:
        """Return the newest rows that fit, as many as are sorted, newest first."""
        found: list[MatchRow] = []
        before: int | None = None
        while page := store.matches(where, before=before, limit=_CHUNK):
            found += map(row_of, page)
            before = page[-1].id
            if len(found) >= MAX_SORTED:
                self.is_cut = len(found) < self._total
                break
        return found

    def _slice(self, store: Store, where: MatchFilter, request: PageRequest) -> Sequence[MatchRow]:
        begin, limit = request.offset, request.limit
        if self._rows is not None:
            return self._rows[begin : begin + limit]
        limit = max(0, min(limit, self._total - begin))
        if not request.descending:
            found = store.matches(where, before=begin + limit + 1, limit=limit)
            return [row_of(match) for match in reversed(found)]
        if self._is_whole:
            before: int | None = self._newest - begin + 1
        else:
            before = self._before(store, where, request)
        return [row_of(match) for match in store.matches(where, before=before, limit=limit)]

    def _before(self, store: Store, where: MatchFilter, request: PageRequest) -> int | None:
        """Give the number that a page lies below, found from the nearest page that is known."""
        known = sorted(self._keys)
        page = known[bisect_right(known, request.page) - 1]
        while page < request.page:
            found = store.matches(where, before=self._keys[page], limit=request.limit)
            if not found:
                break
            page += 1
            self._keys[page] = found[-1].id
        return self._keys[page]
