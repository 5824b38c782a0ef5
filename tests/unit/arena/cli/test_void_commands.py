"""`arena void` and `unvoid`, and how other commands show void matches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from arena.results.corrections import author
from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from pathlib import Path

WHY = "an engine helped"


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """Return a command line whose store has a tournament of three bots, two pairs per encounter."""
    arena = CommandLine(tmp_path_factory.mktemp("void"))
    bots = ("random", "minimax:depth=1", "mcts:playouts=20")
    arena("tournament", *bots, *FAST, "--rounds", 2, "--name", "cup", "--srand", 3)
    return arena


def tables(arena: CommandLine) -> list[object]:
    """Return the output of everything that counts matches."""
    (shown,) = arena.objects("show", "cup")
    return [
        {key: value for key, value in shown.items() if key != "changes"},
        arena.objects("leaderboard"),
        arena.objects("leaderboard", "--tournament", "cup"),
        arena.objects("leaderboard", "--since", "2020-01-01"),
        arena.objects("crosstable", "cup"),
    ]


def test_void_matches_are_out_of_all_tables_and_come_back(arena: CommandLine, tmp_path: Path) -> None:
    before = tables(arena)
    said = arena("void", "cup/2", "cup/5", "--reason", WHY).stdout
    assert said == "2 matches of cup are void: no table counts them; arena unvoid undoes this\n"
    stored = {row["number"]: row for row in arena.objects("matches", "--unrated")}
    assert len(stored) == 12
    assert {number for number, row in stored.items() if row["void_reason"] == WHY} == {2, 5}
    assert f"void ({WHY}): {stored[2]['reason']}" in arena("matches").stdout
    assert f"void ({WHY}): " in arena("show", "cup/5").stdout
    assert f", by {author()}; no table counts it" in arena("show", "cup/5").stdout
    assert f"{stored[5]['result']} void ({WHY})" in arena("replay", "cup/5", "--plain").stdout
    assert "void" not in arena("show", "cup/4").stdout
    for field in ((), ("--since", "2020-01-01")):
        assert sum(int(str(row["games"])) for row in arena.objects("leaderboard", *field)) == 2 * 10
    for more, num in ((), 10), (("--include-void",), 12):
        out = tmp_path / f"{num}.pgn"
        arena("export", out, "--format", "pgn", "--unrated", "--include-forfeits", "--quiet", *more)
        assert out.read_text().count("[Round ") == num
    assert f'[Reason "void ({WHY}): ' in (tmp_path / "12.pgn").read_text()
    assert "is void already" not in said
    again = arena("void", "cup/2", "cup/3", "--reason", "r")
    assert again.stdout.startswith("1 match of cup is void: ")
    assert again.stderr == "1 of the chosen matches were void before\n"
    arena("unvoid", "cup/2", "cup/3", "cup/5", "--reason", "proven wrong")
    assert tables(arena) == before
    shown = arena("show", "cup").stdout
    assert f"{author()}: void matches 2, 5 ({WHY})" in shown
    assert f"{author()}: unvoid matches 2, 3, 5 (proven wrong)" in shown
    (whole,) = arena.objects("show", "cup")
    assert re.findall(r"'kind': '(\w+)'", str(whole["changes"])) == ["void", "void", "unvoid"]
    assert arena.lines("db", "check")[0].endswith("is in order")


def test_all_matches_of_a_bot(arena: CommandLine) -> None:
    before = tables(arena)
    choice = ("--tournament", "cup", "--bot", "random")
    assert arena("void", *choice, "--reason", WHY).stdout.startswith("8 matches of random in cup are void: ")
    rows = arena.objects("leaderboard")
    assert {row["name"]: row["games"] for row in rows} == {"minimax:depth=1": 4, "mcts:playouts=20": 4}
    again = arena("void", *choice, "--reason", WHY)
    assert (again.stdout, again.stderr) == ("", "8 of the chosen matches were void before\n")
    assert arena("unvoid", *choice, "--reason", "r").stdout == "8 matches of random in cup count again\n"
    assert tables(arena) == before


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("void", "Missing option '--reason'"),
        ("void --reason r", "no match is named"),
        ("void --reason r --tournament cup", "no match is named"),
        ("void --reason r --bot random", "no match is named"),
        ("void cup/1 --reason r --bot random", "not both"),
        ("void cup/1 --reason=", "--reason is empty"),
        ("void cup --reason r", "cup is a tournament, not a match"),
        ("void cup/99 --reason r", "no match 99 in cup"),
        ("unvoid cup/1 cup/99 --reason r", "no match 99 in cup"),
        ("void --tournament cap --bot random --reason r", 'no tournament "cap"; did you mean "cup"?'),
        ("void --tournament cup --bot randm --reason r", 'no bot "randm" in cup; did you mean "random"?'),
    ],
)
def test_a_wrong_choice_is_refused(arena: CommandLine, words: str, cause: str) -> None:
    assert cause in " ".join(re.sub(r"[│─╭╮╰╯]", "", arena(*words.split(), status=2).stderr).split())


def test_the_former_name_of_the_list_of_matches(arena: CommandLine) -> None:
    former = arena("games", "--limit", 2, "--format", "csv")
    assert former.stdout == arena("matches", "--limit", 2, "--format", "csv").stdout
    assert "arena games is called arena matches now" in former.stderr
