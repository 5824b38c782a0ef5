"""Fields made from tallies: which bots are in them, their names, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from arena.errors import ConfigError
from arena.results.condition import read_condition
from arena.results.crosstable import crosstable
from arena.results.encounter import count_match
from arena.results.leaderboards import rate
from arena.results.names import largest_pools, long_names
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard, choose_pool, pools, standings
from arena.results.sides import GamePool
from arena.results.tables import widest_error
from arena.watching.dashboard_tables import standing_rows
from arena_db.records import MatchFilter, PlayedMatch, PoolCounts, Tally
from arena_db.store import Store
from stores import add_cup, bot, digest, entrants, new_tournament

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena.results.counts import HeadToHead
    from arena.results.tables import Table
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
    }
    return Tally(**{**fields, **changes})  # pyright: ignore[reportArgumentType] - a field each


LATE = MatchFilter(since=0.0)
"""A filter for which every match is read one by one."""


class _Stored:
    """The matches behind tallies, in place of a store and all of its parts."""

    def __init__(self, tallies: list[Tally]) -> None:
        self._tallies = tallies
        self.changes = self.ratings = self.matches = self

    def last(self) -> int:
        return 0

    def replay_marks(self) -> dict[int, int]:
        return {}

    def played(self, where: MatchFilter, *, after: int = 0) -> list[PlayedMatch]:
        assert where == LATE
        found = [tally for tally in self._tallies for _ in range(tally.num_matches)]
        return [
            PlayedMatch(
                number, tally.tournament, 0, number, tally.first_seat, tally.second_seat, "draw", 0, b""
            )
            for number, tally in enumerate(found, 1)
            if number > after
        ]


def _board(tallies: list[Tally], known: dict[str, BotRecord], pool: str = POOL) -> Leaderboard:
    """Return a leaderboard; each tally is from a tournament of its own."""
    apart = [tally._replace(tournament=number) for number, tally in enumerate(tallies)]
    book = RatedMatches(LATE)
    book.update(cast("Store", _Stored(apart)))
    return Leaderboard(PoolCounts.of(apart), known, GamePool(GAME, pool), book)


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        (bot("a"), bot("b"), {"a:playouts=100", "b:playouts=100"}),
        (
            bot("a", identity="1" * 64),
            bot("a", identity="2" * 64, version="0.2.0"),
            {"a@0.1.0:playouts=100", "a@0.2.0:playouts=100"},
        ),
        (
            bot("a", identity="1" * 64),
            bot("a", identity="2" * 64, files='{"net": "x"}'),
            {"a:playouts=100~111111", "a:playouts=100~222222"},
        ),
    ],
    ids=["other options", "other version", "other weights"],
)
def test_competitors_are_told_apart(one: BotRecord, other: BotRecord, names: set[str]) -> None:
    known = {found.identity: found for found in (one, other)}
    first, second = known
    (table,) = _board([_tally(first, second)], known).tables()
    assert {row.name for row in table.rows} == names
    assert {row.identity for row in table.rows} == {first, second}


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (("Anna", "b:playouts=100"), ("Anna", "b:playouts=100")),
        (("a:net=x/net.onnx", "b"), ("a:net=x/net.onnx", "b:playouts=100")),
        (("a@0.1.0+1f3a:playouts=100", "b_2"), ("a:playouts=100", "b:playouts=100")),
        (("a:playouts=100_2", "b+1f3a"), ("a:playouts=100", "b:playouts=100")),
        (("Anna", "Anna"), ("Anna~111111", "Anna~222222")),
    ],
)
def test_a_name_of_its_own_goes_with_a_bot_and_what_tells_it_apart_in_one_tournament_does_not(
    labels: tuple[str, str], names: tuple[str, str]
) -> None:
    one, other = bot("a", identity="1" * 64), bot("b", identity="2" * 64)
    called = {one.identity: labels[0], other.identity: labels[1]}
    assert long_names([one, other], called) == names


def test_the_newest_label_of_a_bot_counts(store: Store) -> None:
    first, second, twin = entrants("a", "b", "c")
    store.tournaments.add(new_tournament(), [first, second], [])
    renamed = [
        replace(first, label="Anna"),
        replace(second, label="Bert"),
        replace(twin, label="Bert_2", bot=second.bot),
    ]
    store.tournaments.add(new_tournament(), renamed, [])
    assert store.names.labels() == {first.bot.identity: "Anna", second.bot.identity: "Bert"}


def test_matches_of_a_bot_against_itself_and_of_other_pools_tell_nothing() -> None:
    a, b, c = bot("a"), bot("b"), bot("c")
    known = {found.identity: found for found in (a, b, c)}
    tallies = [
        _tally(a.identity, b.identity),
        _tally(a.identity, a.identity, num_matches=50),
        _tally(a.identity, c.identity, pool="1/move hosted", num_matches=3),
        _tally(a.identity, c.identity, game="gomoku", num_matches=40),
    ]
    (table,) = _board(tallies, known).tables()
    assert [(row.name, row.games) for row in table.rows] == [("a:playouts=100", 2), ("b:playouts=100", 2)]
    (mixed,) = _board(tallies, known, pool="all").tables()
    assert sum(row.games for row in mixed.rows) == 10


def test_pools_are_chosen_by_size_or_name(store: Store) -> None:
    other_event = add_cup(store, game="gomoku", num_actions=225).record
    tallies = [_tally("a", "b"), _tally("a", "b", pool="x", num_matches=9), _tally("b", "a", num_matches=8)]
    # No bot is rated by matches against itself.
    tallies += [_tally("a", "a", num_matches=50), _tally("a", "a", pool="own", num_matches=50)]
    found = pools(tallies)
    assert found == [(GAME, POOL, 10), (GAME, "x", 9)]
    # Of equally large pools always the same one is chosen, in whatever order their counts are read.
    even = [*tallies, _tally("b", "a", pool="x", num_matches=1)]
    for order in (even, even[::-1]):
        assert pools(order) == [(GAME, POOL, 10), (GAME, "x", 10)]
        sizes = {(game, pool): num for game, pool, num in pools(order)}
        for listed in (sizes, dict(reversed(sizes.items()))):
            assert largest_pools(listed, other_event) == [(GAME, POOL), (GAME, "x")]
    assert choose_pool(found, None) == (GAME, POOL)
    assert choose_pool(found, "x") == (GAME, "x")
    assert choose_pool(found, "all") == (GAME, "all")
    with pytest.raises(ConfigError, match='no pool "y"; there are: 5/move hosted; x; all mixes them'):
        choose_pool(found, "y")


def test_each_table_of_a_dashboard_ranks_its_own_bots(store: Store) -> None:
    cup = add_cup(store, "a", "b", "c", "d")
    pairs = [{cup.plan[number].first, cup.plan[number].second} for number in range(12)]
    apart = [number for number, pair in enumerate(pairs, 1) if pair in ({0, 1}, {2, 3})]
    store.matches.save([cup.match(number, outcome="first") for number in apart])
    tables = standings(store, cup.record)
    labels = {name: name for name in "abcd"}
    assert [row.place for row in standing_rows(tables, labels, {})] == ["1.1", "1.2", "2.1", "2.2"]
    assert [row.place for row in standing_rows(tables[:1], labels, {})] == ["1", "2"]


def test_standings_count_results_sides_and_forfeits(store: Store) -> None:
    cup = add_cup(store, "a", "b")
    store.matches.save(
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
    assert [a.error, b.error] == pytest.approx([widest_error([table])] * 2)


def test_twins_stand_beside_each_other(store: Store) -> None:
    cup = add_cup(store, "a", "a/a_2")
    store.matches.save([cup.match(1), cup.match(2)])
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
    assert all(row.error is row.elo_low is row.elo_high is None for row in rows)
    assert widest_error(tables) == widest_error([]) == float("inf")


def test_a_bootstrap_reads_what_the_filter_lets_through(store: Store) -> None:
    cup = add_cup(store, num=24)
    outcomes = ("first", "second", "draw", "draw", "first")
    store.matches.save(
        [
            cup.match(number, outcome=outcomes[number * number % 5], match_hash=digest(str(number)))
            for number in range(1, 25)
        ]
    )
    twins = add_cup(store, "a", "a/a_2")
    store.matches.save([twins.match(1), twins.void(2)])

    def rated(where: MatchFilter, anchor: tuple[str, float] | None = None) -> Table:
        book = RatedMatches(where)
        book.update(store)
        board = Leaderboard(store.sums.pool_counts(where), store.names.bots(), GamePool(GAME, POOL), book)
        (table,) = board.tables(anchor, num_samples=60)
        return table

    table = rated(MatchFilter())
    for row in table.rows:
        assert row.bootstrap_low is not None
        assert row.bootstrap_high is not None
        assert row.bootstrap_low <= row.elo <= row.bootstrap_high
    narrow = rated(MatchFilter(bot="a", vs="b"))
    assert {row.name for row in narrow.rows} == {"a:playouts=100", "b:playouts=100"}
    anchored = rated(MatchFilter(), ("a:playouts=100", 1000.0))
    fixed = next(row for row in anchored.rows if row.name == "a:playouts=100")
    assert (fixed.bootstrap_low, fixed.elo, fixed.bootstrap_high) == pytest.approx((1000.0, 1000.0, 1000.0))


@pytest.mark.parametrize("outcomes", ["mixed", "swept"])
def test_match_line_table_and_crosstable_give_one_number(store: Store, outcomes: str) -> None:
    cup = add_cup(store, "a", "b", num=60)
    rng = np.random.default_rng(3)
    book = RatedMatches(MatchFilter(tournament=cup.record.name))
    for start in (1, 25, 41):
        played = [
            cup.match(
                number,
                outcome=str(rng.choice(["first", "second", "draw"]))
                if outcomes == "mixed"
                else ("second", "first")[number % 2],
                actions=(number % 24 // 2 % 7, number % 3, 3, 3),
                match_hash=digest(str(number)),
            )
            for number in range(start, min(start + 24, 61) if start != 25 else 41)
        ]
        store.matches.save(played)
        assert standings(store, cup.record, book=book) == standings(store, cup.record), "read in parts"
    met = count_match(store, cup.record)
    (table,) = standings(store, cup.record)
    cell = crosstable(store, cup.record, ["a", "b"]).cells[0][1]
    rows = {row.name: row for row in table.rows}
    assert rows["a"].elo - rows["b"].elo == pytest.approx(met.gap.elo, rel=1e-9)
    assert widest_error([table]) * 2 == pytest.approx(met.gap.error, rel=1e-9)
    first = table.rows[0]
    gap = met.gap if first.name == "a" else met.gap.reversed()
    assert first.los == pytest.approx(gap.los)
    assert first.expected_score == pytest.approx(gap.score[0])
    assert (cell.elo, cell.error, cell.los) == pytest.approx((met.gap.elo, met.gap.error, met.gap.los))
    assert (cell.elo_low is None) == (met.gap.low == -np.inf)
    assert (cell.elo_high is None) == (met.gap.high == np.inf) == (outcomes == "swept" and first.name == "a")
    assert cell.pairs == met.counts.num_pairs == first.pairs
    back = crosstable(store, cup.record, ["a", "b"]).cells[1][0]
    assert (back.wins, back.losses, back.moving_first) == (cell.losses, cell.wins, _turned(met))


def _turned(met: HeadToHead) -> tuple[int, int, int]:
    wins, draws, losses = met.counts.moving_second
    return losses, draws, wins


def test_a_tournament_repeated_by_deterministic_bots_counts_once_in_the_leaderboard(store: Store) -> None:
    boards: list[list[Table]] = []
    for _ in range(3):
        cup = add_cup(store, "a", "b", num=24)
        store.matches.save(
            [
                cup.match(
                    number,
                    outcome=("first", "first", "draw", "second")[number % 4],
                    actions=((number - 1) // 2 % 7, (number - 1) // 14, number % 2, 3),
                    match_hash=digest(f"{number}"),
                )
                for number in range(1, 25)
            ]
        )
        book = RatedMatches(MatchFilter())
        book.update(store)
        boards.append(
            Leaderboard(
                store.sums.pool_counts(MatchFilter()), store.names.bots(), GamePool(GAME, POOL), book
            ).tables()
        )
    for (table,) in boards[1:]:
        ((once,),) = ([first] for first in boards[0])
        for row, expected in zip(table.rows, once.rows, strict=True):
            assert (row.elo, row.error, row.los) == pytest.approx(
                (expected.elo, expected.error, expected.los)
            )
            assert row.different_pairs == expected.pairs == 12
    assert boards[2][0].rows[0].pairs == 36


def test_a_tournament_whose_matches_are_all_void_has_the_bots_of_its_standings(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a", "b", name="spring")
        store.matches.save([cup.match(1), cup.match(2)])
        assert store.changes.disqualify(cup.record.id, 1, reason="a test", who="me@here") == 2
        found = rate(store, read_condition("tournament:spring"))
        assert found is not None
        assert found.tables == standings(store, cup.record)
        assert sorted((row.name, row.games) for table in found.tables for row in table.rows) == [
            ("a", 0),
            ("b", 0),
        ]
        assert (found.game, found.pool, found.others) == (cup.record.game, cup.record.pool.name, [])
        assert rate(store, read_condition("tournament:autumn")) is None
        assert rate(store, read_condition("")) is None
