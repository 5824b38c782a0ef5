"""Results of checks are stored and read back, and a failure to do so has no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.executor.checked import Checked, keep, last_checks, summary
from arena_plugins.conformance import Check

if TYPE_CHECKING:
    from pathlib import Path

CHECKS = [
    Check(1, "It loads", passed=True, detail="ok"),
    Check(2, "It answers", passed=False, detail="late " + "x" * 900),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_last_check_of_each_bot_is_kept() -> None:
    first = summary("mcts:playouts=20", "abc", "tic-tac-toe", 5.0, CHECKS)
    assert (first.num_passed, first.num_checks) == (1, 2)
    assert first.failed[0].startswith("2 It answers (late")
    assert len(first.failed[0]) <= 500
    keep(first)
    keep(summary("../evil", "def", "tic-tac-toe", 6.0, CHECKS[:1]))
    later = summary("mcts:playouts=20", "abc", "connect-four", 7.0, CHECKS[:1])
    keep(later)
    found = last_checks()
    assert set(found) == {"mcts:playouts=20", "../evil"}
    assert found["mcts:playouts=20"] == later


def test_damaged_files_do_not_count(home: Path) -> None:
    keep(summary("random", "abc", "tic-tac-toe", 5.0, CHECKS))
    for name, content in (("a", b""), ("b", b"{}"), ("c", b"\xff"), ("d", b"[" * 200_000)):
        (home / "checks" / f"{name}.json").write_bytes(content)
    assert set(last_checks()) == {"random"}
    assert not list((home / "checks").glob("*.tmp"))


def test_nowhere_to_keep_it_hurts_nobody(home: Path) -> None:
    assert last_checks() == {}
    home.write_text("a file", encoding="utf-8")
    keep(Checked(bot="a", identity="", game="g", t=0.0, num_passed=0, failed=()))
    assert last_checks() == {}
