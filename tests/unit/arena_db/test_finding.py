"""Tournaments and bots are found by any part of their names; a plain loop gives the expected results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from arena_db import finding
from arena_db.records import Entrant
from arena_db.store import Store
from stores import add_cup, bot, new_tournament, plan

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("spring", "Spring-2", "late-spring", "50%_off", "mcts", "az v mm")
SPECS = ("mcts:playouts=20", "mcts:playouts=200", "minimax:depth=3", "odd%_spec", "mcts")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """Yield a store with tournaments and bots of the names and specs above; one bot is labelled Anna."""
    with Store.open(place) as opened:
        for name, (first, second) in zip(NAMES, itertools.cycle(itertools.pairwise(SPECS)), strict=False):
            bots = [bot(spec.partition(":")[0], spec=spec) for spec in (first, second)]
            entrants = [
                Entrant(seat=0, label="Anna" if name == "mcts" else first, bot=bots[0], limit=""),
                Entrant(seat=1, label=second, bot=bots[1], limit=""),
            ]
            opened.tournaments.add(new_tournament(name=name), entrants, plan(2, 2))
        yield opened


def found(store: Store, text: str, limit: int = 20) -> list[tuple[int, str, str]]:
    specs = {record.identity: record.spec for record in store.names.bots().values()}
    hits = store.names.search(text, limit, lambda: True)
    return [(hit.rank, hit.kind, specs.get(hit.name, hit.name)) for hit in hits]


@pytest.mark.parametrize(
    "text", ["spring", "S", "mcts", "mcts 20", "20 mcts", "%_", "_", "=", "depth=3", "zz"]
)
def test_it_finds_what_a_plain_loop_finds(store: Store, text: str) -> None:
    words = text.lower().split()
    wanted = {("tournament", name) for name in NAMES if all(word in name.lower() for word in words)}
    wanted |= {("bot", spec) for spec in SPECS if all(word in spec for word in words)}
    assert {(kind, name) for _, kind, name in found(store, text)} == wanted
    ranks = [rank for rank, _, _ in found(store, text)]
    assert ranks == sorted(ranks)
    for rank, _, name in found(store, text):
        whole = " ".join(words)
        assert rank == (0 if name.lower() == whole else 1 if name.lower().startswith(whole) else 2)


def test_exact_names_come_first_then_beginnings_then_the_newest(store: Store) -> None:
    assert found(store, "spring") == [
        (0, "tournament", "spring"),
        (1, "tournament", "Spring-2"),
        (2, "tournament", "late-spring"),
    ]
    assert [name for rank, _, name in found(store, "mcts") if rank == 0] == ["mcts", "mcts"]
    assert [name for rank, _, name in found(store, "mcts") if rank == 1] == [
        "mcts:playouts=200",
        "mcts:playouts=20",
    ]
    assert found(store, "mcts", limit=2) == found(store, "mcts")[:2]


def test_bots_are_found_by_label_version_and_digits(store: Store) -> None:
    (anna,) = found(store, "anna")
    assert anna[:2] == (0, "bot")
    assert {name for _, _, name in found(store, "minimax 0.1.0")} == {"minimax:depth=3"}
    (record,) = (each for each in store.names.bots().values() if each.spec == "odd%_spec")
    assert found(store, f"~{record.identity[:6]}") == [(2, "bot", "odd%_spec")]
    assert found(store, record.identity[:3] + "zz") == []


def test_ranges_of_rows_are_put_together_and_a_search_can_be_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {text: found(store, text) for text in ("mcts", "s", "anna")}
    monkeypatch.setattr(finding, "RANGE", 2)
    for text, all_of_it in whole.items():
        assert found(store, text) == all_of_it
    asked: list[int] = []

    def is_wanted() -> bool:
        asked.append(1)
        return len(asked) < 2

    newest = {hit.name for hit in store.names.search("s", 20, is_wanted) if hit.kind == "tournament"}
    assert newest <= set(NAMES[-2:])
    assert len(asked) == 2
    assert store.names.search("s", 20, lambda: False) == []
    assert store.names.search("   ", 20, lambda: True) == []


def test_an_empty_store_has_nothing(place: str) -> None:
    with Store.open(place) as opened:
        assert opened.names.search("a", 20, lambda: True) == []
        add_cup(opened, name="a")
        assert opened.names.search("a", 1, lambda: True)[0].rank == 0
