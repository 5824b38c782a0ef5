"""Quick runs of the benchmarks: every script and every row has figures; speed is not judged."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from children import run_child
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARKS = ROOT / "benchmarks"
OPENSPIEL = {
    "refereed/connect-four/openspiel_loop",
    "refereed/connect-four/openspiel_python_bots",
    "refereed/tic-tac-toe/openspiel_loop",
    "refereed/tic-tac-toe/openspiel_python_bots",
    "uct/1000",
    "uct/10000",
}
ALONE = {"store/bulk", "store/leaderboard", "alphabeta/empty/5", "alphabeta/middle/5"}
"""Rows that compare two implementations of our own, and need no peer."""


@pytest.mark.slow
def test_all_rows_find_their_figures(tmp_path: Path) -> None:
    command = [
        sys.executable,
        BENCHMARKS / "run.py",
        "--quick",
        "--trials",
        "1",
        "--peers",
        "--folder",
        tmp_path,
    ]
    done = run_child(command, cwd=tmp_path, deadline=900)

    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert len({document["benchmark"] for document in documents}) == len(documents) == 12
    record = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))
    rows = record["rows"]
    assert all(row["ours"] > 0 for row in rows.values())
    assert {key for key, row in rows.items() if row["ratio"]} >= OPENSPIEL | ALONE
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert len(rows) == len(re.findall(r"`[a-z_]+[.]py` [|]$", page, re.MULTILINE))
    for name in ("benchmarks-ratios.svg", "benchmarks-games.svg"):
        assert f"]({name})" in page
        assert ET.parse(tmp_path / name).getroot().tag.endswith("svg")  # noqa: S314 - we wrote it
