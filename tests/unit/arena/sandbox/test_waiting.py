"""Values read from `/proc`, from a small tree of files in the kernel's format, and from real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.sandbox import waiting
from arena.sandbox.waiting import Waited, Waiting, idle_s, tick_s

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts waits")

MAIN, HELPER = 501, 502
MS = 1_000_000


class Tree:
    """A simulated process with two threads, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ranks = {0: (0, 0), MAIN: (0, 0), HELPER: (0, 0)}

    def put(self, tid: int, ran_ms: int, waited_ms: int, runs: int, state: str = "S") -> None:
        task = self.folder / str(MAIN) / "task" / str(tid)
        task.mkdir(parents=True, exist_ok=True)
        (task / "schedstat").write_text(f"{ran_ms * MS} {waited_ms * MS} {runs}\n")
        # A name may contain blanks and parentheses.
        (task / "stat").write_text(f"{tid} (a) R (b) {state} 1 2 3\n")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    tree = Tree(tmp_path)
    monkeypatch.setattr(waiting, "_rank", tree.ranks.__getitem__)
    return tree


def looks(tree: Tree) -> Waiting:
    return Waiting([MAIN], str(tree.folder))


def near(waited_s: float, ran_s: float) -> object:
    return pytest.approx(Waited(waited_s, ran_s))


def test_the_longest_wait_of_all_and_what_all_ran(tree: Tree) -> None:
    found = looks(tree)
    tree.put(MAIN, 100, 500, 7)
    tree.put(HELPER, 10, 50, 3)
    assert found.look(1.0) == (0, 0)

    tree.put(MAIN, 102, 504, 8)
    tree.put(HELPER, 13, 53, 4)
    assert found.look(1.01) == near(0.004, 0.005)
    tree.put(MAIN, 102, 505, 9)
    tree.put(HELPER, 13, 59, 5)
    assert found.look(1.02) == near(0.006, 0)
    assert found.look(1.03) == (0, 0)


def test_what_was_counted_while_it_went_on_is_not_counted_again(tree: Tree) -> None:
    found = looks(tree)
    tree.put(MAIN, 100, 500, 7, "R")
    found.look(1.0)
    assert found.look(1.05) == near(0.05, 0)
    # It ran for so short a time that nothing was added, and now sleeps.
    tree.put(MAIN, 100, 500, 8)
    assert found.look(1.06) == (0, 0)
    tree.put(MAIN, 101, 530, 9)
    assert found.look(1.07) == near(0, 0.001)
    tree.put(MAIN, 101, 560, 10)
    assert found.look(1.08) == near(0.01, 0)


def test_a_wait_that_goes_on_counts_once(tree: Tree) -> None:
    found = looks(tree)
    tree.put(MAIN, 100, 500, 7, "R")
    found.look(1.0)
    assert found.look(1.01) == near(0.01, 0)
    assert found.look(1.05) == near(0.04, 0)
    # Now it runs, and the kernel adds the 58 ms of its wait, of which 50 are already known.
    tree.put(MAIN, 101, 558, 8, "R")
    assert found.look(1.06) == near(0.008, 0.001)


@pytest.mark.parametrize("state", ["S", "D", "T", "t", "Z"])
def test_a_thread_that_cannot_run_does_not_wait_for_a_processor(tree: Tree, state: str) -> None:
    found = looks(tree)
    tree.put(MAIN, 100, 500, 7, state)
    assert [found.look(number / 100) for number in range(5)] == [(0, 0)] * 5


def test_a_thread_that_wakes_waits_from_when_that_is_seen(tree: Tree) -> None:
    found = looks(tree)
    tree.put(MAIN, 100, 500, 7, "S")
    found.look(1.0)
    tree.put(MAIN, 100, 500, 7, "R")
    assert found.look(1.01) == (0, 0)
    assert found.look(1.03) == near(0.02, 0)
    tree.put(MAIN, 100, 500, 7, "S")
    assert found.look(1.04) == (0, 0)


def test_a_thread_that_runs_all_the_time_does_not_wait(tree: Tree) -> None:
    found = looks(tree)
    for number in range(5):
        tree.put(MAIN, 100 + 10 * number, 500, 7, "R")
        assert found.look(number / 100).waited_s == 0


def test_a_new_thread_has_waited_for_nobody_yet(tree: Tree) -> None:
    found = looks(tree)
    tree.put(MAIN, 100, 500, 7)
    found.look(1.0)
    tree.put(HELPER, 2, 90, 3)
    assert found.look(1.01) == near(0, 0.002)
    tree.put(HELPER, 2, 94, 4)
    assert found.look(1.02) == near(0.004, 0)


@pytest.mark.parametrize("rank", [(19, 0), (1, 0), (0, 5), None])
def test_a_thread_that_made_itself_less_urgent_waits_of_its_own_will(
    tree: Tree, rank: tuple[int, int] | None
) -> None:
    tree.ranks[MAIN] = rank  # type: ignore[assignment]
    found = looks(tree)
    tree.put(MAIN, 100, 500, 7)
    found.look(1.0)
    tree.put(MAIN, 103, 507, 8)
    assert found.look(1.01) == near(0, 0.003)


@pytest.mark.parametrize("text", ["0 0 0\n", "", "5 6\n"])
def test_where_the_kernel_does_not_count_nothing_is_known(tree: Tree, text: str) -> None:
    found = looks(tree)
    tree.put(MAIN, 0, 0, 0, "R")
    (tree.folder / f"{MAIN}/task/{MAIN}/schedstat").write_text(text)
    assert [found.look(number / 100) for number in range(4)] == [(0, 0)] * 4


def test_a_process_that_is_gone_or_hidden(tree: Tree, tmp_path: Path) -> None:
    assert looks(tree).look(1.0) == (0, 0)
    assert idle_s({0}, str(tmp_path)) == {}


def test_elsewhere_nothing_is_known(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    tree.put(MAIN, 100, 500, 7)
    found = looks(tree)
    found.look(1.0)
    tree.put(MAIN, 100, 600, 8)
    assert found.look(1.1) == (0, 0)
    assert idle_s({0}) == {}


def test_idle_cores(tmp_path: Path) -> None:
    lines = (
        "cpu  9 9 9 900 9 0",
        "cpu0 1 2 3 400 5 6 7",
        "cpu1 1 2 3 300 50 6 7",
        "intr 12",
        "cpu2 1 1 1 1 1",
    )
    (tmp_path / "stat").write_text("\n".join(lines))
    assert idle_s({0, 1, 2}, str(tmp_path)) == pytest.approx({0: 405 * tick_s(), 1: 350 * tick_s()})
    assert idle_s({1}, str(tmp_path)).keys() == {1}
    assert idle_s(set(), str(tmp_path)) == {}


@pytest.fixture
def rivals() -> Iterator[list[int]]:
    """Yield two processes that compete for one core."""
    core = min(os.sched_getaffinity(0))
    code = f"import os\nos.sched_setaffinity(0, {{{core}}})\nos.write(1, b'1')\nwhile True: pass"
    command = [sys.executable, "-I", "-S", "-c", code]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]  # noqa: S603
    for each in started:
        # A starting interpreter may sleep; after this line it never does.
        assert each.stdout is not None
        assert each.stdout.read(1) == b"1"
    yield [each.pid for each in started]
    for each in started:
        with each:
            each.kill()


def test_rivals_wait_for_each_other(rivals: list[int]) -> None:
    found = [Waiting([pid]) for pid in rivals]
    # The value belongs to a moment between two clock readings, because this process may have to wait as well.
    earliest, latest = [0.0, 0.0], [0.0, 0.0]
    for rival, each in enumerate(found):
        earliest[rival] = time.monotonic()
        each.look(earliest[rival])
        latest[rival] = time.monotonic()
    sums = [[0.0, 0.0], [0.0, 0.0]]
    least, most = [0.0, 0.0], [0.0, 0.0]
    while min(least) < 0.5:
        for rival, (each, total) in enumerate(zip(found, sums, strict=True)):
            now = time.monotonic()
            progress = each.look(now)
            total[0] += progress.waited_s
            total[1] += progress.ran_s
            least[rival], most[rival] = now - latest[rival], time.monotonic() - earliest[rival]
        time.sleep(0.01)
    for rival, (waited_s, ran_s) in enumerate(sums):
        # Independent of other load, a process that never sleeps waits or runs; one tick may be in progress.
        assert least[rival] - 0.05 <= waited_s + ran_s <= most[rival] + 0.05
    assert sum(waited_s for waited_s, _ in sums) > 0.9 * min(least)


def test_a_stopped_process_does_not_wait(rivals: list[int]) -> None:
    os.kill(rivals[0], signal.SIGSTOP)
    # The process stops once it gets a core, for which it may have to wait.
    stat, ends_at = Path(f"/proc/{rivals[0]}/stat"), time.monotonic() + 120
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < ends_at
        time.sleep(0.01)
    found = Waiting([rivals[0]])
    found.look(time.monotonic())
    time.sleep(0.05)
    assert found.look(time.monotonic()) == (0, 0)
