"""Notes of tables about matches of sequential tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena.results.condition import read_condition
from arena.results.leaderboards import rate
from arena.results.rating_tables import standings
from arena.results.tested import count_tested, is_test, kind_of, notes_on_tests
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import Cup, entrants, new_tournament, plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEST = 'type = "match"\nsprt = "elo0=0"\npairs = 6\n'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db", fast=True) as found:
        yield found


def _add(store: Store, config: str, *names: str, rated: bool, num: int) -> Cup:
    """Store a match of two bots of which `num` games are played."""
    seats, matches = entrants(*names), plan(2, 12)
    new = replace(new_tournament(), type="match", config=config)
    cup = Cup(store.tournaments.add(new, seats, matches), seats, matches)
    store.matches.save([cup.match(number, rated=rated) for number in range(1, num + 1)])
    return cup


def test_nothing_is_said_where_there_are_no_tests(store: Store) -> None:
    cup = _add(store, "", "a", "b", rated=True, num=4)
    # A text that resembles the key does not count.
    _add(store, 'event = "sprt = 1"\n', "a", "b", rated=False, num=4)
    assert count_tested(store, MatchFilter()) == (0, {})
    tables = standings(store, cup.record)
    assert notes_on_tests(tables) == []
    assert [(table.num_unrated, [row.tested for row in table.rows]) for table in tables] == [(0, [0, 0])]
    assert not is_test(cup.record)
    assert kind_of(cup.record) == cup.record.type
    assert notes_on_tests([]) == []


def test_matches_that_are_not_rated_are_counted(store: Store) -> None:
    _add(store, "", "a", "b", rated=True, num=4)
    test = _add(store, TEST, "a", "c", rated=False, num=6)
    store.matches.save(
        [test.match(7, outcome="void", rated=False), test.match(8, termination="walkover", rated=False)]
    )
    assert is_test(test.record)
    assert kind_of(test.record) == "test"
    assert count_tested(store, MatchFilter()) == (6, {})
    (alone, other) = standings(store, test.record)
    assert (alone.num_unrated, other.num_unrated) == (6, 6)
    (note,) = notes_on_tests([alone])
    assert note.startswith("6 matches of sequential tests are not rated: a test stops when")
    found = rate(store, read_condition(""))
    assert found is not None
    assert [table.num_unrated for table in found.tables] == [6]
    # Tests of another pool do not count here.
    assert count_tested(store, MatchFilter(game="tic-tac-toe")) == (0, {})


def test_one_match(store: Store) -> None:
    test = _add(store, TEST, "a", "c", rated=False, num=1)
    assert notes_on_tests(standings(store, test.record))[0].startswith(
        "1 match of a sequential test is not rated"
    )


def test_rows_that_rest_on_tests_are_marked(store: Store) -> None:
    _add(store, "", "a", "b", rated=True, num=4)
    test = _add(store, f"{TEST}rated = true\n", "a", "c", rated=True, num=6)
    # Of a test without --rated only the pairs after the decision are rated, and they count normally.
    _add(store, TEST, "b", "c", rated=True, num=2)
    (table,) = standings(store, test.record)
    assert {row.name: row.tested for row in table.rows} == {"a": 6, "c": 6}
    found = rate(store, read_condition(""))
    assert found is not None
    (board,) = found.tables
    assert {row.name.partition(":")[0]: row.tested for row in board.rows} == {"a": 6, "b": 0, "c": 6}
    assert notes_on_tests([board]) == [
        "*: rests on matches of sequential tests (--rated), which stop when a bot is ahead."
    ]
