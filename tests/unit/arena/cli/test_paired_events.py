"""Tournaments that are paired by their own results: Swiss and knockout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from arena.coordinator.config import TournamentConfig
from arena.errors import ConfigError
from arena_db.store import Store
from command_line import FAST

if TYPE_CHECKING:
    from arena_db.records import PlannedMatch
    from command_line import CommandLine

BOTS = ("random", "minimax:depth=1", "minimax:depth=2", "minimax:depth=3", "mcts:playouts=5")
SWISS = ("tournament", *BOTS, *FAST, "--type", "swiss", "--rounds", 3, "--pairs", 2, "--srand", 1)
KNOCKOUT = ("tournament", *BOTS, *FAST, "--type", "knockout", "--third-place", "--srand", 1)


def _plan(arena: CommandLine, name: str) -> list[PlannedMatch]:
    with Store.open(arena.db, read_only=True) as store:
        record = store.tournaments.find(name)
        assert record is not None
        assert record.is_complete
        return list(store.plans.planned(record.id))


def _rows(arena: CommandLine, *call: object) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", arena.objects(*call))


def test_a_swiss_tournament_has_one_table_by_place_everywhere(arena: CommandLine) -> None:
    objects = _rows(arena, *SWISS, "--quiet", "--name", "cup")
    places = [
        {key: row[key] for key in row if key != "tournament"} for row in objects if row["type"] == "place"
    ]
    assert len(places) == 5
    assert places == _rows(arena, "crosstable", "cup", "--tie-breaks")
    (shown,) = _rows(arena, "show", "cup")
    assert shown["places"] == [
        {key: row[key] for key in row if key not in {"type", "schema"}} for row in places
    ]
    assert shown["bracket"] == []
    # Two encounters of two pairs in each of three rounds, and a bye for three of five bots: four points each.
    assert len(_plan(arena, "cup")) == 24
    assert sum(row["points"] for row in places) == 24 + 3 * 4
    text = arena("show", "cup").stdout
    assert "Buchholz" in text
    assert arena("crosstable", "cup", "--tie-breaks").stdout.count(places[0]["name"]) == 2


def test_a_knockout_shows_its_bracket_and_places(arena: CommandLine) -> None:
    result = arena(*KNOCKOUT, "--name", "cup", "--quiet")
    titles = [line for line in result.stdout.splitlines() if line and not line.startswith(" ")]
    assert [line for line in titles if line in {"quarterfinal", "semifinal", "third place", "final"}] == [
        "quarterfinal",
        "semifinal",
        "third place",
        "final",
    ]
    (shown,) = _rows(arena, "show", "cup")
    final = shown["bracket"][-1]
    assert (final["encounter"], final["state"]) == ("final", "decided")
    assert shown["places"][0] == {"place": 1, "name": final["winner"]}
    assert [row["place"] for row in shown["places"]] == [1, 2, 3, 4, 5]
    assert result.stdout.rstrip().splitlines()[-5].split() == ["1", final["winner"]]


@pytest.mark.parametrize("call", [SWISS, KNOCKOUT], ids=["swiss", "knockout"])
def test_a_stopped_event_goes_on_with_the_same_plan(arena: CommandLine, call: tuple[object, ...]) -> None:
    arena(*call, "--name", "whole", "--quiet")
    arena(*call, "--name", "parts", "--quiet", "--max-time", 0.000001, status=3)
    arena("resume", "parts", "--quiet")
    assert _plan(arena, "parts") == _plan(arena, "whole")
    shown = [_rows(arena, "show", name)[0] for name in ("whole", "parts")]
    assert shown[0]["places"] == shown[1]["places"]
    assert shown[0]["bracket"] == shown[1]["bracket"]


def test_the_leaderboard_seeds(arena: CommandLine) -> None:
    known = ("random", "minimax:depth=1", "minimax:depth=3")
    arena("tournament", *known, *FAST, "--rounds", 4, "--srand", 1, "--quiet")
    order = [row["name"] for row in _rows(arena, "leaderboard")]
    call = ("tournament", "mcts:playouts=5", *known, *FAST, "--type", "knockout", "--seeding", "leaderboard")
    result = arena(*call, "--srand", 1, "--name", "cup", "--quiet")
    assert "not rated in 5/move in-process, so seeded last: mcts:playouts=5" in result.stderr
    (shown,) = _rows(arena, "show", "cup")
    assert [bot["label"] for bot in shown["bots"]] == [*order, "mcts:playouts=5"]
    first = shown["bracket"][0]
    assert (first["first"], first["second"]) == (order[0], "mcts:playouts=5")
    # The seeding is stored: a later leaderboard does not change it.
    assert arena("resume", "cup").stderr.startswith("cup is finished")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"pairs": 2}, "--pairs is for --type swiss and knockout; give --rounds"),
        ({"seeding": "leaderboard"}, "--seeding is for"),
        ({"type": "swiss", "double": True}, "--double is for --type knockout"),
        ({"type": "swiss", "tie_pairs": 3}, "--tie-pairs is for"),
        ({"type": "swiss", "third_place": True}, "--third-place is for"),
        ({"type": "knockout", "rounds": 3}, "--rounds is not for a knockout"),
        ({"type": "knockout", "games": 1}, "--games is not for --type knockout"),
        ({"type": "swiss", "no_swap": True}, "--no-swap is not for"),
        ({"type": "swiss", "reverse": True}, "--reverse is not for"),
        ({"type": "swiss", "pairs": 0}, "--pairs 0 is too small"),
        ({"type": "knockout", "double": True, "third_place": True}, "--third-place is not for --double"),
    ],
)
def test_options_of_other_types_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        TournamentConfig(**options).check()
    TournamentConfig(type="swiss", pairs=3, seeding="leaderboard", rounds=7).check()
    TournamentConfig(type="knockout", pairs=3, tie_pairs=0, double=True).check()
