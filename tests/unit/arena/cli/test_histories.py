"""`arena bots history`: ratings over time and versions, by every form of a bot's name.

Plots: every point is where it belongs, whatever the curves are.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.cli import histories
from arena.cli.histories import Line, draw
from arena.results.bot_history import bot_history
from arena_db.store import Store
from stores import Cup, add_cup, bot, digest, entrants, new_tournament, plan, tamper

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine


def elo_of(arena: CommandLine, *arguments: object) -> dict[str, float]:
    rows = arena.objects("leaderboard", *arguments)
    return {str(row["name"]): float(str(row["elo"])) for row in rows}


def test_all_points_of_a_bot(played: CommandLine) -> None:
    rows = played.objects("bots", "history", "minimax")
    assert {(row["type"], row["schema"]) for row in rows} == {("rating-point", "arena/1")}
    over_time = [row for row in rows if row["over"] == "tournament"]
    deep = [str(row["date"]) for row in over_time if row["bot"] == "minimax:depth=2"]
    assert deep == sorted(set(deep))
    assert len(deep) >= 3
    last = {(row["tournament"], row["bot"]): row for row in over_time}
    assert {key: (row["matches"], row["games"], row["faults"]) for key, row in last.items()} == {
        ("spring", "minimax:depth=1"): (12, 8, 0),
        ("spring", "minimax:depth=2"): (12, 8, 0),
        ("duel", "minimax:depth=1"): (4, 4, 0),
    }
    standings = elo_of(played, "--tournament", "spring")
    for name in ("minimax:depth=1", "minimax:depth=2"):
        assert last["spring", name]["elo"] == pytest.approx(standings[name], abs=1e-9)
    versions = [row for row in rows if row["over"] == "pool"]
    pools = [("5/move in-process", 2), ("2/move in-process", 1)]
    assert [row["pool"] for row in versions] == [pool for pool, num in pools for _ in range(num)]
    boards = {pool: elo_of(played, "--pool", pool) for pool, _ in pools}
    for row in versions:
        assert row["elo"] == boards[str(row["pool"])][str(row["bot"])]
        assert (row["tournament"], row["matches"]) == (None, None)


def test_forms_agree(played: CommandLine) -> None:
    lines = played.objects("bots", "history", "random")
    assert json.loads(played("bots", "history", "random", "--format", "json").stdout) == lines
    table = list(csv.DictReader(io.StringIO(played("bots", "history", "random", "--format", "csv").stdout)))
    assert [row["elo"] for row in table] == [str(row["elo"]) for row in lines]
    assert list(table[0]) == list(lines[0])


def test_a_table_for_people_is_ascii_where_there_is_no_terminal(played: CommandLine) -> None:
    shown = played("bots", "history", "minimax").stdout
    assert shown.isascii()
    lines = shown.splitlines()
    assert lines[0].split() == ["Date", "Tournament", "Bot", "Games", "Elo", "+/-", "Faults"]
    assert [line.split()[1:4] for line in lines[2:5]] == [
        ["spring", "minimax:depth=1", "8"],
        ["spring", "minimax:depth=2", "8"],
        ["duel", "minimax:depth=1", "4"],
    ]
    assert "Over versions: tic-tac-toe, 5/move in-process" in lines
    assert "      * minimax:depth=1" in lines
    assert "      o minimax:depth=2" in lines


@pytest.mark.parametrize(
    "way", ["minimax:depth=2", "minimax:depth=*2", "{digits}", "minimax~{four}", "mi d2"]
)
def test_bots_are_named_as_people_type_them(played: CommandLine, way: str) -> None:
    rows = played.objects("bots", "history", "minimax:depth=2")
    identity = str(rows[0]["identity"])
    wanted = way.format(digits=f"~{identity[:9]}", four=identity[:4])
    if " " in way:
        with Store.open(played.db, read_only=True) as store:
            wanted = label_of(store, "minimax:depth=2")
    assert played.objects("bots", "history", wanted) == rows
    assert {row["bot"] for row in rows} == {"minimax:depth=2"}


def label_of(store: Store, name: str) -> str:
    """Return the label of a bot on the dashboard of the newest tournament."""
    from arena.results.names import naming_of

    record = store.tournaments.last(unfinished=False)
    assert record is not None
    naming = naming_of(store, record)
    identity = next(entry.identity for entry in store.names.entries(name))
    return naming.label_of(identity)


def test_versions_of_one_name_lie_side_by_side(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        for number, version in enumerate(("0.1.0", "0.2.0", "0.3.0")):
            mine = replace(bot("mine", spec="mine"), version=version, identity=digest(f"mine {version}"))
            seats = [replace(entrants("mine")[0], bot=mine), replace(entrants("rival")[0], seat=1)]
            matches = plan(2, 40)
            record = store.tournaments.add(new_tournament(name=f"cup-{number}"), seats, matches)
            cup = Cup(record, seats, matches)
            records = [
                cup.match(
                    place,
                    outcome="first" if (place % 2 == 1) == (place % 7 < 3 + number) else "second",
                    match_hash=digest(f"{number} {place}"),
                    termination="crash" if place == 10 else "rules",
                )
                for place in range(1, 41)
            ]
            store.matches.save(records)
        found = bot_history(store, "mine")
    assert [each.bot.version for each in found.versions] == ["0.1.0", "0.2.0", "0.3.0"]
    assert [each.name for each in found.versions] == [f"mine@{each.bot.version}" for each in found.versions]
    ratings = [each.row.elo for each in found.versions]
    assert ratings == sorted(ratings)
    assert sum(each.faults for each in found.versions) == sum(event.faults for event in found.events) > 0
    assert [event.tournament.name for event in found.events] == ["cup-0", "cup-1", "cup-2"]
    (only,) = {row["bot"] for row in arena.objects("bots", "history", "mine@0.2.0")}
    assert only == "mine"
    lines = arena.lines("bots", "history", "mine")
    assert any(line.split()[1:4] == ["mine@0.3.0", "0.3.0", "40"] for line in lines)
    assert "      * versions" in lines


def test_an_older_store_is_read_match_by_match(played: CommandLine) -> None:
    rows = played.objects("bots", "history", "random")
    tamper(played.db, "DELETE FROM rating_points")
    scanned = played.objects("bots", "history", "random")
    assert len(scanned) >= 5

    def last(points: list[dict[str, object]]) -> dict[object, object]:
        return {row["tournament"]: (row["matches"], round(float(str(row["elo"])), 6)) for row in points}

    assert last(scanned) == last(rows)


def test_who_is_not_there(played: CommandLine, tmp_path: Path) -> None:
    wrong = played("bots", "history", "minimix", status=2).stderr
    assert 'no stored bot "minimix"; did you mean "minimax"' in wrong
    with Store.open(tmp_path / "unrated.db") as store:
        cup = add_cup(store, "a", "b", num=2)
        store.matches.save([cup.match(1, rated=False)])
    unrated = played("bots", "history", "a", "--db", tmp_path / "unrated.db", status=2)
    assert '"a" has no rated match' in unrated.stderr
    assert unrated.stdout == ""


HEIGHT = 12


def rows_of(lines: list[Line], width: int = 60, charset: str = "ascii") -> list[str]:
    return ["".join(text for text, _ in row) for row in draw(lines, "left", "right", width, charset)]


def test_a_curve() -> None:
    rows = rows_of([Line("one", [(0, 1500.0), (1, 1600.0), (2, 1550.0)])], width=27)
    assert [row.rstrip() for row in rows] == [
        "1610 |",
        "     |          *",
        "     |",
        "1580 |",
        "     |",
        "     |",
        "     |                    *",
        "1540 |",
        "     |",
        "     |",
        "     |",
        "1500 |*",
        "     +---------------------",
        "      left            right",
        "      * one",
    ]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 200), st.floats(-3000, 6000)), min_size=1, max_size=30),
        min_size=1,
        max_size=10,
    ),
    st.integers(30, 120),
)
def test_every_place_with_a_point_has_a_mark(curves: list[list[tuple[int, float]]], width: int) -> None:
    lines = [Line(f"bot-{number}", points) for number, points in enumerate(curves)]
    rows = rows_of(lines, width)
    assert len(rows) == HEIGHT + 2 + len(curves)
    margin = rows[0].index("|") + 1
    columns = width - margin
    assert {len(row) for row in rows[:HEIGHT]} == {width}
    assert {row.index("|") for row in rows[:HEIGHT]} == {margin - 1}
    last = max(place for points in curves for place, _ in points)
    marked = {
        (line, column)
        for line, row in enumerate(rows[:HEIGHT])
        for column, text in enumerate(row[margin:])
        if text != " "
    }
    values = [value for points in curves for _, value in points]
    wanted_columns = {
        round(place * (columns - 1) / last) if last else 0 for points in curves for place, _ in points
    }
    assert {column for _, column in marked} == wanted_columns
    # The labels of the axis give the height of a line; each point is within half a line of its value.
    top, bottom = float(rows[0].split("|")[0]), float(rows[HEIGHT - 1].split("|")[0])
    step = (top - bottom) / (HEIGHT - 1)
    assert bottom <= min(values) <= max(values) <= top
    for points in curves:
        for place, value in points:
            column = round(place * (columns - 1) / last) if last else 0
            heights = [top - line * step for line, at in marked if at == column]
            assert any(abs(height - value) <= step / 2 + 1e-6 for height in heights)


def test_the_scale_is_as_fine_as_it_can_be() -> None:
    rows = rows_of([Line("one", [(0, 1500.0), (1, 1511.0)])])
    assert (rows[0].split()[0], rows[11].split()[0]) == ("1511", "1500")
    rows = rows_of([Line("one", [(0, 1500.0), (1, 1512.0)])])
    assert (rows[0].split()[0], rows[11].split()[0]) == ("1522", "1500")


def test_marks_of_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [Line("one", [(0, 1.0)]), Line("two\x1b[2J", [(1, 2.0)])]
    monkeypatch.delenv("ARENA_ASCII", raising=False)
    monkeypatch.setattr(histories.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    histories.print_plot(lines, "a", "b")
    shown = capsys.readouterr().out
    assert "●" in shown
    assert "○" in shown
    assert "\x1b[2J" not in shown
    monkeypatch.setenv("ARENA_ASCII", "1")
    histories.print_plot(lines, "a", "b")
    assert capsys.readouterr().out.isascii()
