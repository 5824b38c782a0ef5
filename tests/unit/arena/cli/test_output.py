"""Tables, JSON, NDJSON and CSV have the same content, and none can control a terminal or a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import math
import tomllib

import pytest

from arena.cli.output import emit, emit_one, fit_columns, format_cell, print_table, say, say_whole
from arena.watching.json_rows import utc

NAMES = {"name": "Name", "elo": "Elo"}


def test_table_aligns_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([{"name": "a", "elo": 7}, {"name": "bcd", "elo": None}], NAMES)
    assert capsys.readouterr().out == "Name  Elo\n---------\na       7\nbcd     -\n"


def test_a_table_without_rows_has_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([], NAMES)
    assert capsys.readouterr().out.splitlines()[0].rstrip() == "Name  Elo"


def test_no_cell_is_left_out_however_narrow_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    print_table([{"name": "x" * 60, "elo": "y" * 60}], NAMES)
    assert "x" * 60 + "  " + "y" * 60 in capsys.readouterr().out


@pytest.mark.parametrize(
    ("width", "kept"),
    [(80, "name elo tc los"), (25, "name elo tc los"), (24, "name elo los"), (3, "name elo")],
)
def test_a_narrow_terminal_goes_without_what_is_spare(width: int, kept: str) -> None:
    row = {"name": "minimax", "elo": "1500", "tc": "5/m", "los": "99.1%"}
    columns = {"name": "Name", "elo": "Elo", "tc": "TC", "los": "LOS"}
    assert list(fit_columns([row], columns, ("tc", "los"), width)) == kept.split()


def test_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J[bold]a[/bold]\u202eb\nc"
    print_table([{"name": evil, "elo": 1}], NAMES)
    say(evil)
    table, line = capsys.readouterr().out.split("\n", 3)[2:]
    assert table.startswith("[2J[bold]a[/bold]b c ")
    assert line == "[2J[bold]a[/bold]b c\n"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (True, "yes"), (False, "no"), (3, "3"), (0.5, "0.5"), ("a\tb", "a b")]
)
def test_cells(value: object, text: str) -> None:
    assert format_cell(value) == text


def test_json_has_null_for_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"a": math.nan, "b": [math.inf, 1.5], "c": {"d": -math.inf}, "e": (2,)}
    expected = {"type": "x", "schema": "arena/1", "a": None, "b": [None, 1.5], "c": {"d": None}, "e": [2]}
    emit("x", [row, row], "json", {})
    assert json.loads(capsys.readouterr().out) == [expected, expected]
    emit("x", [row, row], "ndjson", {})
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [expected, expected]
    emit_one("x", row, "json")
    assert json.loads(capsys.readouterr().out) == expected
    emit_one("x", row, "ndjson")
    assert json.loads(capsys.readouterr().out) == expected


def test_json_of_nothing_is_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    emit("x", [], "json", {})
    assert json.loads(capsys.readouterr().out) == []


def test_csv_of_nothing_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    emit("x", [], "csv", {}, ("a", "b"))
    assert capsys.readouterr().out == "type,schema,a,b\n"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_csv_runs_no_formula(capsys: pytest.CaptureFixture[str], start: str) -> None:
    emit("x", [{"name": f"{start}1+1", "elo": -3.5, "yes": True, "none": None, "list": [1]}], "csv", {})
    header, row = csv.reader(io.StringIO(capsys.readouterr().out, newline=""))
    assert header == ["type", "schema", "name", "elo", "yes", "none", "list"]
    shown = start if start.isprintable() else " "
    assert row == ["x", "arena/1", f"'{shown}1+1", "-3.5", "true", "", "[1]"]


def test_csv_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    emit(
        "x", [{"name": "\u200b=1+1", "evil\x1b": "a\x1b[2J\x9b1m\u202eb\r\nc\0", "list": ["\x9b"]}], "csv", {}
    )
    header, row, end = capsys.readouterr().out.split("\n")
    assert header == "type,schema,name,evil,list"
    assert row == 'x,arena/1,\'=1+1,a[2J1mb  c,"[""\\u009b""]"'
    assert end == ""


def test_a_whole_text_is_read_again_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'event = "a\x9b\u202e\u2028\U000e0041é\u212b"\nsite = "b"\n'
    say_whole(text)
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert tomllib.loads(shown) == tomllib.loads(text)


def test_times_are_utc() -> None:
    assert utc(0.25) == "1970-01-01T00:00:00.250Z"
    assert utc(1_750_000_000, "seconds") == "2025-06-15T15:06:40Z"
