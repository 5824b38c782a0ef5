"""The benchmarks of ladders read stores correctly: dropped matches do not count as lost."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from arena.coordinator import joining, planner
from arena.coordinator.run_events import MatchFinished
from arena_db.store import Store
from source_tree import ROOT
from stores import tamper
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from arena.coordinator.run_events import Event


def test_matches_of_bots_that_left_are_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    monkeypatch.setattr(planner, "_LOOK_S", 0.0)
    monkeypatch.setattr("arena.coordinator.orders._COMMAND_S", 0.0)
    facts_of = importlib.import_module("simulated.ladder_facts").LadderFacts.of
    path = tmp_path / "arena.db"
    sitting = Sitting(path, config(*TRIO, type="ladder", name="main"))

    def on_event(event: Event) -> None:
        num_done = event.num_done if isinstance(event, MatchFinished) else 0
        if num_done == 2:
            with Store.open(path) as store:
                joining.leave(store, joining.find_open_ladder(store, "main"), "minimax", reason="old")
        if num_done == 20:
            sitting.store.commands.send(sitting.tournament.id, "stop")

    assert sitting.play(on_event=on_event).state == "stopped"
    facts = facts_of(sitting.store, "main")
    assert facts.num_dropped > 0
    assert facts.num_not_once == 0
    sitting.store.close()
    tamper(path, "UPDATE planned SET state = 'done' WHERE number = (SELECT MAX(number) FROM planned)")
    with Store.open(path) as store:
        assert facts_of(store, "main").num_not_once == 1
