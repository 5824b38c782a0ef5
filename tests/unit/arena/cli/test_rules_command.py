"""`arena rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.entries import Listing, Problem, list_plugins

if TYPE_CHECKING:
    import pytest

    from command_line import CommandLine


def test_games_are_listed_with_their_options(arena: CommandLine) -> None:
    games = {row["name"]: row for row in arena.objects("rules")}
    gomoku = games["gomoku"]
    told = (gomoku["board"], gomoku["num_actions"], gomoku["max_length"], gomoku["status"])
    assert told == ("15x15", 225, 225, "ok")
    assert "size=15" in str(gomoku["params"])
    assert games["tic-tac-toe"]["params"] is None
    assert {"connect-four", "gomoku", "tic-tac-toe"} <= games.keys()
    assert "connect-four" in arena("rules").stdout


def test_a_game_that_cannot_be_played_says_why(arena: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = list_plugins("arena.games").entries["gomoku"]._replace(name="chess", value="no_such_module")
    refused = broken._replace(name="Bad Name")

    def listed(_group: str, _path: object = None) -> Listing:
        return Listing({"chess": broken}, (Problem(refused, "its name has a blank"),))

    monkeypatch.setattr("arena_plugins.entries.list_plugins", listed)
    chess, bad = arena.objects("rules")
    assert (chess["name"], chess["board"]) == ("chess", None)
    assert "no_such_module" in str(chess["status"])
    assert bad["status"] == "its name has a blank"
