"""The trial of killed workers and bots kills no bot so often that it would be quarantined."""

from __future__ import annotations

import importlib
import sys

import pytest

from arena.coordinator.quarantine import Quarantine
from source_tree import ROOT


def test_no_bot_is_killed_so_often_that_it_is_quarantined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    trial = importlib.import_module("worker_kills")
    for num_before in range(30):
        quarantine, num_killed = Quarantine(), 0
        for num_done in range(200):
            # As often as it may, the same bot is killed in the match that follows.
            is_killed = num_done >= num_before and trial.may_kill_bot(num_done, num_killed)
            quarantine.add("victim", "other", "second", "crash" if is_killed else "rules")
            num_killed += is_killed
            assert not quarantine.holds("victim"), (num_before, num_done)
        assert num_killed > 10
