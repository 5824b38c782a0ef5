"""The progress line: printed rarely, separate from other output, and not at all with `--quiet`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from arena.cli.reporter import ProgressLine
from arena.live.pace import Progress
from arena.naming import count_text

if TYPE_CHECKING:
    import pytest

ELO = {"a": 1508.0, "b": 1492.4, "c": 1501.0, "d\x1b": 1400.0}


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_without_terminal_a_line_where_it_is_due(capsys: pytest.CaptureFixture[str]) -> None:
    clock = _Clock()
    progress = ProgressLine(quiet=False, clock=clock)
    progress.show(Progress(done=1, total=40), faults=0, due=False, elo=ELO)
    clock.now += 4
    progress.show(Progress(done=2, total=40), faults=1, due=True, elo=ELO)
    with progress.aside():
        click.echo("Finished game 2")
    progress.end()
    out, err = capsys.readouterr()
    assert err == "2/40 matches (5%)  30.0/min  ETA 0:01:16  faults 1\n"
    assert out == "Finished game 2\n"


def test_where_nobody_knows_the_end_only_what_is_done_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _Clock()
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_live=is_terminal: is_live)
        progress = ProgressLine(quiet=False, clock=clock)
        clock.now += 4
        progress.show(Progress(done=2, total=None), faults=1, due=True, elo={})
    assert capsys.readouterr().err == (
        "2 matches  15.0/min  faults 1\n\r\x1b[K[....................] 2 matches  15.0/min  faults 1"
    )
    assert (count_text(3, None), count_text(3, 1944), count_text(3, 9, " of ")) == ("3", "3/1944", "3 of 9")


def test_on_a_terminal_it_is_redrawn_once_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    clock = _Clock()
    progress = ProgressLine(quiet=False, clock=clock)
    progress.show(Progress(done=1, total=4), faults=0, due=True, elo=ELO)
    clock.now += 0.9
    progress.show(Progress(done=2, total=4), faults=0, due=True, elo=ELO)
    assert capsys.readouterr().err == ""
    clock.now += 0.1
    progress.show(Progress(done=3, total=4), faults=0, due=False, elo=ELO)
    line = capsys.readouterr().err
    expected = "[###############.....] 3/4 matches (75%)  180.0/min  ETA 0:00:00  faults 0"
    assert line == f"\r\x1b[K{expected}  a ~1508  c ~1501  b ~1492"
    with progress.aside():
        click.echo("between", err=True)
    assert capsys.readouterr().err == f"\r\x1b[Kbetween\n{line}"
    progress.end()
    with progress.aside():
        click.echo("after", err=True)
    assert capsys.readouterr().err == "\r\x1b[Kafter\n"


def test_quiet_is_silent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    clock = _Clock()
    progress = ProgressLine(quiet=True, clock=clock)
    clock.now += 60
    progress.show(Progress(done=1, total=4), faults=0, due=True, elo=ELO)
    progress.end()
    assert capsys.readouterr() == ("", "")


def test_a_test_has_no_time_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    clock = _Clock()
    progress = ProgressLine(quiet=False, clock=clock)
    progress.show(Progress(done=1, total=1944, is_most=True), faults=0, due=False, elo={})
    clock.now += 60
    progress.show(Progress(done=13, total=1944, is_most=True), faults=0, due=True, elo={})
    assert capsys.readouterr().err == "13/at most 1944 matches  13.0/min  faults 0\n"
