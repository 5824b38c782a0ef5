"""Fields made of tallies: who is in them, what they are called, what is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.leaderboard.crosstable import crosstable
from arena.leaderboard.tables import widest_error
from arena.leaderboard.views import Leaderboard, choose_pool, names_of, pools, standings
from arena_db.records import MatchFilter, Tally
from arena_db.store import Store
from stores import add_cup, bot, digest, entrants, new_tournament

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena_db.records import BotRecord

GAME, POOL = "connect-four", "5/move hosted"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as opened:
        yield opened


def _tally(first: str, second: str, **changes: object) -> Tally:
    fields: dict[str, object] = {
        "tournament": 1,
        "game": GAME,
        "pool": POOL,
        "first": first,
        "second": second,
        "first_seat": 0,
        "second_seat": 1,
        "outcome": "draw",
        "termination": "rules",
        "rated": True,
        "num_matches": 2,
        "num_unique": 2,
    }
    return Tally(**{**fields, **changes})  # pyright: ignore[reportArgumentType] - a field each


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        (bot("a"), bot("b"), {"a:playouts=100", "b:playouts=100"}),
        (
            bot("a", identity="1" * 64),
            bot("a", identity="2" * 64, version="0.2.0"),
            {"a:playouts=100@0.1.0", "a:playouts=100@0.2.0"},
        ),
        (
            bot("a", identity="1" * 64),
            bot("a", identity="2" * 64, files='{"net": "x"}'),
            {"a:playouts=100#111111", "a:playouts=100#222222"},
        ),
    ],
    ids=["other options", "other version", "other weights"],
)
def test_competitors_are_told_apart(one: BotRecord, other: BotRecord, names: set[str]) -> None:
    known = {found.identity: found for found in (one, other)}
    first, second = known
    (table,) = Leaderboard([_tally(first, second)], known, GAME, POOL).tables()
    assert {row.name for row in table.rows} == names
    assert {row.identity for row in table.rows} == {first, second}


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (("Anna", "b:playouts=100"), ("Anna", "b:playouts=100")),
        (("a:net=x/net.onnx", "b"), ("a:net=x/net.onnx", "b:playouts=100")),
        (("a@0.1.0+1f3a:playouts=100", "b_2"), ("a:playouts=100", "b:playouts=100")),
        (("a:playouts=100_2", "b+1f3a"), ("a:playouts=100", "b:playouts=100")),
        (("Anna", "Anna"), ("Anna#111111", "Anna#222222")),
    ],
)
def test_a_name_of_its_own_goes_with_a_bot_and_what_tells_it_apart_in_one_tournament_does_not(
    labels: tuple[str, str], names: tuple[str, str]
) -> None:
    one, other = bot("a", identity="1" * 64), bot("b", identity="2" * 64)
    called = {one.identity: labels[0], other.identity: labels[1]}
    assert names_of([one, other], called) == names


def test_the_newest_label_of_a_bot_counts(store: Store) -> None:
    first, second, twin = entrants("a", "b", "c")
    store.add_tournament(new_tournament(), [first, second], [])
    renamed = [
        replace(first, label="Anna"),
        replace(second, label="Bert"),
        replace(twin, label="Bert_2", bot=second.bot),
    ]
    store.add_tournament(new_tournament(), renamed, [])
    assert store.labels() == {first.bot.identity: "Anna", second.bot.identity: "Bert"}


def test_matches_of_a_bot_against_itself_and_of_other_pools_tell_nothing() -> None:
    a, b, c = bot("a"), bot("b"), bot("c")
    known = {found.identity: found for found in (a, b, c)}
    tallies = [
        _tally(a.identity, b.identity),
        _tally(a.identity, a.identity, num_matches=50),
        _tally(a.identity, c.identity, pool="1/move hosted", num_matches=3),
        _tally(a.identity, c.identity, game="gomoku", num_matches=40),
    ]
    (table,) = Leaderboard(tallies, known, GAME, POOL).tables()
    assert [(row.name, row.games) for row in table.rows] == [("a:playouts=100", 2), ("b:playouts=100", 2)]
    (mixed,) = Leaderboard(tallies, known, GAME, "all").tables()
    assert sum(row.games for row in mixed.rows) == 10


def test_pools_are_chosen_by_size_or_name() -> None:
    tallies = [_tally("a", "b"), _tally("a", "b", pool="x", num_matches=9), _tally("b", "a", num_matches=8)]
    found = pools(tallies)
    assert found == [(GAME, POOL, 10), (GAME, "x", 9)]
    assert choose_pool(found, None) == (GAME, POOL)
    assert choose_pool(found, "x") == (GAME, "x")
    assert choose_pool(found, "all") == (GAME, "all")
    with pytest.raises(ConfigError, match='no pool "y"; there are: 5/move hosted; x; all mixes them'):
        choose_pool(found, "y")


def test_standings_count_results_sides_and_forfeits(store: Store) -> None:
    cup = add_cup(store, "a", "b")
    store.save(
        [
            cup.match(1, outcome="first", termination="crash"),
            cup.match(2, outcome="first", termination="time_game"),
            cup.match(3, outcome="draw"),
            cup.match(4, outcome="second", termination="oom"),
            cup.void(5),
        ]
    )
    (table,) = standings(store, cup.record)
    a, b = (next(row for row in table.rows if row.name == name) for name in "ab")
    assert (a.games, a.wins, a.draws, a.losses, a.points) == (4, 2, 1, 1, 2.5)
    assert (b.games, b.wins, b.draws, b.losses, b.points) == (4, 1, 1, 2, 1.5)
    assert (a.score_first, a.score_second) == (0.75, 0.5)
    assert (b.crash, b.other, a.time, a.illegal, b.time) == (1, 1, 1, 0, 0)
    assert a.draw_ratio == 0.25
    assert widest_error([table]) == max(a.error, b.error)


def test_twins_stand_beside_each_other(store: Store) -> None:
    cup = add_cup(store, "a", "a/a_2")
    store.save([cup.match(1), cup.match(2)])
    (table,) = standings(store, cup.record)
    assert {row.name for row in table.rows} == {"a", "a_2"}
    assert [row.games for row in table.rows] == [2, 2]
    cross = crosstable(store, cup.record, ["a", "a_2"])
    assert (cross.cells[0][1].wins, cross.cells[0][1].losses, cross.cells[0][1].score) == (1, 1, 0.5)
    assert cross.cells[0][0].score is None


def test_before_the_first_match_nothing_is_known(store: Store) -> None:
    cup = add_cup(store)
    tables = standings(store, cup.record)
    rows = [row for table in tables for row in table.rows]
    assert {row.name for row in rows} == {"a", "b", "c"}
    assert all(row.score is row.draw_ratio is row.score_first is None for row in rows)
    assert widest_error([]) == float("inf")


def test_a_bootstrap_reads_what_the_filter_lets_through(store: Store) -> None:
    cup = add_cup(store, num=24)
    outcomes = ("first", "second", "draw", "draw", "first")
    store.save(
        [
            cup.match(number, outcome=outcomes[number * number % 5], match_hash=digest(str(number)))
            for number in range(1, 25)
        ]
    )
    twins = add_cup(store, "a", "a/a_2")
    store.save([twins.match(1), twins.void(2)])
    where = MatchFilter(rated_only=False)
    board = Leaderboard(store.tallies(MatchFilter()), store.bots(), GAME, POOL)
    (table,) = board.resampled_tables(store, where, 60)
    for row in table.rows:
        assert row.bootstrap_low is not None
        assert row.bootstrap_high is not None
        assert row.bootstrap_low <= row.elo <= row.bootstrap_high
    half = MatchFilter(bot="a", vs="b")
    (narrow,) = board.resampled_tables(store, half, 60)
    assert [row.bootstrap_low for row in narrow.rows] != [row.bootstrap_low for row in table.rows]
    (anchored,) = board.resampled_tables(store, where, 20, ("a:playouts=100", 1000.0))
    fixed = next(row for row in anchored.rows if row.name == "a:playouts=100")
    assert (fixed.bootstrap_low, fixed.elo, fixed.bootstrap_high) == (1000.0, 1000.0, 1000.0)
