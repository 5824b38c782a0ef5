"""Results are shared by all readers of one state of a store, and by no readers of another state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import TYPE_CHECKING

import pytest

from arena.errors import NotFoundError
from arena.results import shared
from arena.results.boards import Boards, boards_of
from arena.results.bot_page import bot_page
from arena.results.shared import once_per_state
from arena_db.owner import current_owner
from arena_db.records import Entrant, MatchFilter
from arena_db.store import Store
from stores import add_cup, bot, entrants, new_tournament, plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from stores import Cup


@pytest.fixture
def cup(tmp_path: Path) -> Iterator[tuple[Store, Store, Cup]]:
    """Yield a store to write to, the same store to read from, and a tournament that has begun."""
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, name="spring")
        store.matches.save([cup.match(number) for number in range(1, 4)])
        with Store.open(tmp_path / "arena.db", read_only=True) as reader:
            yield store, reader, cup


def _known(store: Store) -> tuple[object, ...]:
    """Return the data of leaderboards, read again."""
    boards = Boards(store)
    tables = [boards.tables(game, pool) for game, pool, _ in boards.pools]
    sums = sorted(store.sums.of_pools(), key=repr)
    return boards.tallies, boards.bots, boards.labels, tables, sums, store.ratings.replay_marks()


def _join(store: Store, cup: Cup) -> None:
    entrant = Entrant(seat=0, label="d", bot=bot("d"), limit="")
    store.changes.join(cup.record.id, entrant, reason="a test", who="me@here")


def test_a_state_has_one_set_of_leaderboards_until_a_result_changes(
    cup: tuple[Store, Store, Cup],
) -> None:
    store, reader, spring = cup
    changes: list[tuple[str, Callable[[], object]]] = [
        ("a match", lambda: store.matches.save([spring.match(4)])),
        ("a void match", lambda: store.changes.void([1], reason="a test", who="me@here")),
        ("a valid match", lambda: store.changes.unvoid([1], reason="a test", who="me@here")),
        ("an entrant", lambda: _join(store, spring)),
        ("a tournament", lambda: add_cup(store, "e", "f", name="autumn")),
        ("sums", store.sums.sum_up),
    ]
    for name, change in changes:
        before, known = boards_of(reader), _known(reader)
        assert boards_of(reader) is before
        change()
        is_same = _known(reader) == known
        assert (boards_of(reader) is before) == is_same, name
        assert is_same == (name == "sums"), name


def test_bots_of_a_tournament_that_was_prepared_are_known_when_it_begins(
    cup: tuple[Store, Store, Cup],
) -> None:
    store, reader, _ = cup
    record = store.tournaments.reserve(new_tournament(name="autumn"), current_owner())
    before = boards_of(reader)
    store.tournaments.begin(record.id, "", entrants("g", "h"), plan(2, 2))
    assert set(boards_of(reader).bots) - set(before.bots) == {bot("g").identity, bot("h").identity}


def test_events_and_leases_change_no_result(cup: tuple[Store, Store, Cup]) -> None:
    store, reader, spring = cup
    before, version = boards_of(reader), reader.data_version()
    store.commands.send(spring.record.id, "pause")
    store.tokens.add("anna", bytes(32), "viewer")
    assert reader.data_version() != version
    assert boards_of(reader) is before


def test_a_reader_of_an_older_snapshot_gets_the_results_of_its_snapshot(
    cup: tuple[Store, Store, Cup],
) -> None:
    store, reader, spring = cup
    with reader.at_one_moment():
        old = boards_of(reader)
        store.matches.save([spring.match(4)])
        with ThreadPoolExecutor(1) as pool:
            new = pool.submit(boards_of, reader).result()
        assert new is not old
        assert boards_of(reader) is old
        # Parts that are computed later use the same snapshot.
        game, name, num = old.pools[0]
        assert sum(row.games for table in old.ratings(game, name) for row in table.rows) == 2 * num == 6
        assert bot_page(reader, "a").games == sum(
            tally.num_matches for tally in reader.sums.tallies(MatchFilter(bot="a"))
        )
    assert boards_of(reader) is new


def test_threads_that_need_a_result_wait_for_the_first_one(cup: tuple[Store, Store, Cup]) -> None:
    _, reader, _ = cup
    calls: list[int] = []
    begun, may_end, all_there = Event(), Event(), Barrier(5, timeout=60)

    @once_per_state
    def slow(store: Store, number: int) -> int:
        assert store is reader
        calls.append(number)
        begun.set()
        assert may_end.wait(60)
        return number * 2

    def asked() -> int:
        all_there.wait()
        return slow(reader, 7)

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(asked) for _ in range(4)]
        all_there.wait()
        assert begun.wait(60)
        may_end.set()
        assert [each.result(60) for each in found] == [14] * 4
    assert calls == [7]
    assert slow(reader, 8) == 16


def test_an_error_is_not_kept(cup: tuple[Store, Store, Cup]) -> None:
    _, reader, _ = cup
    errors = [NotFoundError("once")]

    @once_per_state
    def broken(store: Store) -> str:
        del store
        if errors:
            raise errors.pop()
        return "whole"

    with pytest.raises(NotFoundError, match="once"):
        broken(reader)
    assert broken(reader) == "whole"


def test_few_results_are_kept(cup: tuple[Store, Store, Cup], monkeypatch: pytest.MonkeyPatch) -> None:
    _, reader, _ = cup
    monkeypatch.setattr(shared, "_MOST", 3)
    calls: list[int] = []

    @once_per_state
    def counted(store: Store, number: int) -> int:
        del store
        calls.append(number)
        return number

    for number in (1, 2, 3, 1, 4, 1, 3, 2):
        assert counted(reader, number) == number
    assert calls == [1, 2, 3, 4, 2]
