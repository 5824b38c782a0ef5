"""A bot's name as typed by a user is interpreted alike by SQL and by Python."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db.called import is_called, read_called
from arena_db.records import Entrant, MatchFilter
from arena_db.store import Store
from stores import Cup, bot, new_tournament, plan

if TYPE_CHECKING:
    from collections.abc import Iterator

BOTS = (
    (bot("mcts", identity="7f3a9c" + "0" * 58), "mcts:playouts=100"),
    (bot("mcts", spec="mcts:playouts=20", identity="7f3a9d" + "1" * 58, version="0.2.0+1f"), "Anna"),
    (bot("mcts-fast", spec="mcts-fast:file=a@b.npz", identity="7f3b" + "2" * 60), "mcts-fast@0.1.0"),
    (bot("a~beef", spec="a~beef", identity="c" * 64), "a[1]"),
)
TEXTS = (
    "mcts", "mcts*", "mcts:playouts=?00", "mcts:playouts=20", "Anna", "anna", "An*", "a[1]", "a[*", "",
    "~7f3a", "~7F3A", "~7f3", "~7f3b2", "~cccc", "~beef", "a~beef", "x~beef", "mc~7f3a9d", "mcts~7f3b",
    "mcts-~7f3b", "Anna~7f3a", "mcts:playouts=20~7f3a9d", "mcts:playouts=2~7f3a9d", "random~7f3a",
    "mcts@0.1.0", "mcts@0.2.0+1f", "mcts@0.2.0+1f:playouts=20", "mcts@0.1.0:playouts=20", "Anna@0.2.0+1f",
    "mcts-fast@0.1.0", "mcts-fast@0.1.0:file=a@b.npz", "mcts-fast:file=a@b.npz", "@0.1.0", "mcts@",
    "mcts~" + "7f3a9c" + "0" * 58, "mcts~" + "7f3a9c" + "0" * 59, "~", "~zzzz",
)  # fmt: skip


@pytest.fixture(scope="module")
def store(module_place: str) -> Iterator[Store]:
    """Yield a store with a tournament in which each bot moved first in one match against another bot."""
    stranger = bot("stranger", spec="stranger", identity="e" * 64)
    entered = [*BOTS, (stranger, "stranger")]
    seats = [Entrant(seat=n, label=label, bot=one, limit="") for n, (one, label) in enumerate(entered)]
    matches = [replace(each, first=n, second=len(BOTS)) for n, each in enumerate(plan(2, len(BOTS)))]
    with Store.open(module_place) as made:
        cup = Cup(made.tournaments.add(new_tournament(name="cup"), seats, matches), seats, matches)
        made.matches.save([cup.match(number) for number in range(1, len(BOTS) + 1)])
        yield made


@pytest.mark.parametrize("text", TEXTS)
def test_sql_and_python_mean_the_same_bots(store: Store, text: str) -> None:
    wanted = {
        one.identity
        for one, label in BOTS
        if is_called(text, (one.name, one.spec, label), version=one.version, identity=one.identity)
    }
    assert {match.first for match in store.matches.newest(MatchFilter(bot=text), limit=100)} == wanted
    assert {
        match.first for match in store.matches.newest(MatchFilter(bot="stranger", vs=text), limit=9)
    } == wanted
    assert {tally.first for tally in store.sums.tallies(MatchFilter(bot=text))} == wanted
    assert store.names.has_entrant(text) is bool(wanted)


@pytest.mark.parametrize(
    ("text", "bots"),
    [
        ("mcts", {0, 1}),
        ("~7f3a", {0, 1}),
        ("~7F3A9D", {1}),
        ("mc~7f3a", {0, 1}),
        ("mcts-~7f3b", {2}),
        ("Anna~7f3a", {1}),
        ("~7f3", set[int]()),
        ("random~7f3a", set[int]()),
        ("a~beef", {3}),
        ("mcts@0.1.0", {0}),
        ("mcts@0.2.0+1f:playouts=20", {1}),
        ("Anna@0.2.0+1f", {1}),
        ("mcts@0.3.0", set[int]()),
        ("mcts-fast@0.1.0", {2}),
    ],
)
def test_each_form_means_these(text: str, bots: set[int]) -> None:
    assert bots == {
        number
        for number, (one, label) in enumerate(BOTS)
        if is_called(text, (one.name, one.spec, label), version=one.version, identity=one.identity)
    }


def test_what_was_typed_is_taken_apart() -> None:
    called = read_called("mcts@0.1.0:playouts=20~7F3A9C")
    assert (called.beginning, called.digits) == ("mcts@0.1.0:playouts=20", "7f3a9c")
    assert (called.unversioned, called.version) == ("mcts:playouts=20~7F3A9C", "0.1.0")
    assert read_called("mcts~7f3")[1:] == ("", "", "", "")
