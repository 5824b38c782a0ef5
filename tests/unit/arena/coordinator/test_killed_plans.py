"""A tournament killed after every k-th write has the plan of an undisturbed one, and each match once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import killed_plans
from arena.pairing.schedule import FixedPlan
from arena_db.store import Store
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def run(path: Path, kind: str, num_workers: int, killed_after: int) -> int:
    """Play a tournament, killed again and again; return the number of kills."""
    command = [sys.executable, killed_plans.__file__, path, kind, num_workers, killed_after]
    found = subprocess.run(  # noqa: S603 - our own
        [str(word) for word in command],
        env={"PYTHONPATH": str(ROOT / "tests" / "support"), "HOME": str(path.parent)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    return int(found.stdout)


@pytest.mark.parametrize(("kind", "num_workers"), [("fixed", 1), ("fixed", 4), ("sprt", 1), ("sprt", 4)])
def test_kills_change_no_plan(tmp_path: Path, kind: str, num_workers: int) -> None:
    path = tmp_path / "arena.db"
    assert run(path, kind, num_workers, 1) > 2
    with Store.open(path) as store:
        assert store.integrity.check() == []
        record = store.tournaments.find(1)
        assert record is not None
        assert (record.state, record.is_complete) == ("finished", True)
        plan = store.plans.planned(1)
        matches = list(store.matches.of_tournament(1))
        results = store.plans.results(1, after=0, last=store.matches.last_id(1))
    assert len({match.number for match in matches}) == len(matches) == record.num_done == record.num_total
    assert all(match.is_final for match in matches)
    openings = killed_plans.sprt().openings if kind == "sprt" else [match.opening for match in plan[::2]]
    whole = FixedPlan(kind="match", num_bots=2, rounds=len(openings), games=2, openings=openings, version=2)
    assert plan == list(whole.matches(0, len(plan)))
    if kind == "fixed":
        assert len(plan) == record.num_done == 80
        return
    # The decision follows from these results alone, in the order of the plan.
    state = killed_plans.sprt().state({(each.encounter, each.match_no): each.points for each in results})
    assert state.decision == "H1"
    assert record.decision.startswith(f"H1 after {state.num_pairs} pairs: ")
    assert 2 * state.num_pairs <= record.num_done <= 2 * state.num_pairs + 2 * 16
    assert record.num_planned == record.num_done + record.num_dropped


@pytest.mark.parametrize("num_workers", [1, 4])
def test_kills_change_no_batch_of_a_ladder(tmp_path: Path, num_workers: int) -> None:
    path = tmp_path / "arena.db"
    assert run(path, "ladder", num_workers, 1) > 2
    assert killed_plans.is_ladder_whole(path)
    with Store.open(path) as store:
        assert len(store.plans.batches(1)) > 3
