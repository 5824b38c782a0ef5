"""`arena show --grade`: what the exact solver says is stored beside the matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from command_line import CommandLine

# After X in the middle O's edge loses; X lets the win go at ply 5.
ACTIONS = (4, 1, 0, 8, 5, 2)


def add_matches(arena: CommandLine, game: str, num_actions: int, *matches: tuple[int, ...]) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store, name="cup", game=game, num_actions=num_actions)
        for number, actions in enumerate(matches, start=1):
            length = len(actions)
            changes: dict[str, Any] = {
                "times_ms": (5,) * length,
                "values": (None,) * length,
                "num_opening": 1,
            }
            store.save([cup.match(number, actions=actions, **changes)])


def test_the_grade_of_a_match_is_stored_with_it(arena: CommandLine) -> None:
    add_matches(arena, "tic-tac-toe", 9, ACTIONS)
    assert "accuracy" in arena("show", "1", "--grade").stdout
    arena("show", "1", "--grade")
    with Store.open(arena.db) as store:
        (analysis,) = store.analyses([1])[1]
        assert store.check() == []
    assert analysis.name == "solver"
    assert [ply.loss for ply in analysis.plies] == [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    first = analysis.plies[0]
    assert (first.value, first.loss, len(first.scores)) == (0.0, 0.0, 9)
    assert 4 in first.best


def test_what_an_opening_loses_is_no_mistake_of_a_bot(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store, name="cup", game="tic-tac-toe", num_actions=9)
        changes: dict[str, Any] = {"times_ms": (5,) * 6, "values": (None,) * 6}
        store.save([cup.match(1 + num, actions=ACTIONS, num_opening=num, **changes) for num in range(7)])
    arena("show", "cup", "--grade")
    for num, mistakes in enumerate((3, 3, 2, 2, 2, 1, 0)):
        (found,) = arena.objects("show", 1 + num)
        sides = [cast("dict[str, dict[str, int]]", found["analysis"])[side] for side in ("first", "second")]
        assert sum(side["judged"] - side["optimal"] for side in sides) == mistakes
        fitting = arena.objects("matches", "--mistakes", mistakes)
        assert 1 + num in {match["id"] for match in fitting}
    assert len(arena.objects("matches", "--mistakes", ">=0")) == 7
    assert len(arena.objects("matches", "--mistakes", ">2")) == 2


def test_a_tournament_is_graded_once(arena: CommandLine) -> None:
    add_matches(arena, "tic-tac-toe", 9, ACTIONS, (4, 0), (0, 0))
    result = arena("show", "cup", "--grade")
    assert "match cup/3 contradicts the rules and is not judged" in result.stderr
    assert "judged 2 matches" in result.stderr
    with Store.open(arena.db) as store:
        assert set(store.analyses([1, 2, 3])) == {1, 2}
    assert "judged 0 matches" in arena("show", "cup", "--grade").stderr


def test_what_nobody_can_grade(arena: CommandLine) -> None:
    add_matches(arena, "gomoku", 225, (112, 0))
    # What was asked for does not exist for this game: a wrong usage, and the way out is named.
    for address in ("1", "cup"):
        refused = arena("show", address, "--grade", status=2).stderr
        assert "no exact solver for gomoku 15x15; name a bot that judges, as in --by minimax" in refused
        assert "alphazero" in refused
        assert "mcts" in refused
    assert "no match 7" in arena("show", "7", "--grade", status=2).stderr
    assert 'no tournament "cap"; did you mean "cup"?' in arena("show", "cap", "--grade", status=2).stderr
