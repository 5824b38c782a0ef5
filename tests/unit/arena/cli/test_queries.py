"""Queries about stored matches, in every format."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from arena_db.store import Store
from stores import add_cup, tamper

if TYPE_CHECKING:
    from command_line import CommandLine

QUERIES = {
    "games": ("games",),
    "leaderboard": ("leaderboard",),
    "crosstable": ("crosstable", "spring"),
    "places": ("crosstable", "spring", "--tie-breaks"),
    "show match": ("show", "1"),
    "show tournament": ("show", "spring"),
    "bots info": ("bots", "info", "minimax:depth=2,nodes=50"),
}


@pytest.mark.parametrize("call", QUERIES.values(), ids=QUERIES)
def test_formats_agree(played: CommandLine, call: tuple[str, ...]) -> None:
    objects = played.objects(*call)
    assert all(found["schema"] == "arena/1" and found["type"] for found in objects)
    parsed = json.loads(played(*call, "--format", "json").stdout)
    assert objects == (parsed if isinstance(parsed, list) else [parsed])
    text = played(*call, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(rows[0]) == list(objects[0])
    assert len(rows) == len(objects)
    assert played(*call).stdout.strip()


def test_games_page_from_the_newest(played: CommandLine) -> None:
    result = played("matches", "--limit", 10)
    assert result.stderr == "More: the same with --before spring/7\n"
    ids = [found["id"] for found in played.objects("matches", "--limit", 10)]
    assert ids == list(range(16, 6, -1))
    assert [found["id"] for found in played.objects("matches", "--before", 3)] == [2, 1]


def test_data_has_all_matches_and_a_table_a_page(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store, num=1234)
        store.matches.save([cup.match(number) for number in range(1, 1235)])
    expected = list(range(1234, 0, -1))
    assert [found["id"] for found in arena.objects("matches")] == expected
    assert [found["id"] for found in json.loads(arena("matches", "--format", "json").stdout)] == expected
    rows = list(csv.DictReader(io.StringIO(arena("matches", "--format", "csv").stdout, newline="")))
    assert [int(row["id"]) for row in rows] == expected
    assert len(arena.lines("matches")) == 52
    assert arena("matches").stderr == "More: the same with --before rr-1/1185\n"
    assert [found["id"] for found in arena.objects("matches", "--limit", 700)] == expected[:700]
    assert (
        arena("matches", "--limit", 700, "--format", "csv").stderr
        == "More: the same with --before rr-1/535\n"
    )
    assert arena("matches", "--limit", 1234).stderr == ""


def test_games_know_people_by_name(played: CommandLine) -> None:
    (found,) = played.objects("matches", "--before", 2)
    assert (found["tournament"], found["first"], found["second"]) == ("spring", "random", "minimax:depth=1")
    assert len(str(found["first_identity"])) == 64
    assert found["result"] in {"1-0", "0-1", "1/2-1/2"}
    (shown,) = played.objects("show", 1)
    assert len(cast("list[object]", shown.pop("remarks"))) == found["plies"]
    del shown["analysis"]
    assert shown == found


@pytest.mark.parametrize(
    ("options", "number"),
    [
        (("--bot", "random"), 12),
        (("--bot", "random", "--vs", "minimax:depth=1"), 8),
        (("--bot", "minimax"), 16),
        (("--tournament", "duel"), 4),
        (("--game", "tic-tac-toe"), 16),
        (("--game", "connect-four"), 0),
        (("--tc", "2/move in-process"), 4),
        (("--pool", "2/move *"), 4),
        (("--tc", "2/move"), 4),
        (("--st", "2.0"), 4),
        (("--tc", "2/move hosted"), 0),
        (("--nodes", "2"), 0),
        (("--where", "bot:random ply>=5", "--vs", "minimax:depth=1"), 8),
        (("--duration", "<1h"), 16),
        (("--duration", ">1h"), 0),
        (("--opening", "none"), 0),
        (("--opening", "*"), 16),
        (("--graded", "no"), 16),
        (("--mistakes", ">=0"), 0),
        (("--termination", "rules"), 16),
        (("--min-tier", "T1"), 0),
        (("--min-tier", "T0"), 16),
        (("--bot", "mini*", "--vs", "r?ndom"), 12),
        (("--tournament", "*u*"), 4),
        (("--game", "*-toe"), 16),
        (("--termination", "r*"), 16),
        (("--result", "1-0", "--result", "void"), 0),
        (("--ply", ">=5", "--ply", "<=9"), 16),
        (("--ply", "4"), 0),
        (("--since", "2020-01-01"), 16),
        (("--since", "2020-01-01T00:00+02:00", "--until", "2020-01-02"), 0),
    ],
)
def test_filters(played: CommandLine, options: tuple[str, ...], number: int) -> None:
    assert len(played.objects("matches", *options)) == number


def test_nothing_that_fits_is_no_error(played: CommandLine) -> None:
    result = played("matches", "--until", "2001-01-01")
    assert result.stderr == "no stored match fits (--unrated shows unrated and void ones, too)\n"
    assert json.loads(played("matches", "--until", "2001-01-01", "--format", "json").stdout) == []
    header = played("matches", "--until", "2001-01-01", "--format", "csv").stdout
    assert header.strip() == played("matches", "--format", "csv").stdout.splitlines()[0]


def test_unrated_matches_are_shown_on_demand(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1), cup.void(2)])
    assert [found["id"] for found in arena.objects("matches")] == [1]
    assert [found["id"] for found in arena.objects("matches", "--unrated")] == [2, 1]
    assert "unrated" not in arena("show", 1).stdout
    assert "unrated" in arena("show", 2).stdout


def test_show_draws_the_last_board_and_lists_moves(played: CommandLine) -> None:
    lines = played.lines("show", 1)
    assert lines[0].startswith("spring/1 tic-tac-toe  random (X) vs minimax:depth=1 (O)  ")
    assert lines[2].startswith("number 1 of the store, ")
    assert lines[8].split() == ["a", "b", "c"]
    assert lines[9].split() == ["Ply", "Move", "ms", "Value", "Depth", "Nodes", "Line"]
    assert sum(line.count("[") for line in lines[5:8]) == 1


def test_show_gives_the_evidence_of_a_fault(arena: CommandLine) -> None:
    evidence = '{"elapsed_ms": 5101, "stderr": "oh\\u001b[2J\\nno"}'
    with Store.open(arena.db) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1, termination="time_move", fault=evidence)])
    lines = arena.lines("show", 1)
    assert lines[-5:-2] == ["Evidence of the fault:", "  elapsed_ms: 5101", "  stderr:"]
    assert lines[-2:] == ["    oh[2J", "    no"]
    assert arena.objects("show", 1)[0]["fault"] == {"elapsed_ms": 5101, "stderr": "oh\x1b[2J\nno"}
    assert "Time" in arena("leaderboard").stdout


def test_a_match_without_moves_can_be_shown(arena: CommandLine) -> None:
    nothing = {"actions": (), "num_opening": 0, "times_ms": (), "values": ()}
    with Store.open(arena.db) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1, termination="init_crash", **nothing)])
    assert "0 plies" in arena("show", 1).stdout
    assert arena("replay", 1).stdout.strip().endswith("1-0 X wins by four in a row")


def test_a_match_that_breaks_the_rules_is_named(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1, actions=(3,) * 8, times_ms=(0,) * 8, values=(None,) * 8)])
    for call in ("show", "replay"):
        line = arena(call, 1, status=1).stderr
        assert line.startswith("arena: match rr-1/1 cannot be replayed: ")
        assert "at ply 7" in line


def test_replay_prints_every_position(played: CommandLine) -> None:
    (match,) = played.objects("show", 1)
    plies = [line for line in played.lines("replay", 1, "--plain") if line.startswith("ply ")]
    assert len(plies) == match["plies"]
    assert plies[0].endswith("opening")
    assert any(", expects " in ply for ply in plies)
    assert plies[-1].split()[3].rstrip(",")


def test_verify_agrees(played: CommandLine) -> None:
    assert "keeps the rules" in played("verify", 1).stdout


def test_verify_finds_a_forgery(played: CommandLine) -> None:
    tamper(played.db, "UPDATE matches SET outcome = 'void', rated = 0 WHERE id = 1")
    assert "contradicts the rules" in played("verify", 1, status=1).stdout


def test_the_crosstable_is_of_the_last_tournament(played: CommandLine) -> None:
    assert played.lines("crosstable")[0] == "duel  tic-tac-toe  4/4 matches"
    cells = played.objects("crosstable", "spring")
    assert len(cells) == 6
    by_pair = {(cell["bot"], cell["opponent"]): cell for cell in cells}
    for (bot, opponent), cell in by_pair.items():
        back = by_pair[opponent, bot]
        assert (cell["wins"], cell["draws"], cell["losses"]) == (back["losses"], back["draws"], back["wins"])


def test_tie_breaks_agree_with_the_cells(played: CommandLine) -> None:
    cells = cast("list[dict[str, Any]]", played.objects("crosstable", "spring"))
    found = cast("list[dict[str, Any]]", played.objects("crosstable", "spring", "--tie-breaks"))
    rows = {str(row["name"]): row for row in found}
    points = dict.fromkeys(rows, 0.0)
    for cell in cells:
        points[cell["bot"]] += cell["wins"] + cell["draws"] / 2
    assert [row["place"] for row in found] == sorted(row["place"] for row in found)
    assert list(points.values()) == sorted(points.values(), reverse=True)
    for name, row in rows.items():
        own = [cell for cell in cells if cell["bot"] == name]
        assert row["points"] == points[name]
        assert row["buchholz"] == sum(points[cell["opponent"]] for cell in own)
        assert row["wins"] == sum(cell["wins"] for cell in own)
    lines = played.lines("crosstable", "spring", "--tie-breaks")
    assert lines[0].startswith("spring")
    # The crosstable is in the same order as the table by place below it.
    best = next(iter(rows))
    assert [line.split()[1] for line in lines if line.split()[:1] == ["1"] and line.split()[1] in rows] == [
        best,
        best,
    ]
