"""Runs that lose their tournament, store or temporary files: every reported result is stored."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.records import MatchFilter
from arena_db.store import Store
from children import arena_environment, run_child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ARENA = (sys.executable, "-m", "arena")
CUP = (*ARENA, "match", "random", "minimax:depth=1", "--game", "tic-tac-toe", "--isolation", "none")
DEADLINE = 120.0


class Run(NamedTuple):
    """A run that plays, and its output."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def told(self) -> list[int]:
        """The numbers of the matches that it reported."""
        return [int(number) for number in re.findall(r"^Finished game (\d+) ", self.out, re.MULTILINE)]

    @property
    def out(self) -> str:
        return (self.folder / "out.txt").read_text()

    @property
    def last_words(self) -> str:
        return (self.folder / "err.txt").read_text().splitlines()[-1]

    @property
    def db(self) -> Path:
        return self.folder / "arena.db"

    def arena(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Call another `arena` on the same store."""
        env = arena_environment(self.folder)
        return run_child([*ARENA, *arguments], cwd=self.folder, env=env, check=check)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Yield a run of far more matches than it can play, some of which it has reported."""
    (tmp_path / "tmp").mkdir()
    env = {**arena_environment(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    command = [*CUP, "--rounds", "100000", "--name", "cup"]
    with (
        (tmp_path / "out.txt").open("wb") as out,
        (tmp_path / "err.txt").open("wb") as err,
        subprocess.Popen(command, cwd=tmp_path, env=env, stdout=out, stderr=err) as process,  # noqa: S603 - our own
    ):
        found = Run(process, tmp_path)
        wait_for(found, 3)
        yield found
        process.kill()


def wait_for(run: Run, number: int) -> None:
    """Wait until a run has reported `number` matches."""
    deadline = time.monotonic() + DEADLINE
    while len(run.told) < number and run.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(run.told) >= number, (run.out, run.last_words)


def silence(run: Run) -> None:
    """Stop a run while it does not hold the write lock, and date its last heartbeat back by a minute."""
    settings = FileSettings(place=run.db, busy_ms=100)
    for _ in range(1000):
        run.process.send_signal(signal.SIGSTOP)
        with closing(open_raw(settings)) as raw:
            try:
                raw.execute("UPDATE leases SET beat_at = beat_at - 60")
            except settings.driver.module.OperationalError:
                run.process.send_signal(signal.SIGCONT)
                time.sleep(0.005)
            else:
                return
    raise AssertionError("it always holds the lock")


def numbers(db: Path) -> list[int]:
    with Store.open(db, read_only=True) as store:
        assert store.integrity.check() == []
        return [
            match.number for match in store.matches.newest(MatchFilter(), limit=200_000) if match.is_final
        ]


def test_a_stopped_run_is_replaced_and_tells_of_nothing_more(run: Run) -> None:
    silence(run)
    refused = run.arena("resume", "cup", check=False)
    assert refused.returncode == 2
    assert re.search(
        r"cup is held by pid \d+ on .*, silent for .*; arena resume cup --take-over", refused.stderr
    )
    again = run.arena("resume", "cup", "--take-over", "--max-time", "0.001", "--quiet", check=False)
    assert again.returncode == 3, again.stderr
    run.process.send_signal(signal.SIGCONT)
    assert run.process.wait(DEADLINE) == 3
    assert re.match(
        r"arena: cup was taken over by .*, which continues it; this process stores", run.last_words
    )
    assert "Traceback" not in (run.folder / "err.txt").read_text()
    stored = numbers(run.db)
    assert len(stored) == len(set(stored))
    assert set(run.told) <= set(stored)


def test_a_store_that_is_taken_away_is_given_its_results_back(run: Run) -> None:
    run.arena("db", "backup", "backup.db")
    # Results are stored before they are reported, so at least one of these is missing in the copy.
    wait_for(run, len(run.told) + 20)
    (run.folder / "lost").mkdir()
    for name in ("", "-wal", "-shm"):
        run.db.with_name(f"arena.db{name}").rename(run.folder / "lost" / f"arena.db{name}")
    assert run.process.wait(DEADLINE) == 1
    words = run.last_words
    assert re.search(
        r"arena\.db was moved to .*lost/arena\.db; play has ended, and all \d+ results of cup", words
    )
    shutil.copy(run.folder / "backup.db", run.db)
    told = run.told
    (file,) = re.findall(r"then arena db merge (\S+) stores those that are missing, and arena resume", words)
    assert re.match(r"cup: \d+ new matches of \d+\n", run.arena("db", "merge", file).stdout)
    assert set(told) <= set(numbers(run.db))
    assert run.arena("db", "merge", file).stdout.startswith("all of ")
    run.arena("resume", "cup", "--max-time", "0.001", "--quiet", check=False)
    assert set(told) <= set(numbers(run.db))


def test_temporary_files_are_cleared_away_before_a_stop(run: Run) -> None:
    for folder in (run.folder / "tmp").glob("arena-run-*"):
        shutil.rmtree(folder, ignore_errors=True)
    stopped = run.arena("stop", "cup")
    assert stopped.stdout.startswith("asked cup to stop: ")
    assert run.process.wait(DEADLINE) == 3, run.last_words
    assert "Traceback" not in (run.folder / "err.txt").read_text()
    assert set(run.told) == set(numbers(run.db))
    assert list((run.folder / "tmp").iterdir()) == []
