"""Reading a store at one moment: numbers that are shown together come from the same state of the store."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import pytest

from arena.export._names import Names
from arena.results.boards import boards_of
from arena.results.condition import Condition
from arena.results.leaderboards import rate
from arena_db.errors import MissingError
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_db.summed import StoredSums
from arena_plugins import load_game
from stores import add_cup

if TYPE_CHECKING:
    from arena_db.sums import EncounterSums

ALL = MatchFilter()


def _num_matches(store: Store) -> int:
    return sum(tally.num_matches for tally in store.sums.tallies(ALL))


def test_all_queries_see_the_first_one(store: Store) -> None:
    cup = add_cup(store)
    store.matches.save([cup.match(1)])
    with Store.open(store.place, read_only=True) as reader:
        with reader.at_one_moment():
            assert _num_matches(reader) == 1
            store.matches.save([cup.match(2)])
            with reader.at_one_moment():
                assert _num_matches(reader) == 1
            assert len(reader.matches.newest(ALL)) == 1, "the end of the inner block ends nothing"
        assert _num_matches(reader) == 2


def test_the_moment_is_that_of_the_first_query(store: Store) -> None:
    cup = add_cup(store)
    with Store.open(store.place, read_only=True) as reader, reader.at_one_moment():
        store.matches.save([cup.match(1)])
        assert _num_matches(reader) == 1


def test_other_threads_see_what_is_new(store: Store) -> None:
    cup = add_cup(store)
    found: list[int] = []
    with Store.open(store.place, read_only=True) as reader, reader.at_one_moment():
        assert _num_matches(reader) == 0
        store.matches.save([cup.match(1)])
        other = threading.Thread(target=lambda: found.append(_num_matches(reader)))
        other.start()
        other.join(30)
    assert found == [1]


def test_an_error_ends_the_moment(store: Store) -> None:
    cup = add_cup(store)

    def fail() -> None:
        with store.at_one_moment():
            assert _num_matches(store) == 0
            raise MissingError

    with pytest.raises(MissingError):
        fail()
    store.matches.save([cup.match(1)])
    assert _num_matches(store) == 1


def test_a_leaderboard_beside_a_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and sums of pairs are two queries; a pair stored between them is in neither or in both."""
    cup = add_cup(store, "a", "b")
    store.matches.save([cup.match(1), cup.match(2)])
    sums = StoredSums.of_pools

    def sums_later(
        reader: StoredSums, game: str | None = None, pool: str | None = None
    ) -> list[EncounterSums]:
        store.matches.save([cup.match(3), cup.match(4)])
        store.sums.sum_up()
        return sums(reader, game, pool)

    monkeypatch.setattr(StoredSums, "of_pools", sums_later)
    with Store.open(store.place, read_only=True) as reader:
        rated = rate(reader, Condition())
    assert rated is not None
    for row in rated.tables[0].rows:
        assert (row.games, row.pairs) == (2, 1)


def test_boards_fitted_after_more_matches_were_stored(store: Store) -> None:
    """A board is fitted at its first use, from the counts and sums of the caller's snapshot."""
    cup = add_cup(store, "a", "b")
    store.matches.save([cup.match(1), cup.match(2)])
    with Store.open(store.place, read_only=True) as reader:
        for many in (2, 4):
            with reader.at_one_moment():
                boards = boards_of(reader)
                store.matches.save([cup.match(many + 1), cup.match(many + 2)])
                store.sums.sum_up()
                ((game, pool, num),) = boards.pools
                assert num == many
                (table,) = boards.tables(game, pool)
                assert [(row.games, row.pairs) for row in table.rows] == [(many, many // 2)] * 2


def test_ratings_of_an_export_beside_a_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot whose first match is stored between the two queries is in neither of them, or in both."""
    cup = add_cup(store, "a", "b")
    store.matches.save([cup.match(1), cup.match(2)])
    other = add_cup(store, "a", "c", name="other")
    sums = StoredSums.of_pools

    def sums_later(
        reader: StoredSums, game: str | None = None, pool: str | None = None
    ) -> list[EncounterSums]:
        found = sums(reader, game, pool)
        store.matches.save([other.match(1), other.match(2)])
        return found

    with Store.open(store.place, read_only=True) as reader:
        monkeypatch.setattr(StoredSums, "of_pools", sums_later)
        names = Names(reader, load_game(other.record.game), other.record.game)
        names.place(other.record.id)
    assert [math.isnan(each.elo) for each in names.competitors] == [False, True]
