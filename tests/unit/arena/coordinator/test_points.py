"""A run stores ratings over time, also in spite of kills, locks and unusual results."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from arena.coordinator.result_recorder import PointKeeper
from arena.errors import ArenaError
from arena_db.errors import DatabaseError, LockedError
from arena_db.records import MatchFilter
from arena_db.replays import StoredRatings
from arena_db.store import Store
from refits import assert_true
from source_tree import ROOT
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena_db.points import RatingPoint
    from arena_db.records import TournamentRecord

    Begin = Callable[[TournamentConfig], Sitting]


def numbers_of_true_points(store: Store, tournament: TournamentRecord) -> list[int]:
    """Assert that all stored points equal full refits; return their numbers of matches."""
    kept = store.ratings.points(tournament.id)
    assert_true(store, tournament, kept)
    return [point.num_matches for point in kept]


def test_a_run_keeps_points(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=12))
    assert sitting.play().state == "finished"
    assert sitting.tournament.num_total == 72
    numbers = numbers_of_true_points(sitting.store, sitting.tournament)
    assert numbers[-1] == 72
    assert len(numbers) >= 5
    assert sitting.store.integrity.check() == []


def test_a_stop_keeps_a_last_point_and_a_resume_goes_on(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=20, rating_interval=10))
    assert sitting.play(goal_reached=lambda: True).state == "stopped"
    before = [point.num_matches for point in sitting.store.ratings.points(sitting.tournament.id)]
    rated = len(sitting.store.matches.played(MatchFilter(tournament=sitting.tournament.name)))
    assert before[-1] == rated < 120
    sitting.tournament = sitting.store.tournaments.find(sitting.tournament.id) or sitting.tournament
    assert sitting.play().state == "finished"
    numbers = numbers_of_true_points(sitting.store, sitting.tournament)
    assert numbers[: len(before)] == before
    assert numbers[-1] == 120


def test_points_are_due_after_a_fortieth(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=40))
    told: list[object] = []
    keeper = PointKeeper(sitting.store, sitting.tournament, told.append)
    kept: list[int] = []
    keeper.keep = lambda: kept.append(number)  # type: ignore[method-assign]
    for number in range(1, 241):
        keeper.note(number)
    assert kept == list(range(6, 241, 6))


def test_a_locked_store_keeps_no_point(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> bool:
        raise LockedError("locked")

    monkeypatch.setattr(StoredRatings, "add_point", locked)
    sitting = begin(config(*TRIO, rounds=3))
    assert sitting.play().state == "finished"
    assert sitting.store.ratings.points(sitting.tournament.id) == []
    assert sitting.notices() == []


def test_results_without_ratings_are_told_once(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    def hopeless(*_: object) -> RatingPoint:
        raise ArenaError("the ratings of a and b do not converge")

    monkeypatch.setattr("arena.results.history.rate_now", hopeless)
    sitting = begin(config(*TRIO, rounds=12))
    assert sitting.play().state == "finished"
    assert [text for text in sitting.notices() if "over time are not stored" in text] == [
        "ratings over time are not stored for this tournament: the ratings of a and b do not converge"
    ]


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from refits import assert_true
from source_tree import ROOT
from tournaments import TRIO, Sitting, config
# More than any machine plays before it is killed; a point is kept of each fortieth.
Sitting(Path(sys.argv[1]), config(*TRIO, rounds=2000)).play()
"""


@pytest.mark.parametrize("num_points", [1, 4])
def test_kill_9_leaves_true_points(tmp_path: Path, num_points: int) -> None:
    path = tmp_path / "killed.db"
    command = [sys.executable, "-c", KILLED, str(path), str(ROOT / "tests" / "support")]
    run = subprocess.Popen(command)  # noqa: S603 - our own
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if path.exists() and run.poll() is None:
                # The file may be in the process of being created.
                with suppress(DatabaseError), Store.open(path, read_only=True) as looked:
                    if len(looked.ratings.points(1)) >= num_points:
                        break
            assert run.poll() is None
            time.sleep(0.02)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    with Store.open(path) as store:
        record = store.tournaments.find(1)
        assert record is not None
        assert 0 < record.num_done < (record.num_total or 0)
        assert store.integrity.check() == []
        assert len(numbers_of_true_points(store, record)) >= num_points
