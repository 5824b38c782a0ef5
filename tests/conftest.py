"""Options and settings of the whole test suite."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from compiled_bots import compile_bots
from once import make_once

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs] # it has none
    from xdist.scheduler import Scheduling  # pyright: ignore[reportMissingTypeStubs]

# A busy machine is no failure of the code under test. Every run tries the same examples, so that a new
# failure is due to a change of the code; `pytest --hypothesis-profile explore` draws new examples.
settings.register_profile("arena", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("arena")
_CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset[int]()
"""The cores of this process before any test; empty if the system cannot tell."""


@pytest.fixture(scope="session", autouse=True)
def home_of_the_tests(tmp_path_factory: pytest.TempPathFactory, run_folder: Path) -> Iterator[None]:
    """Store everything in folders of this run, and share the compiled kernels of bots between all tests.

    A cold cache costs up to ten seconds of CPU for each tournament of Connect Four.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("ARENA_CACHE", str(run_folder / "cache"))
        yield


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all test processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    # Each process of pytest-xdist has a base folder of its own, within that of the run.
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def compiled_bots(run_folder: Path) -> None:
    """Compile the bundled searches for use in separate processes, as the preflight of a tournament does.

    Without a preflight each process of `minimax` would compile for five seconds, each of `mcts` for two.
    """
    make_once(run_folder / "compiled-bots", compile_bots)


@pytest.fixture(autouse=True)
def cores_of_the_tests() -> Iterator[None]:
    """Release claimed cores before and after each test: play in process claims a core and keeps it.

    Before the test as well as after it, because fixtures of a module or session run before this one.
    """
    _return_to_all_cores()
    yield
    _return_to_all_cores()


@pytest.fixture(autouse=True)
def priority_of_the_tests() -> Iterator[None]:
    """Fail a test that lowers the priority of this process: later tests would get too little CPU.

    A referee in such a process looked at its bots too late, whenever other test processes were busy.
    """
    yield
    assert _priority() == _PRIORITY, "a test may only lower the priority of processes that it starts"


def _priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0) if hasattr(os, "getpriority") else 0


_PRIORITY = _priority()


def _return_to_all_cores() -> None:
    if _CORES and os.sched_getaffinity(0) != _CORES:
        os.sched_setaffinity(0, _CORES)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable the garbage collector while tests are collected: it took a quarter of the CPU and found little.

    Later, full collections are rarer than usual. With Python's thresholds they took a fifth of the CPU of
    tests of the dashboard; a process now has up to 50 MB of garbage more. Set before `arena` is imported,
    which takes these thresholds for the usual ones.
    """
    gc.set_threshold(2_000, 10, 50)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection.

    Each full collection would look through the 600,000 objects of all tests and of what they import: half a
    second, and a fifth of the time of some files. None of them is ever freed.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Run all tests of the folder `house` in one process if whole files are distributed to processes."""
    if config.getoption("dist") != "loadfile":
        return None
    # Imported here, because pytest-xdist is not needed for any other test.
    from house_scheduling import HouseScheduling

    return HouseScheduling(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files, then fail")
    parser.addoption(
        "--base-url", default="", help="tests/browser: look at a running server in place of a folder"
    )
    parser.addoption(
        "--cold-loads", type=int, default=5, help="tests/browser: how often each page is loaded cold"
    )
