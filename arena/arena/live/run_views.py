"""Training runs for their screen: a list, charts of one run, and charts that compare several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from arena.live.metrics_reader import CHUNK, FILE, MetricsReader
from arena.live.table_views import Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_RUNS: Final = 200
"""Maximum number of runs in the list; those with the newest metrics are kept."""
LIVE_S: Final = 60.0
"""Seconds without new metrics after which a run is no longer called live."""
LOSSES: Final = ("loss", "policy_loss", "value_loss")
PAUSED: Final = "paused"
"""The name of the file that a paused run keeps in its folder, and touches while it waits."""
_PAUSED_S: Final = 10.0
"""Seconds after the last touch of this file from which a run counts as killed, no longer as paused."""
SCORE: Final = "score/"
"""Prefix of metrics that are scores against a bot."""
_LOG_SUFFIXES: Final = (".log", ".txt")
_MAX_LOG: Final = 200_000
"""Maximum bytes read from the end of a log."""


class MetricChart(msgspec.Struct, frozen=True):
    """Series in one chart."""

    title: str
    series: tuple[Series, ...]


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list."""

    name: str
    """Name of the run's folder."""
    step: float
    loss: float | None
    """Last loss; None if there is none or it was not a number."""
    score: float | None
    """Last score against any bot."""
    newest_t: float
    """Time of the run's newest metric, in seconds since 1970 (UTC)."""
    num_damaged: int
    num_unreal: int
    paused_t: float = 0.0
    """Time of the run's last sign of being paused, UTC seconds; 0 if it is not paused."""

    @property
    def trouble(self) -> str:
        """Problems such as `2 damaged lines, 1 values not a number`; empty if there are none."""
        parts = [f"{self.num_damaged} damaged lines"] if self.num_damaged else []
        parts += [f"{self.num_unreal} values not a number"] if self.num_unreal else []
        return ", ".join(parts)

    def is_live(self, now: float) -> bool:
        """Return whether the run reported metrics recently."""
        return now - self.newest_t < LIVE_S

    def is_paused(self, now: float) -> bool:
        """Return whether the run is paused; a run whose process was killed is not."""
        return _is_fresh(self.paused_t, now)


class Runs:
    """The runs in a folder, read incrementally; not thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Follow a folder, which need not exist yet."""
        self.folder = folder
        """The folder of the runs."""
        self._files: dict[str, MetricsReader] = {}

    def read(self, wanted: Sequence[str] = ()) -> bool:
        """Read new metrics of all runs, those in `wanted` first; return whether there are more to read.

        A run that cannot be read keeps its state.
        """
        for name in self._found():
            self._files.setdefault(name, MetricsReader(self.folder / name / FILE))
        for name in [name for name in self._files if not (self.folder / name / FILE).is_file()]:
            del self._files[name]
        left = CHUNK
        for name in sorted(self._files, key=lambda name: name not in wanted):
            left -= self._read_one(self._files[name], left)
            if left <= 0:
                return True
        return False

    def _found(self) -> list[str]:
        """Return the names of runs, newest metrics first."""
        found: list[tuple[float, str]] = []
        try:
            for folder in self.folder.iterdir():
                try:
                    found.append((-(folder / FILE).stat().st_mtime, folder.name))
                except OSError:
                    continue
        except OSError:
            return []
        return [name for _, name in sorted(found)[:MAX_RUNS]]

    @staticmethod
    def _read_one(file: MetricsReader, limit: int) -> int:
        try:
            return file.read(limit)
        except OSError:
            return 0

    def rows(self) -> tuple[RunRow, ...]:
        """Return all runs, those with the newest metrics first."""
        rows = [_row(self.folder / name, file) for name, file in self._files.items()]
        return tuple(sorted(rows, key=lambda row: (-row.newest_t, row.name)))

    def charts(self, name: str) -> tuple[MetricChart, ...]:
        """Return the charts of one run: losses, scores, accuracy, entropy, learning rate."""
        file = self._files.get(name)
        if file is None:
            return ()
        scores = [metric for metric in file.metrics if metric.startswith(SCORE)]
        groups = {
            "loss": LOSSES,
            "score v reference": scores,
            "accuracy": ("accuracy",),
            "entropy of the policy": ("entropy",),
            "learning rate": ("lr",),
        }
        charts = [MetricChart(title, _lines(file, names)) for title, names in groups.items()]
        return tuple(chart for chart in charts if chart.series)

    def comparison(self, names: Sequence[str]) -> tuple[MetricChart, ...]:
        """Return a chart for each metric, with a series for each of some runs."""
        files = [(name, self._files[name]) for name in names if name in self._files]
        told = dict.fromkeys(metric for _, file in files for metric in file.metrics)
        known = [metric for metric in (*LOSSES, "accuracy", "entropy", "lr") if metric in told]
        scores = [metric for metric in told if metric.startswith(SCORE)]
        ordered = [*known[:1], *scores, *known[1:], *(m for m in told if m not in known and m not in scores)]
        charts = [
            MetricChart(metric, tuple(line for name, file in files if (line := file.series(metric, name))))
            for metric in ordered
        ]
        return tuple(chart for chart in charts if chart.series)

    def last_values(self, name: str) -> Mapping[str, tuple[float, float, int]]:
        """Return last step, last value and number of values of all metrics of a run, by name."""
        file = self._files.get(name)
        if file is None:
            return {}
        return {
            metric: (told.last_step, told.last_value, told.num_values)
            for metric, told in file.metrics.items()
        }

    def log(self, name: str) -> list[str]:
        """Return the last lines of the newest log in the folder of a run; empty if there is none."""
        try:
            logs = [path for path in (self.folder / name).iterdir() if path.suffix in _LOG_SUFFIXES]
            path = max(logs, key=lambda path: path.stat().st_mtime, default=None)
            if path is None:
                return []
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _MAX_LOG))
                return file.read(_MAX_LOG).decode("utf-8", "replace").splitlines()
        except OSError:
            return []


def is_paused(folder: Path, now: float) -> bool:
    """Return whether a run is paused, at a time in UTC seconds; one whose process was killed is not."""
    return _is_fresh(_paused_at(folder), now)


def _is_fresh(paused_t: float, now: float) -> bool:
    return now - paused_t < _PAUSED_S


def _paused_at(folder: Path) -> float:
    """Return the time of a run's last sign of being paused, UTC seconds; 0 if it is not paused."""
    try:
        return (folder / PAUSED).stat().st_mtime
    except OSError:
        return 0.0


def number_text(value: float | None) -> str:
    """Return a number with at most four significant digits: `0.8134`, `1.0e-04`, `12345`; `-` for None."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    if value == 0 or 1e-3 <= abs(value) < 1e6:  # noqa: PLR2004 # from where zeros take more room than an exponent
        return f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"  # noqa: PLR2004 # digits
    return f"{value:.1e}"


def _lines(file: MetricsReader, names: Sequence[str]) -> tuple[Series, ...]:
    told = [name for name in names if name in file.metrics]
    found = (file.series(name, name.removeprefix(SCORE).removesuffix("_loss")) for name in told)
    return tuple(line for line in found if line is not None)


def _row(folder: Path, file: MetricsReader) -> RunRow:
    losses = [file.metrics[metric] for metric in LOSSES if metric in file.metrics]
    scores = [metric for key, metric in file.metrics.items() if key.startswith(SCORE)]
    return RunRow(
        name=folder.name,
        step=max((metric.last_step for metric in file.metrics.values()), default=0.0),
        loss=_real(losses[0].last_value) if losses else None,
        score=_real(max(scores, key=lambda metric: metric.last_step).last_value) if scores else None,
        newest_t=file.newest_t,
        num_damaged=file.num_damaged + file.num_left_out,
        num_unreal=sum(metric.num_unreal for metric in file.metrics.values()),
        paused_t=_paused_at(folder),
    )


def _real(value: float) -> float | None:
    return value if math.isfinite(value) else None
