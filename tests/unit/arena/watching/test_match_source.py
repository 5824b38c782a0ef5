"""Pages of the list of matches, compared with a sort of all matches: all orders, all filters, new matches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.results.condition import read_condition
from arena.watching import match_source
from arena.watching.match_source import MatchSource, Page, PageRequest
from arena.watching.query import Cancelled, Query
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena_db.records import MatchRecord, StoredMatch
    from stores import Cup

NUM = 90
KEYS: dict[str, Callable[[StoredMatch], float]] = {
    "number": lambda match: match.id,
    "date": lambda match: match.started_at,
    "plies": lambda match: len(match.actions),
    "duration": lambda match: match.duration_ms,
}
FILTERS = (
    "",
    "ply<7",
    "ply<7 result:1/2",
    "bot:a vs:b",
    "end:time*",
    "tournament:cup ply=5",
    "duration>200ms",
)


def played(cup: Cup, number: int) -> MatchRecord:
    """Return a match whose length, result and times vary with its number."""
    more = 7 * number % 5
    match = cup.match(number)
    return replace(
        match,
        actions=(*match.actions, *[1] * more),
        times_ms=(*match.times_ms, *[5] * more),
        values=(*match.values, *[None] * more),
        started_at=1000.0 + 13 * number % 7,
        duration_ms=100 * (11 * number % 6),
        outcome=("first", "second", "draw")[number % 3],
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return a store with 90 of 120 planned matches, which are searched eight at a time."""
    monkeypatch.setattr(match_source, "PIECE", 8)
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, num=120, name="cup")
        store.matches.save([played(cup, number) for number in range(1, NUM + 1)])
    return Store.open(tmp_path / "arena.db")


def pages(store: Store, source: MatchSource, **wanted: object) -> list[Page]:
    """Return all answers to a request."""
    request = PageRequest(**{"page": 0, "limit": 20, **wanted})  # pyright: ignore[reportArgumentType] # of any field
    return list(source(request, Query(str(store.path))))


def in_order(store: Store, sort: str, condition: str, *, descending: bool) -> list[int]:
    """Return the ids of all matches of a filter, sorted by Python."""
    where = read_condition(condition).to_filter(store)
    found = store.matches.newest(where, limit=1000)
    key = KEYS[sort]
    return [match.id for match in sorted(found, key=lambda m: (key(m), m.id), reverse=descending)]


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort", list(KEYS))
def test_every_page_of_every_order_under_every_filter(store: Store, sort: str, *, descending: bool) -> None:
    for condition in FILTERS:
        wanted = in_order(store, sort, condition, descending=descending)
        source = MatchSource()
        for page in (0, 2, 1, 4):
            last = pages(store, source, page=page, condition=condition, sort=sort, descending=descending)[-1]
            # PageRequest counts pages of 200; a smaller limit takes the first rows of a page.
            begin = 200 * page
            assert [row.stored for row in last.rows] == wanted[begin : begin + 20], (condition, page)
            assert (last.total, last.share) == (len(wanted), 1.0)


def test_what_is_found_is_shown_while_the_rest_is_searched(store: Store) -> None:
    found = pages(store, MatchSource(), condition="ply<7")
    totals, shares = [page.total for page in found], [page.share for page in found]
    assert totals == sorted(totals)
    assert shares == sorted(shares)
    assert 0 < totals[0] < totals[-1]
    assert shares[0] == pytest.approx(8 / NUM)
    assert (shares[-1], shares.count(1.0)) == (1.0, 1), "it is whole once"
    newest = in_order(store, "number", "ply<7", descending=True)
    assert [row.stored for row in found[0].rows] == newest[: totals[0]], "the newest come first"


def test_a_search_that_was_cancelled_goes_on_where_it_was(store: Store) -> None:
    source, query = MatchSource(), Query(str(store.path))
    request = PageRequest(page=0, condition="ply<7")
    answers = source(request, query)
    first, second = next(answers), next(answers)
    query.cancel()
    with pytest.raises(Cancelled):
        next(answers)
    again = list(source(request, Query(str(store.path))))
    assert (again[0].total, again[0].share) == (second.total, second.share)
    assert second.share > first.share
    assert again[-1].total == len(in_order(store, "number", "ply<7", descending=True))


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("condition", ["", "ply<7"])
def test_matches_that_came_since_are_added(store: Store, condition: str, *, descending: bool) -> None:
    source = MatchSource()
    before = pages(store, source, condition=condition, descending=descending, limit=200)[-1]
    cup = add_cup(store, num=30, name="later")
    store.matches.save([played(cup, number) for number in range(1, 31)])
    after = pages(store, source, condition=condition, descending=descending, limit=200)
    wanted = in_order(store, "number", condition, descending=descending)
    assert [row.stored for row in after[-1].rows] == wanted
    assert len(after) == 1, "what was searched is not searched again"
    num_new = len(wanted) - before.total
    assert num_new > 0
    assert (before.num_newer, after[-1].num_newer) == (0, num_new if descending else 0)
    source.renew()
    assert [row.stored for row in pages(store, source, condition=condition, limit=200)[-1].rows] == in_order(
        store, "number", condition, descending=True
    )


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("is_cancelled", [True, False])
def test_matches_that_come_during_a_search_are_there_once(
    store: Store, *, descending: bool, is_cancelled: bool
) -> None:
    source = MatchSource()
    request = PageRequest(page=0, condition="ply<7", descending=descending)
    answers = source(request, Query(str(store.path)))
    next(answers)
    cup = add_cup(store, num=30, name="later")
    store.matches.save([played(cup, number) for number in range(1, 31)])
    if not is_cancelled:
        assert list(answers)[-1].share == 1.0
    *_, last = source(request, Query(str(store.path)))
    wanted = in_order(store, "number", "ply<7", descending=descending)
    assert [row.stored for row in last.rows] == wanted


def test_an_order_that_has_no_index_is_refused(store: Store) -> None:
    with pytest.raises(ConfigError, match="number date plies duration"):
        pages(store, MatchSource(), sort="first")
    with pytest.raises(ConfigError, match="colour"):
        pages(store, MatchSource(), condition="colour:red")
    assert store.matches.count(MatchFilter(rated_only=False)) == NUM
