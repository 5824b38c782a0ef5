"""Lists of matches in every order, by offset and in pieces, compared with a sort of all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pytest

from arena_db.errors import MovedError, StoppedError
from arena_db.match_order import Order, OrderPlace
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arena_db.records import StoredMatch

NUM = 60
ALL = MatchFilter(rated_only=False)
WHERE = (
    ALL,
    replace(ALL, plies=(("<", 6),), outcome="first"),
    replace(ALL, bot="a"),
    replace(ALL, termination="nothing-ends-so"),
    replace(ALL, durations=((">", 300),), vs="b"),
)


@pytest.fixture(scope="module")
def store(module_place: str) -> Iterator[Store]:
    """Yield a store whose match ids have gaps, and whose matches tie in every order."""
    with Store.open(module_place) as store:
        gone = add_cup(store, num=12, name="gone")
        store.matches.save([gone.match(number) for number in range(1, 9)])
        cup = add_cup(store, num=NUM, name="kept")
        records = [
            replace(
                match,
                actions=(*match.actions, *[1] * (7 * number % 5)),
                times_ms=(*match.times_ms, *[5] * (7 * number % 5)),
                values=(*match.values, *[None] * (7 * number % 5)),
                started_at=1000.0 + 13 * number % 7,
                # Some are in one class, but not equal.
                duration_ms=(0, 300, 1001, 1000, 1007, 4000)[11 * number % 6],
                outcome=("first", "second", "draw")[number % 3],
            )
            for number in range(1, NUM + 1)
            for match in [cup.match(number)]
        ]
        store.matches.save(records)
        yield store


KEYS: dict[str, Callable[[StoredMatch], float]] = {
    "number": lambda match: match.id,
    "date": lambda match: match.started_at,
    "plies": lambda match: len(match.actions),
    "duration": lambda match: match.duration_ms,
}


def in_order(store: Store, order: str, *, descending: bool) -> list[StoredMatch]:
    """Return all matches, sorted by Python."""
    every = store.matches.newest(ALL, limit=1000)
    return sorted(every, key=lambda match: (KEYS[order](match), match.id), reverse=descending)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("order", get_args(Order))
def test_any_page_of_any_order(store: Store, order: Order, *, descending: bool) -> None:
    wanted = [match.id for match in in_order(store, order, descending=descending)]
    assert len(wanted) == NUM + 8
    for offset, limit in ((0, 10), (13, 7), (60, 20), (68, 5)):
        found = store.matches.ids(order, descending=descending, offset=offset, limit=limit)
        assert found == wanted[offset : offset + limit]
    assert [match.id for match in store.matches.with_ids([*wanted[5:9], 999])] == wanted[5:9]


@pytest.mark.parametrize("num", [9, 1000])
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("order", get_args(Order))
def test_pieces_together_are_the_whole(store: Store, order: Order, num: int, *, descending: bool) -> None:
    for where in WHERE:
        fitting = {match.id for match in store.matches.newest(where, limit=1000)}
        ids: list[int] = []
        end: OrderPlace | None = None
        num_searched = 0
        while True:
            piece = store.matches.search_piece(where, order, descending=descending, after=end, num=num)
            assert len(piece.ids) <= num
            ids += piece.ids
            num_searched += piece.num_searched
            if piece.end is None:
                break
            end = piece.end
        every = in_order(store, order, descending=descending)
        assert ids == [match.id for match in every if match.id in fitting]
        assert num_searched >= len(every)


def test_numbers_that_nobody_has_are_passed_over(place: str) -> None:
    with Store.open(place) as store:
        piece = store.matches.search_piece(ALL, "number", descending=True, after=None, num=10)
        assert (piece.ids, piece.end) == ((), None)


def test_an_interrupted_store_answers_nothing_more(store: Store) -> None:
    with Store.open(store.place, read_only=True) as reader:
        assert reader.data_version()
        reader.interrupt()
        for ask in (reader.names.bots, reader.data_version, lambda: reader.matches.newest(ALL)):
            with pytest.raises(StoppedError):
                ask()


def test_the_place_of_a_file_is_checked_by_device_and_inode(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path) as made:
        add_cup(made)
    with Store.open(path, read_only=True) as reader:
        reader.check_readable()
        path.rename(tmp_path / "away.db")
        with pytest.raises(MovedError, match="was removed"):
            reader.check_readable()
        with Store.open(path) as made:
            add_cup(made)
        with pytest.raises(MovedError, match="replaced by another file"):
            reader.check_readable()
