"""Tournaments that are killed at any moment have the results of undisturbed ones; see `make kill-trials`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from children import run_child
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_kill_9(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "kill_trials.py"
    # A tournament of these bots takes half the CPU of one with compiled kernels. In the second of two trials,
    # two processes resume at once.
    command = [sys.executable, script, "--trials", "2", "--rounds", "20", "--bots", "random", "random"]
    figures = json.loads(run_child(command, cwd=tmp_path, deadline=900).stdout)

    assert (figures["trials"], figures["matches"]) == (2, 40)
    assert figures["kills"] >= 1
    failures = ("orphans", "left_files", "wrong_results", "faulty_stores", "wrong_exits")
    assert {key: figures[key] for key in failures} == dict.fromkeys(failures, 0)


@pytest.mark.slow
def test_lost_leases_stores_and_backups(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "lost_leases.py"
    command = [sys.executable, script, "--stops", "4", "--moves", "2", "--backups", "3"]
    figures = json.loads(run_child(command, cwd=tmp_path, deadline=900).stdout)

    assert (figures["stopped"], figures["taken_away"], figures["killed_backups"]) == (4, 2, 3)
    assert figures["told_by_old"] > 0 < figures["told_by_new"]
    failures = ("told_but_not_stored", "doubled", "wrong_exits", "unnoticed", "not_whole", "parts_left")
    assert {key: figures[key] for key in failures} == dict.fromkeys(failures, 0)


def test_killed_restores_and_upgrades(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "benchmarks" / "store_kills.py", "--kills", "2"]
    figures = json.loads(run_child(command, cwd=tmp_path, deadline=900).stdout)

    assert (figures["restores"], figures["upgrades"]) == (2, 2)
    assert (figures["not_whole"], figures["left_files"]) == (0, 0)


@pytest.mark.slow
def test_killed_workers_bots_and_starters(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "worker_kills.py"
    # Every killed process is replaced; processes of `random` need not load compiled kernels.
    bots = ("--bots", "random", "random")
    command = [sys.executable, script, "--kills", "3", "--rounds", "120", *bots]
    figures = json.loads(run_child(command, cwd=tmp_path, deadline=900).stdout)

    assert figures["matches"] == 240
    assert figures["workers"] + figures["hosts"] + figures["starters"] >= 3
    failures = ("unexplained", "orphans", "left_files", "wrong_results", "faulty_stores", "wrong_exits")
    assert {key: figures[key] for key in failures} == dict.fromkeys(failures, 0)
