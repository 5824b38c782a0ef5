"""A forfeit counts for the loser, a void match for no bot: in tables, lists, quarantine and live views."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import pytest

from arena.coordinator.changes import played_before
from arena.coordinator.quarantine import MIN_MATCHES, Quarantine
from arena.referee.blame import forfeiter
from arena.results.forfeits import count_forfeits, loser
from arena.results.rating_tables import standings
from arena.watching.bots_source import read_bots
from arena.watching.query import Query
from arena.watching.stored import past_view
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_plugins import Outcome, Termination
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = {
    "illegal_move",
    "malformed",
    "oversize_line",
    "output_flood",
    "protocol_order",
    "time_move",
    "time_game",
    "crash",
    "oom",
    "pondering",
    "bot_error",
    "no_common_protocol",
    "init_timeout",
    "init_crash",
    "disconnect",
}
"""The faults of docs/reference/protocol.md."""


class _Match(NamedTuple):
    outcome: str
    termination: str


@pytest.mark.parametrize(("outcome", "termination"), [*product(Outcome, Termination)])
def test_who_forfeits(outcome: Outcome, termination: Termination) -> None:
    expected = None
    if termination in FAULTS and outcome == "first":
        expected = 1
    elif termination in FAULTS and outcome == "second":
        expected = 0
    assert forfeiter(outcome, termination) == loser(_Match(outcome, termination)) == expected


def test_words_of_no_version_blame_nobody() -> None:
    assert forfeiter("first", "struck by lightning") is forfeiter("third", "crash") is None


def test_everybody_who_counts_forfeits_counts_the_same(tmp_path: Path) -> None:
    ends = [
        ("first", "crash"),
        ("second", "crash"),
        ("first", "time_move"),
        ("first", "rules"),
        ("second", "walkover"),
        ("first", "resign"),
    ]
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a", "b", num=8)
        store.matches.save(
            [
                *(cup.match(n, outcome=won, termination=end) for n, (won, end) in enumerate(ends, 1)),
                cup.void(7),
                cup.match(8, outcome="void", termination="init_crash", rated=False),
            ]
        )
        tallies = store.sums.tallies(MatchFilter(rated_only=False))
        by_seat = count_forfeits(tallies, lambda tally: (tally.first_seat, tally.second_seat))
        faults = past_view(store, cup.record, {}).faults
        (table,) = standings(store, cup.record)
    # In odd matches `a` moves first.
    assert by_seat == {1: {"crash": 2, "time_move": 1}}
    assert faults == {"b": {"crash": 2, "time_move": 1}}
    rows = {row.name: row for row in table.rows}
    assert (rows["b"].crash, rows["b"].time, rows["a"].crash, rows["a"].time) == (2, 1, 0, 0)
    assert [(row.games, row.wins, row.losses) for row in (rows["a"], rows["b"])] == [(6, 3, 3), (6, 3, 3)]


def test_quarantine_holds_the_bot_that_failed() -> None:
    rule = Quarantine()
    rule.add("good", "bad", "first", "crash", 2)
    rule.add("bad", "good", "second", "crash", 2)
    rule.add("good", "bad", "first", "rules", MIN_MATCHES)
    assert (rule.holds("good"), rule.holds("bad")) == (False, True)


def test_matches_are_counted_alike_for_a_command_and_for_the_list_of_bots(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path) as store:
        cup = add_cup(store, "a", "b")
        store.matches.save(
            [cup.match(1), cup.match(2, rated=False), cup.match(3, outcome="draw"), cup.void(4)]
        )
        twin = add_cup(store, "a", "a/a_2")
        store.matches.save([twin.match(1), twin.match(2), twin.void(3)])
        played = {bot.name: played_before(store, bot) for bot in store.names.bots().values()}
    assert {name: [each.num_matches for each in found] for name, found in played.items()} == {
        "a": [5],
        "b": [3],
    }
    rows = {row.name: row.games for row in read_bots(Query(str(path))).content.rows}
    assert (rows["a"], rows["b"]) == (5, 3)
