"""Estimated durations use only rated matches of the same bots, limit and tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.tui.forms.tournament_form import Durations, read_durations
from arena_db.store import Store
from stores import add_cup, pool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stores import Cup


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as opened:
        yield opened


def _bots(cup: Cup) -> dict[str, str]:
    return {entrant.bot.identity: entrant.bot.spec for entrant in cup.entrants}


def _read(store: Store, bots: dict[str, str], limit: str = "5/move", tier: str = "T2") -> Durations:
    return read_durations(store, bots, game="connect-four", limit=limit, tier=tier)


def test_only_what_is_alike_counts(store: Store) -> None:
    cup = add_cup(store, "a", "b")
    store.matches.save(
        [
            cup.match(1, duration_ms=1000),
            cup.match(2, duration_ms=3000, termination="crash"),
            cup.match(3, duration_ms=50_000, tier="T0"),
            cup.match(4, duration_ms=60_000, rated=False),
            cup.match(5, duration_ms=0, termination="walkover"),
            cup.void(6),
        ]
    )
    for other in (
        add_cup(store, "a", "b", pool=pool("1/move hosted")),
        add_cup(store, "a", "b", game="gomoku"),
    ):
        store.matches.save([other.match(1, duration_ms=70_000)])
    person = add_cup(store, "a", "a person", type="play")
    store.matches.save([person.match(number, duration_ms=900_000) for number in range(1, 5)])
    first, second = _bots(cup)
    known = _read(store, _bots(cup))
    assert known.pairs == {frozenset((first, second)): [3.0, 1.0]}
    assert known.num_matches == 2
    assert known.expect([(first, second), (second, first)], 999.0) == (2.0, False)
    assert _read(store, _bots(cup), tier="T3").num_matches == 0
    assert _read(store, _bots(cup), limit="1/move").pairs == {frozenset((first, second)): [70.0]}


def test_other_weights_are_another_bot(store: Store) -> None:
    cup = add_cup(store, "a", "b")
    store.matches.save([cup.match(1)])
    first, second = _bots(cup)
    assert _read(store, {first: "a:playouts=100", "f" * 64: "b:playouts=100"}).num_matches == 0
    assert _read(store, _bots(cup)).expect([(first, second)], None) == (70.012, False)


def test_a_pair_that_never_met_goes_by_its_bots_then_by_the_clocks() -> None:
    ab, ac = frozenset("ab"), frozenset("ac")
    known = Durations({ab: [1.0, 3.0], ac: [8.0]})
    assert known.expect([("a", "b")], 100.0) == (2.0, False)
    assert known.expect([("b", "c")], 100.0) == (4.0, False), "what b and c played with a"
    assert known.expect([("a", "b"), ("a", "c")], 100.0) == (5.0, False)
    assert known.expect([("d", "e")], 100.0) == (100.0, True)
    assert known.expect([("a", "b"), ("d", "e")], 100.0) == (51.0, True)
    assert known.expect([("a", "b"), ("d", "e")], None) == (None, False)
    assert known.expect([], 100.0) == (None, False)


def test_a_bot_may_meet_itself(store: Store) -> None:
    cup = add_cup(store, "a", "a/a_2")
    store.matches.save([cup.match(1, duration_ms=4000), cup.match(2, duration_ms=6000)])
    (own,) = _bots(cup)
    known = _read(store, _bots(cup))
    assert known.num_matches == 2
    assert known.expect([(own, own)], None) == (5.0, False)
