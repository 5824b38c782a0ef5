"""Training runs of a folder: rows, charts, comparison, logs."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import pytest

from arena.live.metrics_reader import FILE
from arena.live.run_views import Runs, number_text

RECORDED = Path(__file__).parent / "recorded_runs"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(RECORDED, tmp_path / "runs")
    (tmp_path / "runs" / "empty").mkdir()
    (tmp_path / "runs" / "a-file").write_text("no run", encoding="utf-8")
    return tmp_path / "runs"


def read(folder: Path) -> Runs:
    runs = Runs(folder)
    while runs.read():
        pass
    return runs


def test_rows_tell_where_each_run_stands(folder: Path) -> None:
    newest, oldest = read(folder).rows()
    assert (newest.name, oldest.name) == ("td-2", "td-1")
    assert (newest.step, newest.trouble) == (4000, "")
    assert newest.loss is not None
    assert newest.score is not None
    assert not newest.is_live(newest.newest_t + 61)
    assert newest.is_live(newest.newest_t + 1)


def test_charts_of_one_run(folder: Path) -> None:
    charts = read(folder).charts("td-1")
    assert [chart.title for chart in charts] == [
        "loss",
        "score v reference",
        "entropy of the policy",
        "learning rate",
    ]
    assert [line.name for line in charts[1].series] == ["random", "minimax:depth=3"]
    assert len(charts[0].series[0].points) == 21
    assert read(folder).charts("no-such-run") == ()


def test_charts_of_several_runs(folder: Path) -> None:
    charts = read(folder).comparison(["td-1", "td-2", "gone"])
    assert [chart.title for chart in charts[:3]] == ["loss", "score/random", "score/minimax:depth=3"]
    assert {chart.title for chart in charts} >= {"lr", "entropy", "games_per_s"}
    assert all([line.name for line in chart.series] == ["td-1", "td-2"] for chart in charts)


def test_everything_else_is_listed(folder: Path) -> None:
    values = read(folder).last_values("td-1")
    assert values["games_per_s"] == (4000, 872.5, 11)
    assert read(folder).last_values("gone") == {}


def test_a_run_may_come_and_go(folder: Path) -> None:
    runs = read(folder)
    shutil.rmtree(folder / "td-2")
    (folder / "empty" / FILE).write_text("broken\n", encoding="utf-8")
    runs.read()
    rows = {row.name: row for row in runs.rows()}
    assert set(rows) == {"td-1", "empty"}
    assert rows["empty"].trouble == "1 damaged lines"
    assert rows["empty"].loss is None


def test_no_folder_is_no_run(tmp_path: Path) -> None:
    assert read(tmp_path / "none").rows() == ()


def test_a_file_that_may_not_be_read_hurts_no_other(folder: Path) -> None:
    (folder / "empty" / FILE).mkdir()
    (folder / "odd").symlink_to(folder / "odd")
    assert {row.name for row in read(folder).rows()} == {"td-1", "td-2"}


def test_the_newest_log_is_shown(folder: Path) -> None:
    runs = read(folder)
    assert runs.log("td-1") == ["step 0 loss 0.90", "step 4000 loss 0.22", "saved weights.npz"]
    assert runs.log("td-2") == []
    assert runs.log("gone") == []
    newer = folder / "td-1" / "later.txt"
    newer.write_bytes(b"\xff\x1b[31m\n" * 100_000)
    os.utime(newer, (4e9, 4e9))
    assert 1000 < len(runs.log("td-1")) < 100_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.8134, "0.8134"),
        (0.123456, "0.1235"),
        (1e-4, "1.0e-04"),
        (4000.0, "4000"),
        (-12.5, "-12.5"),
        (123456.0, "123456"),
        (3e9, "3.0e+09"),
        (math.nan, "not a number"),
        (-math.inf, "infinite"),
    ],
)
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert number_text(value) == text
