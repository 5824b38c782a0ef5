"""Progress of a tournament: shares, remaining time, and when it counts as stalled."""

from __future__ import annotations

import pytest

from arena.live.pace import Progress
from arena.live.views import ProgressView


def test_the_time_to_go_is_what_is_left_at_the_rate() -> None:
    assert Progress(done=10, total=40, rate=15.0).eta_s == pytest.approx(120.0)
    assert Progress(done=41, total=40, rate=15.0).eta_s == 0
    assert Progress(done=10, total=40, rate=15.0).share == 0.25


@pytest.mark.parametrize(
    "progress",
    [
        Progress(done=10, total=None, rate=15.0),
        Progress(done=10, total=40),
        Progress(done=10, total=40, rate=0.0),
        # A sequential test ends with its decision, long before its maximum number of matches.
        Progress(done=10, total=1944, rate=15.0, is_most=True),
        Progress(done=10, total=40, rate=15.0, silent_s=13.0),
    ],
)
def test_nobody_knows_the_time_to_go(progress: Progress) -> None:
    assert progress.eta_s is None


@pytest.mark.parametrize(
    ("rate", "silent_s", "is_stalled"),
    [
        (60.0, 4.9, False),
        (60.0, 5.1, True),
        (600.0, 4.9, False),
        (6.0, 29.0, False),
        (6.0, 31.0, True),
        (None, 1000.0, False),
        (60.0, None, False),
    ],
)
def test_play_has_stalled_after_three_times_the_usual(
    rate: float | None, silent_s: float | None, *, is_stalled: bool
) -> None:
    assert Progress(done=1, total=9, rate=rate, silent_s=silent_s).is_stalled == is_stalled


def test_only_what_is_played_stalls() -> None:
    view = ProgressView(state="running", planned=9, done=3, recent=(10.0, 12.0, 14.0))
    assert (view.at().silent_s, view.at().is_stalled) == (None, False)
    assert (view.at(16.0).silent_s, view.at(16.0).is_stalled) == (2.0, False)
    assert view.at(21.0).is_stalled
    assert view.at(21.0).eta_s is None
    for state in ("paused", "ended", "preparing", ""):
        assert ProgressView(state=state, planned=9, recent=(10.0, 12.0)).at(99.0).silent_s is None
    assert ProgressView(state="ended", planned=9, done=3, recent=(10.0, 12.0)).at().rate is None
