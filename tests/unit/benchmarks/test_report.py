"""The benchmark page: figures are found, ratios judged and compared, handwritten text kept."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from children import run_child
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BENCHMARKS = ROOT / "benchmarks"
ABOUT = {
    "date": "2026-01-02",
    "trials": 2,
    "loads": (0.5, 1.0),
    "machine": {"processor": "Abacus", "cores": "2", "system": "Linux 6", "python": "CPython 3.11"},
    "versions": {"numpy": "2.0"},
    "peers": {"pyspiel": SimpleNamespace(python=sys.executable, version="2.0.2")},
    "quick": False,
}


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    names = ("measured", "page", "plot", "rows", "running")
    yield SimpleNamespace(**{name: importlib.import_module(f"report.{name}") for name in names})
    for name in [name for name in sys.modules if name.partition(".")[0] == "report"]:
        monkeypatch.delitem(sys.modules, name)


def trial(ours: float, ratio: float | None) -> dict[str, Any]:
    """Return what two scripts might have printed."""
    game = {
        "matches_per_cpu_s": {"refereed_fresh_answers": ours, "pettingzoo": 1000.0},
        "times_as_fast_as": {"pettingzoo": {"refereed_fresh_answers": [ratio, 1.0, 2.0]}},
    }
    isolation = {"median": [{"tier": "T1", "move_us": 4.0}, {"tier": "T2", "move_us": 8.5}]}
    return {
        "refereed_play.py": {"games": {"connect-four": game if ratio else {}}},
        "isolation_cost.py": isolation,
        "search_speed.py": {"per_cpu_s": {"uniform_1000": ours}},
    }


def test_rows_take_medians_over_trials(report: Any) -> None:  # noqa: ANN401
    found = {one.row.key: one for one in report.measured.measure([trial(50e3, 50.0), trial(60e3, 56.0)])}

    fast = found["refereed/connect-four/pettingzoo"]
    assert (fast.ours, fast.theirs, fast.ratio) == (55e3, 1000.0, 53.0)
    assert (fast.least, fast.most, fast.verdict) == (50.0, 56.0, True)
    assert found["isolation/move"].ours == 8.5
    alone = found["uct/1000"]
    assert (alone.ours, alone.ratio, alone.verdict) == (55e3, None, None)
    assert "store/bulk" not in found


def test_a_ratio_below_what_is_asked_is_missed(report: Any) -> None:  # noqa: ANN401
    measured = report.measured.measure([trial(50e3, 44.0)])
    assert "44x **missed**" in report.page.table(measured)


def test_costs_are_compared_the_other_way_round(report: Any) -> None:  # noqa: ANN401
    documents = {
        "refereed_play.py": {"games": {"connect-four": {"matches_per_cpu_s": {"kaggle_environments": 40}}}},
        "referee_cost.py": {"move_us": {"quick": {"T2": {"referee_cpu": 20.0}}}},
    }
    found = {one.row.key: one for one in report.measured.measure([documents])}["hosted/move"]
    assert found.theirs == pytest.approx(1e6 / (40 * 21.3))
    assert found.ratio == pytest.approx(found.theirs / 20)
    assert found.verdict is True


def test_ratios_that_fell_are_named(report: Any) -> None:  # noqa: ANN401
    before = report.measured.recorded(report.measured.measure([trial(50e3, 50.0)]))
    assert report.measured.fallen(report.measured.measure([trial(50e3, 43.0)]), before) == []
    (said,) = report.measured.fallen(report.measured.measure([trial(50e3, 42.0)]), before)
    assert said == "refereed/connect-four/pettingzoo: the ratio fell from 50 to 42, by 16%"
    assert report.measured.fallen(report.measured.measure([trial(50e3, None)]), before) == []


def test_a_page_keeps_its_words(report: Any, tmp_path: Path) -> None:  # noqa: ANN401
    page = tmp_path / "benchmarks.md"
    page.write_text(
        f"# Words\n\n{report.page.BEGIN}\nold\n{report.page.END}\n\nMore words.\n", encoding="utf-8"
    )
    measured = report.measured.measure([trial(50e3, 50.0), trial(50e3, 46.0)])
    report.page.write(tmp_path, measured, report.page.Circumstances(**ABOUT))

    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Words\n")
    assert text.endswith("More words.\n")
    assert "old" not in text
    assert "≥ 45x | 48x (46 to 50)" in text
    assert "Peers: OpenSpiel 2.0.2." in text
    missing = "PettingZoo, kaggle-environments, pgx, BitBully, alpha-zero-general"
    assert f"Not installed, so not measured: {missing}." in text
    assert report.page.read_record(tmp_path)["refereed/connect-four/pettingzoo"]["ratio"] == 48.0
    first = (tmp_path / "benchmarks-ratios.svg").read_bytes()
    report.page.write(tmp_path, measured, report.page.Circumstances(**ABOUT))
    assert (tmp_path / "benchmarks-ratios.svg").read_bytes() == first


def test_a_peer_in_no_index_is_read_from_its_clone(report: Any, tmp_path: Path) -> None:  # noqa: ANN401
    with pytest.raises(report.running.BenchmarkError, match="no clone"):
        report.running.find_clone(tmp_path)
    clone = tmp_path / "clone"
    named = ("-c", "user.name=x", "-c", "user.email=x@x")
    for words in (("init", "-q", "."), (*named, "commit", "-q", "--allow-empty", "-m", "x")):
        clone.mkdir(exist_ok=True)
        subprocess.run(["git", *words], cwd=clone, check=True)  # noqa: S603, S607 - git as it is found
    found = report.running.find_clone(clone)
    assert found.python == str(clone)
    about = report.page.Circumstances(**{**ABOUT, "peers": {"alpha_zero_general": found}})
    page = tmp_path / "benchmarks.md"
    page.write_text(f"{report.page.BEGIN}\n{report.page.END}\n", encoding="utf-8")
    report.page.write(tmp_path, report.measured.measure([trial(50e3, 50.0)]), about)
    text = page.read_text(encoding="utf-8")
    assert f"Peers: alpha-zero-general {found.version}." in text
    assert "net_speed.py --rounds 5 --alpha-zero-general CLONE_OF_ALPHA_ZERO_GENERAL" in text


def test_a_page_without_a_place_for_tables_is_left_alone(report: Any, tmp_path: Path) -> None:  # noqa: ANN401
    page = tmp_path / "benchmarks.md"
    page.write_text("# Words\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="lacks the lines"):
        report.page.write(tmp_path, [], report.page.Circumstances(**ABOUT))
    assert page.read_text(encoding="utf-8") == "# Words\n"


def test_bars_lie_in_the_picture(report: Any) -> None:  # noqa: ANN401
    bars = [
        report.plot.Bar("a < b", "c & d", 0.75, "low", 0.7, 0.8, 1.0),
        report.plot.Bar("more", "", 2400.0, "own", None, None, 1200.0),
    ]
    picture = ET.fromstring(report.plot.draw("Title", "note", bars))  # noqa: S314 - we wrote it
    rects = [element for element in picture if element.tag.endswith("rect")]
    assert [rect.get("class") for rect in rects] == ["low", "own"]
    short, long = (float(rect.get("width", "0")) for rect in rects)
    assert 0 < short < long <= report.plot.WIDTH - report.plot.LABEL - report.plot.NUMBER


@pytest.mark.parametrize(
    ("value", "text"), [(0.7514, "0.751"), (12, "12"), (55100, "55.1 k"), (9.87e6, "9.87 M")]
)
def test_figures_have_three_digits(report: Any, value: float, text: str) -> None:  # noqa: ANN401
    assert report.plot.short(value) == text


def test_rows_have_names_of_their_own(report: Any) -> None:  # noqa: ANN401
    keys = [row.key for row in report.rows.ROWS]
    assert len(set(keys)) == len(keys)


def test_an_interpreter_that_is_none_is_named(tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARKS / "run.py", "--peers", "--peer-python", tmp_path / "none"]
    done = run_child(command, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert f"failed: {tmp_path / 'none'} is no Python that can be asked for peers" in done.stderr


def test_the_committed_page_tells_of_the_recorded_rows(report: Any) -> None:  # noqa: ANN401
    record = json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))["rows"]
    known = {row.key: row for row in report.rows.ROWS}
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert set(record) <= set(known)
    assert [key for key in record if f"| {known[key].point} | {known[key].peer} |" not in page] == []
