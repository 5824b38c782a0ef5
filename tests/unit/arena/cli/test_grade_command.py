"""`arena grade` and `arena show --grade`: grades of judges are stored beside the matches, and printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from command_line import CommandLine

# After X in the middle, O's edge move loses; X gives the win away at ply 5.
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
            store.matches.save([cup.match(number, actions=actions, **changes)])


def test_the_grade_of_a_match_is_stored_with_it(arena: CommandLine) -> None:
    add_matches(arena, "tic-tac-toe", 9, ACTIONS)
    assert "accuracy" in arena("show", "1", "--grade").stdout
    arena("show", "1", "--grade")
    with Store.open(arena.db) as store:
        (analysis,) = store.analyses.of([1])[1]
        assert store.integrity.check() == []
    assert analysis.name == "solver"
    assert [ply.loss for ply in analysis.plies] == [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    first = analysis.plies[0]
    assert (first.value, first.loss, len(first.scores)) == (0.0, 0.0, 9)
    assert 4 in first.best


def test_what_an_opening_loses_is_no_mistake_of_a_bot(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store, name="cup", game="tic-tac-toe", num_actions=9)
        changes: dict[str, Any] = {"times_ms": (5,) * 6, "values": (None,) * 6}
        store.matches.save(
            [cup.match(1 + num, actions=ACTIONS, num_opening=num, **changes) for num in range(7)]
        )
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
        assert set(store.analyses.of([1, 2, 3])) == {1, 2}
    assert "judged 0 matches" in arena("show", "cup", "--grade").stderr


def test_what_nobody_can_grade(arena: CommandLine) -> None:
    add_matches(arena, "gomoku", 225, (112, 0))
    # The requested judge does not exist for this game: a usage error that names the alternative.
    for address in ("1", "cup"):
        refused = arena("show", address, "--grade", status=2).stderr
        assert "no exact solver for gomoku 15x15; name a bot that judges, as in --by minimax" in refused
        assert "alphazero" in refused
        assert "mcts" in refused
    assert "no match 7" in arena("show", "7", "--grade", status=2).stderr
    assert 'no tournament "cap"; did you mean "cup"?' in arena("show", "cap", "--grade", status=2).stderr


@pytest.fixture
def judging(arena: CommandLine) -> CommandLine:
    """Return a command line whose store has a match."""
    add_matches(arena, "tic-tac-toe", 9, ACTIONS)
    return arena


def test_a_graded_match_names_its_mistakes(judging: CommandLine) -> None:
    assert judging.lines("grade", "cup/1") == [
        "cup/1 judged by solver: 6 plies",
        "ply 2: O b3 ? gives a draw away; best a3, c3, a1, ...: draws; line a3 b3 b1 a2 c2 c3 a1 c1",
        "ply 5: X c2 ? gives a win away; best a2, a1: wins in 3 plies; line a2 c3 c2",
        "ply 6: O c3 ? gives a draw away; best a2: draws; line a2 c3 a1 b1",
        "a: accuracy 50.0% (1 of 2 moves give nothing away)",
        "  first blunder: ply 5, c2 gives a win away; best: a2, a1",
        "b: accuracy 33.3% (1 of 3 moves give nothing away)",
        "  first blunder: ply 2, b3 gives a draw away; best: a3, c3, a1, c1",
    ]
    table = judging("show", "cup/1").stdout
    assert "? gives a win away" in table
    assert "Grade" in table


def test_a_replay_tells_what_the_dashboard_shows(judging: CommandLine) -> None:
    assert "best" not in judging("replay", "cup/1", "--plain").stdout
    judging("grade", "cup/1")
    lines = judging.lines("replay", "cup/1", "--plain")
    at = lines.index("ply 5: X c2, 5 ms; ? gives a win away")
    assert lines[at - 3 : at - 1] == [
        "best a2, a1: wins in 3 plies; line a2 c3 c2",
        "scores: c3 =, a2 +3, c2 =, a1 +3, b1 =",
    ]


def test_the_objects_of_a_grading(judging: CommandLine) -> None:
    *plies, whole = judging.objects("grade", "cup/1", "--read-only")
    assert [(ply["type"], ply["ply"], ply["done"], ply["total"]) for ply in plies] == [
        ("ply", 5 - num, 1 + num, 6) for num in range(6)
    ]
    assert plies[0]["scores"] == [[2, -1, 2], [3, 0, 4], [6, -1, 2], [7, -1, 2]]
    assert (whole["type"], whole["judge"], whole["complete"], whole["mistakes"]) == (
        "grade",
        "solver",
        True,
        3,
    )
    shown = cast("dict[str, Any]", whole["analysis"])
    assert [ply["loss"] for ply in shown["plies"]] == [0, 1, 0, 0, 1, 1]
    with Store.open(judging.db) as store:
        assert store.analyses.of([1]) == {}, "nothing is stored"
    judging("grade", "cup/1")
    assert [found["type"] for found in judging.objects("grade", "cup/1")] == ["grade"], (
        "nothing is left to do"
    )
    (stored,) = judging.objects("show", "cup/1")
    assert stored["analysis"] == shown


def test_a_bot_judges_in_its_sandbox(judging: CommandLine) -> None:
    judging("grade", "cup", "--by", "minimax:depth=9")
    with Store.open(judging.db) as store:
        (analysis,) = store.analyses.of([1])[1]
    assert (analysis.name, analysis.is_complete) == ("minimax:depth=9", True)
    assert [bool(ply.loss and ply.loss >= 0.5) for ply in analysis.plies] == [
        False,
        True,
        False,
        False,
        True,
        True,
    ]
    judging("grade", "cup/1")
    (shown,) = judging.objects("show", "cup/1")
    assert cast("dict[str, Any]", shown["analysis"])["judge"] == "solver", "the exact judge comes first"
    # Of two judges of one match, each is used on its own.
    assert judging.objects("matches", "--graded", "minimax*", "--mistakes", 3)
    assert not judging.objects("matches", "--graded", "minimax*", "--mistakes", ">3")


def test_what_cannot_be_judged_is_named(judging: CommandLine) -> None:
    for address, says in {
        "cup/9": "cup/9",
        "cap": 'no tournament "cap"; did you mean "cup"?',
        "7": "no match 7",
    }.items():
        assert says in judging("grade", address, status=2).stderr
    assert 'did you mean "minimax"' in judging("grade", "cup/1", "--by", "minmax", status=2).stderr
    silent = judging(
        "grade", "cup/1", "--by", "random", "--isolation", "none", "--require-tier", "T0", status=1
    )
    assert "random cannot judge: it reports no values; name a bot that does" in silent.stderr
    with Store.open(judging.db) as store:
        assert store.analyses.of([1]) == {}
