from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from arena.referee.pause import Pause

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = "print('x', flush=True)\nwhile True: pass"
ROUNDING_S = 1e-9
"""Waits are added one by one, so the sum may differ from a single difference by rounding of floats."""


@pytest.fixture
def busy() -> Iterator[int]:
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-I", "-S", "-c", BUSY], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def wait_until_computed(pause: Pause, seconds: float) -> None:
    until = pause.cpu_s() + seconds
    while pause.cpu_s() < until:
        pass


def test_a_stopped_process_uses_nothing(busy: int) -> None:
    pause = Pause(busy)
    pause.look_around()
    pause.stop()
    os.waitpid(busy, os.WUNTRACED)
    # A process reports its stop just before it leaves its core, so its last microseconds are counted later.
    stopped = pause.cpu_s()
    here = sum(os.times()[:2])
    while sum(os.times()[:2]) < here + 0.05:
        pass
    settled = pause.cpu_s()
    assert settled < stopped + 0.005
    assert pause.resume() == settled
    assert pause.idle_cpu_s < 0.01
    wait_until_computed(pause, 0.01)


def test_who_may_ponder_is_measured(busy: int) -> None:
    pause = Pause(busy, is_allowed=False)
    pause.stop()
    wait_until_computed(pause, 0.02)
    pause.resume()
    pause.resume()
    assert pause.idle_cpu_s >= 0.02


CHILD = """
import os, sys, threading, time
def compute():
    until = time.thread_time() + 0.05
    while time.thread_time() < until: pass
print('x', flush=True)
sys.stdin.readline()
if os.fork() == 0:
    while True: pass
print('x', flush=True)
sys.stdin.readline()
worker = threading.Thread(target=compute)
worker.start()
worker.join()
print('x', flush=True)
time.sleep(600)
"""


def test_threads_that_ended_and_children_are_measured() -> None:
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-I", "-S", "-c", CHILD],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        pause = Pause(process.pid, is_allowed=False)
        process.stdin.write(b"\n")
        process.stdout.readline()
        pause.stop()
        process.stdin.write(b"\n")
        process.stdout.readline()
        pause.settle()
        alone = pause.idle_cpu_s
        assert alone >= 0.05
        pause.look_around()
        pause.begin()
        pause.stop()
        # Its parent sleeps, so CPU time used now is the child's.
        wait_until_computed(pause, 0.02)
        pause.settle()
        assert pause.idle_cpu_s >= 0.02
        os.killpg(process.pid, signal.SIGKILL)


def test_a_wait_is_counted_once(busy: int) -> None:
    pause = Pause(busy)
    wait_until_computed(pause, 0.01)
    assert pause.is_measured
    pause.settle()
    assert pause.idle_cpu_s == 0.0, "it does not wait"
    before = pause.cpu_s()
    pause.stop()
    for _ in range(5):
        pause.settle()
    used = pause.resume()
    assert 0.0 <= pause.idle_cpu_s <= used - before + ROUNDING_S
    idle = pause.idle_cpu_s
    wait_until_computed(pause, 0.02)
    pause.end()
    assert pause.idle_cpu_s == idle
    assert pause.cpu_s() == 0.0


def test_what_was_measured_in_a_wait_is_not_measured_again(busy: int) -> None:
    pause = Pause(busy, is_allowed=False)
    before = pause.cpu_s()
    pause.stop()
    for _ in range(5):
        wait_until_computed(pause, 0.02)
        pause.settle()
    assert 0.1 <= pause.idle_cpu_s <= pause.resume() - before + ROUNDING_S


def test_the_end_measures_a_last_time(busy: int) -> None:
    pause = Pause(busy, is_allowed=False)
    pause.stop()
    wait_until_computed(pause, 0.02)
    pause.end()
    pause.settle()
    assert pause.idle_cpu_s >= 0.02


def test_what_is_tolerated() -> None:
    pause = Pause(os.getpid(), is_allowed=False)
    assert pause.bound_s(0.0) == pytest.approx(0.1)
    assert pause.bound_s(6.1) == pytest.approx(0.222)
    for _ in range(3):
        pause.stop()
        pause.resume()
    assert pause.bound_s(6.1) == pytest.approx(0.228)
    pause.begin()
    assert pause.bound_s(0.0) == pytest.approx(0.1)
    assert pause.idle_cpu_s == 0.0


def test_elsewhere_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    pause = Pause(os.getpid(), is_allowed=False)
    assert (pause.cpu_s(), pause.is_measured) == (0.0, False)


def test_who_is_gone_is_left_alone() -> None:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""], start_new_session=True)
    process.wait()
    pause = Pause(process.pid)
    pause.stop()
    assert pause.resume() == 0.0
