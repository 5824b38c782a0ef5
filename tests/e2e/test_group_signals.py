"""A signal to the process group of a run, as from a terminal, systemd or `timeout`: no bot is blamed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from arena_db.store import Store
from children import arena_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ARENA = (sys.executable, "-m", "arena")
DEADLINE = 240.0
EACH = 2
"""Number of matches that the bot plays in a process; in the next match it never answers."""
SLEEPER = f"""
import time
from arena_plugins import PlayResult, hookimpl

num_matches = 0

class Sleeper:
    def __init__(self, sleeps):
        self.sleeps = sleeps

    def play(self, state, limit):
        while self.sleeps:
            time.sleep(1)
        return PlayResult(state.legal_actions[0])

@hookimpl
def make_bot(game, seed, options):
    global num_matches
    num_matches += seed != 0  # the check before the plan has seed 0
    return Sleeper(num_matches > {EACH})
"""
CUP = (
    "match",
    "python:file=sleeper.py",
    "random",
    "--game",
    "tic-tac-toe",
    "--rounds",
    "50",
    "--name",
    "cup",
)


class GroupRun:
    """A run that leads its own process group, as a command in a terminal does."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        (folder / "tmp").mkdir(exist_ok=True)
        env = {**arena_environment(folder), "TMPDIR": str(folder / "tmp")}
        with (folder / "out.txt").open("wb") as out, (folder / "err.txt").open("wb") as err:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [*ARENA, *arguments], cwd=folder, env=env, stdout=out, stderr=err, start_new_session=True
            )

    @property
    def out(self) -> str:
        return (self.folder / "out.txt").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err.txt").read_text()

    def await_match(self, number: int) -> None:
        """Wait until a match has begun."""
        self._await(lambda: f"Started game {number} " in self.out)

    def await_words(self, words: str) -> None:
        """Wait for a text on stderr."""
        self._await(lambda: words in self.err)

    def signal(self, number: signal.Signals) -> None:
        """Signal the run, its workers and whatever else is in its process group."""
        os.killpg(self.process.pid, number)

    def await_end_of_group(self) -> None:
        """Wait until no process of the group is left; the resource tracker of multiprocessing ends last."""
        deadline = time.monotonic() + DEADLINE
        with suppress(ProcessLookupError):
            while True:
                self.signal(signal.SIGCONT)
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def _await(self, is_reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE
        while not is_reached():
            assert self.process.poll() is None, self.err
            assert time.monotonic() < deadline, (self.out, self.err)
            time.sleep(0.01)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., GroupRun]]:
    runs: list[GroupRun] = []

    def start_one(*arguments: str) -> GroupRun:
        runs.append(GroupRun(tmp_path, *arguments))
        return runs[-1]

    yield start_one
    for run in runs:
        run.process.kill()
        run.process.wait(DEADLINE)


@pytest.mark.parametrize(
    ("isolation", "endings"),
    [
        ("none", (signal.SIGTERM, signal.SIGINT)),
        ("auto", (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)),
    ],
    ids=["none", "auto"],
)
def test_a_signal_to_the_group_charges_no_bot(
    start: Callable[..., GroupRun], tmp_path: Path, isolation: str, endings: tuple[signal.Signals, ...]
) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    # The strongest tier of this machine, or none.
    tier = ("--isolation", isolation, "--require-tier", "T0")
    command = (*CUP, *tier, "--st", "10000", "--concurrency", "1")
    for turn, ending in enumerate(endings, 1):
        run = start(*command)
        command = ("resume", "cup")
        run.await_match(EACH * turn + 1)
        run.signal(ending)
        if ending == signal.SIGINT:
            # The running match continues; its bot never answers.
            run.await_words("stopping: running matches end and are stored; Ctrl-C again ends them now")
            assert run.process.poll() is None
            run.signal(ending)
        assert run.process.wait(DEADLINE) == 3, run.err
        assert "Traceback" not in run.err
        assert "died" not in run.err
        # The reported reason is that of the first order.
        reason = "a stop" if ending == signal.SIGINT else "an immediate stop"
        assert re.search(
            rf"^stopped after \d+ of 100 matches: {reason} was requested$", run.err, re.MULTILINE
        )
        with Store.open(tmp_path / "arena.db", read_only=True) as store:
            matches = list(store.matches.of_tournament(1))
            assert store.integrity.check() == []
        # Each stop leaves one match unfinished, which is played again first.
        ends = {(match.number, match.attempt): match.termination for match in matches}
        assert [key for key, end in ends.items() if end == "aborted"] == [
            (EACH * done + 1, 0) for done in range(1, turn + 1)
        ]
        assert {end for end in ends.values() if end != "aborted"} == {"rules"}
        assert [match.number for match in matches if match.is_final] == [*range(1, EACH * turn + 1)]
        assert [*(tmp_path / "tmp").iterdir()] == []
        run.await_end_of_group()
