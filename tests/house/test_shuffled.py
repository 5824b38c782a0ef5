"""The runs in random order detect a test that leaves something behind."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

LEFT = """
LEFT = []

def test_that_expects_nothing():
    assert not LEFT, "somebody was here"

def test_that_leaves_something():
    LEFT.append(1)
"""
ALONE = "def test_alone(tmp_path):\n    assert not list(tmp_path.iterdir())\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tests" / "support" / "shuffled_runs.py"), *words, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603


def test_an_order_in_which_a_test_fails_is_found(tmp_path: Path) -> None:
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\n")
    tmp_path.joinpath("test_left.py").write_text(LEFT)
    tmp_path.joinpath("test_alone.py").write_text(ALONE)
    ended = run(tmp_path, "--runs", "10", "--fast", "10")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "3 of 3 tests are fast" in ended.stdout
    assert "test_left.py::test_that_expects_nothing" in ended.stdout
    assert "somebody was here" in ended.stdout
    assert "in the usual order" not in ended.stdout
    # The test fails in some orders and passes in others.
    assert 0 < int(ended.stdout.splitlines()[-1].split()[0]) < 10


def test_orders_of_independent_tests_pass(tmp_path: Path) -> None:
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\n")
    tmp_path.joinpath("test_alone.py").write_text(ALONE)
    tmp_path.joinpath("test_slow.py").write_text("import time\n\ndef test_slow():\n    time.sleep(0.2)\n")
    ended = run(tmp_path, "--runs", "2", "--fast", "0.1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 of 2 tests are fast" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("0 of 2 orders failed")


def test_a_run_that_dies_is_a_failure(tmp_path: Path) -> None:
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\n")
    tmp_path.joinpath("test_dies.py").write_text("import os\n\ndef test_dies():\n    os._exit(3)\n")
    ended = run(tmp_path, "--runs", "1")
    assert ended.returncode == 1
    assert "left no report" in ended.stdout
