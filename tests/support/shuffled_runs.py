"""Runs the fast part of the tests many times, each time in another random order: `make shuffled`.

A test that needs what another one left, or that leaves something behind, passes in the usual order and fails
in some other one. Tests are collected once; each run is a fork of that process, so it costs no more than its
tests. The files come in random order, and the tests of each file as well, as fixtures of a file would
otherwise be set up for every single test.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FAST_S: Final = 0.05
"""Seconds that a test of the fast part takes at most, set-up and tear-down included."""


class _Report(NamedTuple):
    """What one run found."""

    seconds: dict[str, float]
    """Time that each test took."""
    failures: list[tuple[str, str]]
    """Failed tests, in order, each with the traceback."""


class ShuffledRuns:
    """A plugin for pytest that replaces the one run by many."""

    def __init__(self, folder: Path, seeds: Sequence[int], side_by_side: int, fast_s: float = FAST_S) -> None:
        """Prepare the runs.

        Args:
            folder: for reports and for the temporary files of tests.
            seeds: one for the order of each run.
            side_by_side: number of runs at the same time.
            fast_s: seconds that a test may take to be repeated.
        """
        self.failed = 0
        """Number of runs in which a test failed."""
        self._folder = folder
        self._seeds = seeds
        self._side_by_side = side_by_side
        self._fast_s = fast_s
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._failures: list[tuple[str, str]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests in their order, then those that were fast in each random order."""
        if session.testsfailed:
            raise pytest.UsageError("not all tests can be collected")
        first = self._await(self._fork(session.items, "first"), "first")
        usual = [item for item in session.items if first.seconds.get(item.nodeid, 0.0) <= self._fast_s]
        sys.stdout.write(f"{len(usual)} of {len(session.items)} tests are fast\n")
        failures = [("in the usual order", first)] if first.failures else []
        failures += self._run_all(usual)
        for name, found in failures:
            for test, text in found.failures:
                sys.stdout.write(f"\n{name}: {test}\n{text}\n")
        self.failed = session.testsfailed = len(failures)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the time that a phase of a test took, and why it failed."""
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failures.append((report.nodeid, report.longreprtext))

    def _run_all(self, items: Sequence[pytest.Item]) -> list[tuple[str, _Report]]:
        """Run the tests once for each seed; return the runs with failures, in the order of the seeds."""
        running: dict[int, str] = {}
        found: dict[str, _Report] = {}
        for seed in self._seeds:
            if len(running) == self._side_by_side:
                self._take_one(running, found)
            name = f"seed {seed}"
            running[self._fork(shuffled(items, seed), name)] = name
        while running:
            self._take_one(running, found)
        names = (f"seed {seed}" for seed in self._seeds)
        return [(name, found[name]) for name in names if found[name].failures]

    def _take_one(self, running: dict[int, str], found: dict[str, _Report]) -> None:
        process, status = os.wait()
        name = running.pop(process)
        found[name] = self._report(name, status)
        sys.stdout.write(f"{name}: {len(found[name].failures)} failed\n")
        sys.stdout.flush()

    def _fork(self, items: Sequence[pytest.Item], name: str) -> int:
        """Start a run of these tests in a process of its own; return its id."""
        sys.stdout.flush()
        process = os.fork()
        if process:
            return process
        status = 1
        try:
            # The output of several runs at the same time could not be read.
            items[0].config.pluginmanager.unregister(name="terminalreporter")
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._path(name).write_text(json.dumps((self._seconds, self._failures)), "utf-8")
            status = 0
        finally:
            # Skip the parent's exit handlers, which must run only once.
            os._exit(status)

    def _await(self, process: int, name: str) -> _Report:
        return self._report(name, os.waitpid(process, 0)[1])

    def _report(self, name: str, status: int) -> _Report:
        if status:
            return _Report({}, [("the whole run", f"it ended with status {status} and left no report")])
        seconds, failures = json.loads(self._path(name).read_text("utf-8"))
        return _Report(seconds, [(test, text) for test, text in failures])

    def _path(self, name: str) -> Path:
        return self._folder / f"{name.replace(' ', '-')}.json"


def shuffled(items: Sequence[pytest.Item], seed: int) -> list[pytest.Item]:
    """Return tests in a random order in which those of a file stay together."""
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    files: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    groups = list(files.values())
    chance.shuffle(groups)
    return list(_shuffled_each(groups, chance))


def _shuffled_each(groups: Sequence[list[pytest.Item]], chance: random.Random) -> Iterator[pytest.Item]:
    for group in groups:
        chance.shuffle(group)
        yield from group


def main() -> int:
    """Run the tests; return 1 if a test failed in any order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the next ones count up")
    parser.add_argument("--side-by-side", type=int, default=2, help="runs at the same time")
    parser.add_argument("--fast", type=float, default=FAST_S, help="seconds of a test of the fast part")
    parser.add_argument("tests", nargs="+", help="files and folders")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        # Each run makes a folder of its own for the temporary files of its tests.
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
        seeds = range(options.seed, options.seed + options.runs)
        runs = ShuffledRuns(Path(folder), seeds, options.side_by_side, options.fast)
        status = pytest.main(["-q", "-p", "no:cacheprovider", *options.tests], plugins=[runs])
    sys.stdout.write(f"{runs.failed} of {options.runs} orders failed in {time.monotonic() - began:.0f} s\n")
    return int(bool(runs.failed or status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}))


if __name__ == "__main__":
    sys.exit(main())
