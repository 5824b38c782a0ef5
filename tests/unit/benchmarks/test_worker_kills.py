"""The benchmarks of kills: they must not affect bots, and a tournament without kills must be normal."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from arena.coordinator.quarantine import Quarantine
from arena_db.store import Store
from source_tree import ROOT
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_no_bot_is_killed_so_often_that_it_is_quarantined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    trial = importlib.import_module("worker_kills")
    for num_before in range(30):
        quarantine, num_killed = Quarantine(), 0
        for num_done in range(200):
            # The maximum rate: every match in which a kill is allowed is one of the same bot.
            is_killed = num_done >= num_before and trial.may_kill_bot(num_done, num_killed)
            quarantine.add("victim", "other", "second", "crash" if is_killed else "rules")
            num_killed += is_killed
            assert not quarantine.holds("victim"), (num_before, num_done)
        assert num_killed > 10


def test_a_tournament_in_which_a_bot_failed_is_no_measure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    trial = importlib.import_module("kill_trials")
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store)
        store.matches.save([cup.match(1)])
        assert trial.faults_in(store.path) == []
        store.matches.save([cup.match(2, termination="init_timeout", reason="it did not get ready in time")])
    assert trial.faults_in(tmp_path / "arena.db") == ["it did not get ready in time"]
