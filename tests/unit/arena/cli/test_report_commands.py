"""`arena bots show`, `arena versus` and `arena openings`: the same numbers in every format."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from command_line import FAST, CommandLine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    arena = CommandLine(tmp_path_factory.mktemp("pages"))
    bots = ("minimax:depth=1", "minimax:depth=2", "random")
    arena("tournament", *bots, *FAST, "--rounds", 4, "--srand", 1, "--name", "spring", "--quiet")
    arena("show", "spring/1", "--grade")
    return arena


def _one(arena: CommandLine, *words: str) -> dict[str, Any]:
    """Return the one object that a command prints, which is equal in JSON and NDJSON."""
    found = arena.objects(*words)
    assert len(found) == 1
    assert json.loads(arena(*words, "--format", "json").stdout) == found[0]
    return found[0]


def _rows(arena: CommandLine, *words: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(arena(*words, "--format", "csv").stdout)))


def test_a_head_to_head_prints_the_numbers_of_the_crosstable(played: CommandLine) -> None:
    for cell in played.objects("crosstable", "spring"):
        words = ("versus", str(cell["bot"]), str(cell["opponent"]), "--tournament", "spring")
        found = _one(played, *words)["meetings"][0]
        assert all(found["cell"][key] == cell[key] for key in found["cell"])
        text = played(*words).stdout
        assert f"Elo difference: {cast('float', cell['elo']):z.1f}" in text
        row = _rows(played, *words)[0]
        assert (row["bot"], row["elo"], row["score"]) == (cell["bot"], str(cell["elo"]), str(cell["score"]))


def test_the_page_of_a_bot_as_text_and_as_data(played: CommandLine) -> None:
    page = _one(played, "bots", "show", "minimax:depth=2")
    text = played("bots", "show", "minimax:depth=2").stdout
    assert text.startswith(f"minimax:depth=2  {page['games']} rated matches, {page['losses']} lost\n")
    for heading in (
        *("against each opponent", "worst losses of", "Elo over versions", "mistakes by ply: graded "),
        *("openings ", "tournaments, newest first", "forfeits of all matches"),
    ):
        assert f"\n\n{heading}" in text
    assert {row["cell"]["opponent"] for row in page["opponents"]} == {"minimax:depth=1", "random"}
    assert [row["opponent"] for row in _rows(played, "bots", "show", "minimax:depth=2")] == [
        row["cell"]["opponent"] for row in page["opponents"]
    ]
    assert page["tournaments"][0]["elo"] is not None
    for loss in page["worst"]:
        assert loss["address"] in text


def test_a_name_means_all_versions_each_with_rows_of_its_own(played: CommandLine) -> None:
    page = _one(played, "bots", "show", "minimax")
    assert len(page["versions"]) == 2
    assert len(page["opponents"]) == 4
    assert "  minimax:depth=1  " in played("bots", "show", "minimax").stdout
    graded = page["mistakes"]
    assert (graded["judge"], graded["graded"], graded["games"]) == ("solver", 1, page["games"])


def test_openings_in_every_form(played: CommandLine) -> None:
    rows = played.objects("openings", "b2")
    assert rows == json.loads(played("openings", "b2", "--format", "json").stdout)
    assert (
        sum(cast("int", row["games"]) for row in rows) + cast("int", rows[0]["ended"]) == rows[0]["matches"]
    )
    # After the centre, an edge loses and a corner draws.
    assert {row["move"]: row["perfect"] for row in rows}.items() <= {"a3": 0, "b3": -1}.items()
    table = _rows(played, "openings", "b2")
    assert [row["games"] for row in table] == [str(row["games"]) for row in rows]
    text = played.lines("openings", "b2")
    assert text[0] == f"tic-tac-toe  b2  {rows[0]['matches']} matches"
    assert text[1] == "scores are those of the second player, who moves"
    assert " ".join(text[3].split()) == "move n share score 95 % W-D-L different given best play"
    assert text[4].split()[0] == rows[0]["move"]


def test_conditions_reach_openings_and_head_to_heads(played: CommandLine) -> None:
    all_of = played.objects("openings")
    some = played.objects("openings", "--where", "bot:random")
    assert cast("int", some[0]["matches"]) < cast("int", all_of[0]["matches"])
    assert played.lines("openings", "--bot", "random")[0].endswith("of bot:random")
    assert _rows(played, "openings", "--ply", ">99") == []
    message = played("versus", "minimax", "random", "--since", "2030-01-01", status=2).stderr
    assert "minimax and random have no rated match that fits" in message


def test_what_is_wrong_is_said(played: CommandLine, tmp_path: Path) -> None:
    assert 'no stored bot "minimx"' in played("bots", "show", "minimx", status=2).stderr
    assert 'no stored bot "nobody"' in played("versus", "random", "nobody", status=2).stderr
    assert 'z9 is not a line of tic-tac-toe: at ply 1: "z9"' in played("openings", "z9", status=2).stderr
    assert "no game" in played("openings", "--game", "chequers", status=2).stderr
    assert "cannot be filtered by bot" in played("versus", "a", "b", "--where", "bot:c", status=2).stderr
    empty = CommandLine(tmp_path)
    assert empty("openings", status=2).stderr
