"""A sequential test that is killed again and again comes to the decision of one that is not."""

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

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE_S = 120.0
TEST = (
    *("test", "minimax:depth=2", "random", "--sprt", "elo0=0,elo1=60", "--srand", "5", "--then-rate", "3"),
    *("--name", "better", "--isolation", "none", "--require-tier", "T0", "--quiet"),
)
KILLS = (3, 20, 41)
"""After so many stored matches a run is killed."""


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
    # Nobody can say before the store is made.
    with suppress(DatabaseError), Store.open(folder / "arena.db", read_only=True) as store:
        record = store.tournament("better")
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
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    out, _ = _start(whole, *TEST).communicate(timeout=DEADLINE_S)
    first = _start(killed, *TEST)
    for num in KILLS:
        _kill_after(first, killed, num)
        first = _start(killed, "resume", "better", "--quiet")
    said, _ = first.communicate(timeout=DEADLINE_S)
    assert first.returncode == 0, said
    verdict = out.splitlines()[-1]
    assert verdict.startswith("minimax:depth=2 is stronger: ")
    assert said.splitlines()[-1] == verdict
    decisions: list[str] = []
    for folder in (whole, killed):
        with Store.open(folder / "arena.db") as store:
            record = store.tournament("better")
            assert record is not None
            assert record.is_complete
            assert store.check() == []
            decisions.append(record.decision)
            report = SprtBook(store, record).report()
            assert report.num_rated == 6
            numbers = [match.number for match in store.tournament_matches(record.id) if match.is_final]
            assert len(set(numbers)) == len(numbers) == record.num_done
    assert decisions[0] == decisions[1] != ""
