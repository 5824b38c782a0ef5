"""A sequential test that is killed repeatedly reaches the decision of an undisturbed one."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.results.sequential import SprtBook
from arena_db.errors import DatabaseError
from arena_db.store import Store
from children import arena_environment
from tournaments import Sitting, config

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE_S = 120.0
TEST = (
    *("test", "minimax:depth=2", "random", "--sprt", "elo0=0,elo1=60", "--srand", "5", "--then-rate", "3"),
    *("--name", "better", "--isolation", "none", "--require-tier", "T0", "--quiet"),
)
KILLS = (4, 30)
"""Numbers of stored matches after which a run is killed."""


def _start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "arena", *words, "--db", str(folder / "arena.db")]
    return subprocess.Popen(  # noqa: S603 - our own command
        command,
        env=arena_environment(folder),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _num_done(folder: Path) -> int:
    # The store may not exist yet.
    with suppress(DatabaseError), Store.open(folder / "arena.db", read_only=True) as store:
        record = store.tournaments.find("better")
        return 0 if record is None else record.num_done
    return 0


def _kill_after(process: subprocess.Popen[str], folder: Path, num: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while process.poll() is None and time.monotonic() < deadline:
        if _num_done(folder) >= num:
            break
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=DEADLINE_S)


def test_kill_9_changes_no_decision(tmp_path: Path) -> None:
    whole = Sitting(
        tmp_path / "whole.db",
        config(
            "minimax:depth=2",
            "random",
            game="connect-four",
            type="match",
            sprt="elo0=0,elo1=60",
            srand=5,
            then_rate=3,
        ),
    )
    whole.play()
    process = _start(tmp_path, *TEST)
    for num in KILLS:
        _kill_after(process, tmp_path, num)
        process = _start(tmp_path, "resume", "better", "--quiet")
    said, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, said
    expected = SprtBook(whole.store, whole.tournament).report()
    assert said.splitlines()[-1] == expected.verdict()
    with Store.open(tmp_path / "arena.db") as store:
        record = store.tournaments.find("better")
        assert record is not None
        assert record.is_complete
        assert store.integrity.check() == []
        assert record.decision == str(expected.state)
        report = SprtBook(store, record).report()
        assert (report.state, report.num_rated) == (expected.state, 6)
        numbers = [match.number for match in store.matches.of_tournament(record.id) if match.is_final]
        assert len(set(numbers)) == len(numbers) == record.num_done
