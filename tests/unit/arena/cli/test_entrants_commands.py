"""`arena entrants`: bots are added, withdrawn and disqualified from any shell.

`arena ladder`: run, join, leave, status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from command_line import FAST

if TYPE_CHECKING:
    from command_line import CommandLine

WHY = ("--reason", "the committee said so")


def _rows(arena: CommandLine, *call: object) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", arena.objects(*call))


def _games(arena: CommandLine) -> dict[str, int]:
    return {row["name"]: row["games"] for row in _rows(arena, "leaderboard", "--tournament", "cup")}


def test_an_event_goes_on_with_other_bots(arena: CommandLine) -> None:
    arena("tournament", "random", "minimax:depth=1", "minimax:depth=2", *FAST, "--name", "cup", "--quiet")
    added = arena("entrants", "add", "cup", "mcts:playouts=5", *WHY)
    assert added.stdout == "mcts:playouts=5 joined cup; arena resume cup lets it play\n"
    left = arena("entrants", "withdraw", "cup", "minimax:depth=1", *WHY)
    assert left.stdout == (
        "minimax:depth=1 left cup; what it played counts, what was planned for it is dropped\n"
        "arena resume cup plays on with the others\n"
    )
    out = arena("entrants", "disqualify", "cup", "random", *WHY).stdout
    assert out.startswith("random is disqualified from cup; its ")
    assert "matches are void\n" in out
    arena("resume", "cup", "--quiet")
    (shown,) = _rows(arena, "show", "cup")
    assert [change["kind"] for change in shown["changes"]][:3] == ["join", "leave", "disqualify"]
    counted = {"mcts:playouts=5": 20, "minimax:depth=1": 20, "minimax:depth=2": 40, "random": 0}
    assert _games(arena) == counted
    arena("unvoid", "--tournament", "cup", "--bot", "random", *WHY)
    assert _games(arena)["random"] == 40
    assert "is in order" in arena("db", "check").stdout


@pytest.mark.parametrize("command", ["add", "withdraw", "disqualify"])
def test_a_change_needs_a_reason_and_an_event(arena: CommandLine, command: str) -> None:
    arena("tournament", "random", "minimax:depth=1", *FAST, "--name", "cup", "--quiet")
    assert "--reason" in arena("entrants", command, "cup", "random", status=2).stderr
    assert "arena: no tournament" in arena("entrants", command, "spring", "random", *WHY, status=2).stderr
    if command == "disqualify":
        assert (
            "--reason is empty"
            in arena("entrants", command, "cup", "random", "--reason", " ", status=2).stderr
        )


PAIR = ("random", "minimax:depth=1")


def test_a_ladder_from_its_first_match_to_a_newcomer(arena: CommandLine) -> None:
    new = ("ladder", "run", "main", *PAIR, *FAST, "--until", "error=300", "--anchor", "random=1000")
    lines = arena.lines(*new, "--srand", 1, "--rating-interval", 0)
    assert lines[0].startswith("Started game 1 (")
    assert not any(" of " in line for line in lines if line.startswith("Started"))
    finished = arena("ladder", "run", "main", "--quiet")
    assert "main is finished; arena ladder join main BOT opens it again" in finished.stderr
    joined = arena.lines("ladder", "join", "main", "minimax:depth=2", "--reason", "a deeper one")
    assert joined == [
        "minimax:depth=2 joined main; main is not being run; arena ladder run main lets it play"
    ]
    again = arena.lines("ladder", "run", "main")
    assert any("minimax:depth=2" in line for line in again if line.startswith("Started"))
    left = arena.lines("ladder", "leave", "main", "minimax:depth=1")
    assert left == [
        "minimax:depth=1 left main; what it played counts, what was planned for it is dropped",
        "main is not being run",
    ]
    status = arena.lines("ladder", "status", "main")
    assert status[0].startswith("main is finished: ")
    assert status[0].endswith(", goal 300 Elo")
    assert status[1] == "2 play: random, minimax:depth=2; new: minimax:depth=2; left: minimax:depth=1"
    rows = arena.objects("ladder", "status", "main")
    assert {row["name"] for row in rows} == {*PAIR, "minimax:depth=2"}
    assert next(row["elo"] for row in rows if row["name"] == "random") == 1000
    assert "relative to random = 1000" in "\n".join(arena.lines("ladder", "status", "main"))
    assert arena.lines("db", "check")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run main", 'no tournament "main"'),
        ("run spring", "spring is a round-robin, not a ladder"),
        ("run spring random minimax", "there is a tournament spring already"),
        (
            "run main --until error=15",
            "--until is for a new ladder; name its bots: arena ladder run main BOT BOT",
        ),
        ("run main --anchor random=1000", "--anchor is for a new ladder"),
        ("run main random --until 15", "is not valid; write error=E"),
        ("run main random --anchor random", "write BOT=ELO, such as random=1000"),
        ("run main random --anchor minimax=3", "--anchor minimax names 0 of the bots; name one of: random"),
        ("join spring random", "spring is a round-robin, not a ladder"),
        ("leave spring random", "spring is a round-robin, not a ladder"),
        ("status spring", "spring is a round-robin, not a ladder"),
    ],
)
def test_what_cannot_be_is_refused(played: CommandLine, command: str, message: str) -> None:
    assert message in played("ladder", *command.split(), status=2).stderr


def test_a_bot_that_fails_does_not_join(arena: CommandLine) -> None:
    arena("ladder", "run", "main", *PAIR, *FAST, "--until", "error=500", "--srand", 1, "--quiet")
    result = arena("ladder", "join", "main", "minimax:depth=banana", status=2)
    assert "depth" in result.stderr
    assert arena.lines("ladder", "status", "main")[1].startswith("2 play: ")
