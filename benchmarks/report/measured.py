"""Reads the figures of the rows from the scripts' documents, and compares them with recorded ones."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple, cast

from report.rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from report.rows import Figure, Row
    from report.running import Documents

FALL = 0.15
"""A ratio that falls by more than this share causes a warning."""


class Measured(NamedTuple):
    """A row with its figures; medians of the trials."""

    row: Row
    ours: float | None
    theirs: float | None
    ratio: float | None
    least: float | None
    """The lowest ratio of a trial."""
    most: float | None
    """The highest ratio of a trial."""

    @property
    def verdict(self) -> bool | None:
        """Whether all targets are reached; None if there is no target or nothing was measured."""
        row = self.row
        claims = (
            (row.asked, self.ratio, 1),
            (row.least, self.ours, 1),
            (row.most, self.ours, -1),
        )
        known = [
            sign * found >= sign * bound
            for bound, found, sign in claims
            if bound is not None and found is not None
        ]
        return all(known) if known else None


def measure(trials: Sequence[Documents]) -> list[Measured]:
    """Return all rows that have a figure."""
    found = (_measure(row, trials) for row in ROWS)
    return [measured for measured in found if measured.ours is not None]


def _measure(row: Row, trials: Sequence[Documents]) -> Measured:
    ours = [look(trial, row.ours) for trial in trials]
    theirs = [None if own is None else _theirs(row, trial) for own, trial in zip(ours, trials, strict=True)]
    ratios = [_ratio(row, own, other, trial) for own, other, trial in zip(ours, theirs, trials, strict=True)]
    known = [ratio for ratio in ratios if ratio is not None]
    own, other, ratio = _median(ours), _median(theirs), _median(ratios)
    if other is None and own and ratio:
        other = own * ratio if row.is_cost else own / ratio
    return Measured(row, own, other, ratio, min(known, default=None), max(known, default=None))


def _theirs(row: Row, trial: Documents) -> float | None:
    value = look(trial, row.theirs)
    return 1e6 / (value * row.per_match) if value is not None and row.per_match else value


def _ratio(row: Row, ours: float | None, theirs: float | None, trial: Documents) -> float | None:
    if row.ratio is not None:
        return look(trial, row.ratio)
    if not ours or not theirs:
        return None
    return theirs / ours if row.is_cost else ours / theirs


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def look(trial: Documents, figure: Figure | None) -> float | None:
    """Return a figure, the first of a list; None if the document lacks it.

    In a list of rows with a tier the row is found by its tier.
    """
    value: object = trial.get(figure.script) if figure else None
    for key in figure.path.split(".") if figure else ():
        if isinstance(value, list):
            value = {row["tier"]: row for row in cast("list[dict[str, object]]", value)}
        value = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    if isinstance(value, list):
        value = cast("list[float]", value)[0]
    return float(value) if isinstance(value, int | float) else None


def recorded(measured: Sequence[Measured]) -> dict[str, dict[str, float | str | None]]:
    """Return the values that are recorded of each row, by its key."""
    return {
        one.row.key: {
            "ours": _round(one.ours),
            "theirs": _round(one.theirs),
            "unit": one.row.unit,
            "asked": one.row.asked,
            "ratio": _round(one.ratio),
            "least": _round(one.least),
            "most": _round(one.most),
        }
        for one in measured
    }


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def fallen(measured: Sequence[Measured], before: Mapping[str, Mapping[str, float | str | None]]) -> list[str]:
    """Return a message for each ratio that fell below its record by more than `FALL`."""
    said: list[str] = []
    now = {one.row.key: one.ratio for one in measured}
    for key, row in before.items():
        ratio, was = now.get(key), row.get("ratio")
        if not isinstance(was, float | int):
            continue
        if ratio is not None and ratio < (1 - FALL) * was:
            said.append(f"{key}: the ratio fell from {was:g} to {ratio:.4g}, by {1 - ratio / was:.0%}")
    return said
