"""A short run of the benchmark of compiled alpha-beta."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from children import run_child

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "alphabeta_speed.py"


def test_both_searches_are_measured_at_each_depth_and_place(tmp_path: Path) -> None:
    options = ["--game", "tic-tac-toe", "--depths", "1", "3", "--positions", "2", "--rounds", "1"]
    refused = run_child([sys.executable, SCRIPT, "--game", "gomoku:k=11,size=11"], cwd=tmp_path, check=False)
    assert refused.stderr.strip() == "gomoku:k=11,size=11 has no compiled search"
    done = run_child([sys.executable, SCRIPT, *options], cwd=tmp_path)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["game"] == "tic-tac-toe"
    for place in ("empty_d1", "empty_d3", "middle_d1", "middle_d3"):
        assert found[place]["nodes"] > 0
        assert found[place]["ratio"] > 0
