"""The table of worker machines."""

from __future__ import annotations

import sys

import click
import pytest

from arena.cli.cluster import print_machines

NOTE = "no game hex; install the same package there"


def machine(name: str, note: str = "", gpus: str | None = None) -> dict[str, object]:
    return {
        "machine": name,
        "state": "refused" if note else "idle",
        "slots": 7,
        "tier": "T2",
        "gpus": gpus,
        "speed": 1.0,
        "matches_per_min": None,
        "lost": 0,
        "note": note,
    }


@pytest.mark.parametrize(("width", "is_below"), [(80, True), (200, False)])
def test_notes_are_below_the_table_if_the_terminal_is_too_narrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, *, is_below: bool
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_machines([machine("pc1"), machine("pc2", NOTE)])
    lines = capsys.readouterr().out.splitlines()
    lines = [click.unstyle(line) for line in lines]
    assert all(len(line.rstrip()) <= width for line in lines)
    assert (f"pc2: {NOTE}" in lines) == is_below
    assert ("NOTE" in lines[0]) == (not is_below)


def test_gpus_have_a_column_only_where_there_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    print_machines([machine("pc1")])
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["MACHINE", "STATE", "SLOTS", "TIER", "SPEED", "MATCHES/MIN", "LOST", "NOTE"]
    assert row.split() == ["pc1", "idle", "7", "T2", "1.00", "-", "0"]
    print_machines([machine("pc1"), machine("pc2", gpus="1 H100")])
    assert "GPUS" in capsys.readouterr().out
