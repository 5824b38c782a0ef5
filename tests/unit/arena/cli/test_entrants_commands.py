"""`arena entrants`: bots are added, withdrawn and disqualified from any shell."""

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
