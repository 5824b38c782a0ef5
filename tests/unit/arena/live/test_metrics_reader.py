"""Metrics are read while they are written: partial lines, damage, odd numbers, resumed and long runs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.live.metrics_reader import MAX_LINE, MAX_NAMES, MAX_POINTS, Metric, MetricsReader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def line(step: float, name: str = "loss", value: float | None = 0.5, t: float = 1.0) -> str:
    return json.dumps({"step": step, "name": name, "value": value, "t": t}) + "\n"


def read(path: Path, text: str | bytes, *more: str | bytes) -> MetricsReader:
    """Read a file after each of its parts was written; return the reader."""
    found = MetricsReader(path)
    for part in (text, *more):
        with path.open("ab") as file:
            file.write(part.encode() if isinstance(part, str) else part)
        while found.read():
            pass
    return found


def points(metric: Metric) -> list[tuple[float, float]]:
    return [(point.x, point.y) for point in metric.points]


def test_lines_are_read_by_name(tmp_path: Path) -> None:
    found = read(tmp_path / "m", line(0, value=0.9) + line(0, "lr", 1e-3) + line(10, value=0.7, t=5.0))
    assert points(found.metrics["loss"]) == [(0, 0.9), (10, 0.7)]
    assert points(found.metrics["lr"]) == [(0, 1e-3)]
    assert (found.newest_t, found.num_damaged) == (5.0, 0)
    series = found.series("loss", "mine")
    assert series is not None
    assert (series.name, len(series.points)) == ("mine", 2)
    assert found.series("accuracy", "mine") is None


def test_a_file_that_is_not_there_yet_may_come(tmp_path: Path) -> None:
    path = tmp_path / "m"
    found = MetricsReader(path)
    assert found.read() == 0
    path.write_text(line(1), encoding="utf-8")
    assert found.read() > 0
    assert points(found.metrics["loss"]) == [(1, 0.5)]


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    whole = line(7, value=0.25)
    found = read(tmp_path / "m", line(1) + whole[:20])
    assert points(found.metrics["loss"]) == [(1, 0.5)]
    assert found.num_damaged == 0
    with (tmp_path / "m").open("a", encoding="utf-8") as file:
        file.write(whole[20:])
    found.read()
    assert points(found.metrics["loss"]) == [(1, 0.5), (7, 0.25)]


@given(st.lists(st.integers(1, 60)))
def test_it_does_not_matter_how_the_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("cut") / "m"
    text = (
        b"".join(line(step, value=step / 7).encode() for step in range(20)) + b"{broken\n" + line(20).encode()
    )
    whole = read(path.with_name("whole"), text)
    parts: list[bytes] = []
    rest = text
    for cut in cuts:
        parts.append(rest[:cut])
        rest = rest[cut:]
    found = read(path, *parts, rest) if parts else read(path, rest)
    assert points(found.metrics["loss"]) == points(whole.metrics["loss"])
    assert found.num_damaged == whole.num_damaged == 1


@pytest.mark.parametrize(
    "damaged",
    [
        "no json\n",
        "[]\n",
        "7\n",
        '{"step": 3}\n',
        '{"step": "x", "name": "loss", "value": 1, "t": 0}\n',
        '{"step": -1, "name": "loss", "value": 1, "t": 0}\n',
        '{"step": 1e300, "name": "loss", "value": 1, "t": 0}\n',
        '{"step": NaN, "name": "loss", "value": 1, "t": 0}\n',
        '{"step": 3, "name": ["loss"], "value": 1, "t": 0}\n',
        b"\xff\xfe\x00\n",
        b"\x00" * 100 + b"\n",
        "[" * 5000 + "\n",
        "x" * (MAX_LINE + 10) + "\n",
    ],
)
def test_damaged_lines_are_counted_and_hurt_no_other(tmp_path: Path, damaged: str | bytes) -> None:
    found = read(tmp_path / "m", line(1), damaged, line(2))
    assert points(found.metrics["loss"]) == [(1, 0.5), (2, 0.5)]
    assert found.num_damaged == 1


def test_a_line_without_an_end_takes_no_memory(tmp_path: Path) -> None:
    found = read(tmp_path / "m", line(1), *["y" * MAX_LINE] * 5, "end\n" + line(2))
    assert points(found.metrics["loss"]) == [(1, 0.5), (2, 0.5)]
    assert found.num_damaged == 1


def test_empty_lines_are_none(tmp_path: Path) -> None:
    found = read(tmp_path / "m", "\n\r\n" + line(1))
    assert found.num_damaged == 0


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, None])
def test_what_is_no_number_is_in_no_chart(tmp_path: Path, odd: float | None) -> None:
    found = read(tmp_path / "m", line(1) + line(2, value=odd) + line(3, value=0.2))
    metric = found.metrics["loss"]
    assert points(metric) == [(1, 0.5), (3, 0.2)]
    assert (metric.num_unreal, metric.num_values, found.num_damaged) == (1, 3, 0)
    assert metric.last_value == 0.2


def test_a_run_that_was_resumed_goes_back(tmp_path: Path) -> None:
    steps: Sequence[tuple[int, float]] = ((1, 0.9), (2, 0.8), (3, 0.7), (2, 0.75), (3, 0.65), (4, 0.6))
    found = read(tmp_path / "m", "".join(line(step, value=value) for step, value in steps))
    assert points(found.metrics["loss"]) == [(1, 0.9), (2, 0.75), (3, 0.65), (4, 0.6)]


def test_a_file_that_is_another_one_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "m"
    found = read(path, line(1) + line(2))
    (tmp_path / "new").write_text(line(9, value=0.1), encoding="utf-8")
    (tmp_path / "new").replace(path)
    found.read()
    assert points(found.metrics["loss"]) == [(9, 0.1)]
    path.write_text("", encoding="utf-8")
    found.read()
    assert found.metrics == {}


def test_an_endless_run_keeps_its_shape_in_few_points() -> None:
    metric = Metric()
    for step in range(100_000):
        metric.add(step, step / 100_000)
    found = points(metric)
    assert MAX_POINTS <= len(found) <= 2 * MAX_POINTS + 1
    assert [x for x, _ in found] == sorted(x for x, _ in found)
    assert all(abs(y - x / 100_000) < 0.01 for x, y in found)
    assert (metric.last_step, metric.num_values) == (99_999, 100_000)
    assert found[-1][0] == 99_999


def test_each_point_of_a_long_run_is_the_mean_of_as_many_values() -> None:
    values = [float(number * number % 977) for number in range(20_000)]
    metric = Metric()
    for step, value in enumerate(values):
        metric.add(step, value)
    *whole, last = metric.points
    size = -(-len(values) // len(metric.points))
    assert [point.x for point in whole] == list(range(size - 1, len(whole) * size, size))
    assert [point.y for point in whole] == [
        pytest.approx(sum(values[start : start + size]) / size) for start in range(0, len(whole) * size, size)
    ]
    assert last.x == len(values) - 1


def test_names_are_bounded_and_clean(tmp_path: Path) -> None:
    text = "".join(line(1, f"name-{number}") for number in range(MAX_NAMES + 3))
    found = read(tmp_path / "m", line(1, "\x1b[31mred\n") + text)
    assert len(found.metrics) == MAX_NAMES
    assert found.num_left_out == 4
    assert all(name.isprintable() for name in found.metrics)


def test_a_time_beyond_all_calendars_is_none(tmp_path: Path) -> None:
    found = read(tmp_path / "m", line(1, t=1e300) + line(2, t=-5.0) + line(3, t=math.nan) + line(4, t=8.0))
    assert found.newest_t == 8.0
